export { buildNftRuleset } from './build-nft-ruleset.js';
export { diffNftRuleset, type NftOperation } from './diff-nft-ruleset.js';
export { FRONTENDS_MAP, HAIRPINS_SET, REJECTED_COUNTER, VIPS_SET } from './names.js';
export * from './nft-ruleset.js';
export { renderNftOperations } from './render-nft-operations.js';
export { renderNftRuleset, renderRule } from './render-nft-ruleset.js';
export { nftRulesetProblems, shareMapProblems } from './ruleset-problems.js';
export { apportion, SHARE_MODULUS } from './split-units.js';
export { tracePacket, type TracedPacket, type TraceVerdict } from './trace.js';
