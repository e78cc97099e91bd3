export * from './nft-ruleset.js';
