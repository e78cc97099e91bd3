export * from './price-curve.js';
export * from './share-problem.js';
export * from './share-problem-faults.js';
export * from './solve-shares.js';
