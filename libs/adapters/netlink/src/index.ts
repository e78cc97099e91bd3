export { NetlinkNft, type NetlinkNftOptions } from './netlink-nft.js';
