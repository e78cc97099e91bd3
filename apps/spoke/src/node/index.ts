export type { OpenedNft, OpenNft } from './open-nft.js';
export { startNodeRole, type NodeRole, type NodeRoleParts } from './node-role.js';
