export { answerQuestion, zoneOf, type DnsAnswer } from './answer-question.js';
export { buildClustersetZone } from './build-clusterset-zone.js';
export { buildGatewayZone, gatewayZone } from './build-gateway-zone.js';
export type { DnsRecord, DnsZone } from './dns-zone.js';
