export { FakeNft } from './fake-nft.js';
export { runOperations, SimulatedRefusal, type TableContent } from './simulated-table.js';
