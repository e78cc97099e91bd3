export { NftProgram, type NftProgramOptions } from './nft-program.js';
