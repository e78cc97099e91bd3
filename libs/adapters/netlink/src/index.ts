export { NetlinkNft } from './netlink-nft.js';
