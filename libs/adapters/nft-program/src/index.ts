export { NftProgram } from './nft-program.js';
