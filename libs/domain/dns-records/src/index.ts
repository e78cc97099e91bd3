export * from './answer-question.js';
export * from './build-dns-zone.js';
export * from './dns-zone.js';
