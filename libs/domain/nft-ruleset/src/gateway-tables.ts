import type { Problem } from '#domain/fleet';
import { gatewayPortKey, type GatewayPort, type PlannedBackend } from '#domain/routing-plan';

import { familyOf, isOfFamily, isPort } from './address-family.js';
import type { NftNode } from './build-options.js';
import { endpointChoice, shareMap } from './built-listener.js';
import { GATEWAY_SOURCES_SET, REJECT_CHAIN } from './names.js';
import type { NftChain, NftFamily, NftPortVerdictElement, NftRule, NftShareMap, NftSocket } from './nft-ruleset.js';
import { SHARE_MODULUS, splitEvenly, splitUnits } from './split-units.js';
import { contiguousIntervals } from './sticky-intervals.js';

/** What a gateway node's table of one family takes in for other members. */
export interface BuiltGateway {
  readonly verdicts: readonly NftPortVerdictElement[];
  readonly sources: readonly NftSocket[];
  readonly shares: readonly NftShareMap[];
  readonly chains: readonly NftChain[];
}

/** The gateway ports of a plan that one node takes in; none on most nodes. */
export const portsOfNode = (ports: readonly GatewayPort[], node: NftNode | undefined): readonly GatewayPort[] =>
  node === undefined ? [] : ports.filter((port) => port.nodes.includes(node.name) && isPort(port.port));

/** Gateway ports that no table can carry. */
export const gatewayProblems = (ports: readonly GatewayPort[]): readonly Problem[] =>
  ports.filter(({ port }) => !isPort(port)).map((port) => ({ path: gatewayPortKey(port), code: 'NFT_GATEWAY_PORT_UNSUPPORTED', message: `gateway port ${port.port} is not within 1 to 65535` }));

/** Whether a member may call one of the ports in a family. */
export const hasSourceOf = (ports: readonly GatewayPort[], family: NftFamily): boolean => ports.some(({ sources }) => sources.some((source) => familyOf(source) === family));

/**
 * Builds what a gateway node takes in: calls of the members that may import lead to the backend's endpoints, everybody
 * else's are refused. Callers of other members come by one address each, so affinity has nothing to tell them apart by.
 */
export function buildGateway(ports: readonly GatewayPort[], family: NftFamily, of: { readonly node: NftNode | undefined; backend(id: string): PlannedBackend | undefined }): BuiltGateway {
  const built = ports.map((port) => {
    const key = gatewayPortKey(port);
    const protocol = port.protocol === 'UDP' ? ('udp' as const) : ('tcp' as const);
    const units = splitUnits([{ weight: 1, backend: of.backend(port.backend) }], endpointChoice(family, of.node)).flatMap((part) => splitEvenly(part.endpoints, part.units));
    const shares = shareMap(`gateway-shares-${key}`, protocol, contiguousIntervals(units.map((endpoint) => ({ owner: endpoint, units: endpoint.units }))));
    const rules: readonly NftRule[] = [
      [
        { kind: 'protocol', is: protocol },
        { kind: 'in-set', fields: ['source', 'protocol', 'destination-port'], set: GATEWAY_SOURCES_SET },
        { kind: 'dnat-by-share', unit: 'random', map: shares.name, modulus: SHARE_MODULUS },
      ],
      [{ kind: 'goto', chain: REJECT_CHAIN }],
    ];
    const chain: NftChain = { name: `gateway-${key}`, rules };
    const sources = port.sources.filter((source) => familyOf(source) !== undefined && isOfFamily(source, family)).map((address): NftSocket => ({ address, protocol, port: port.port }));
    return { shares, chain, sources, verdict: { protocol, port: port.port, chain: chain.name } };
  });
  return {
    verdicts: built.map(({ verdict }) => verdict),
    sources: built.flatMap(({ sources }) => sources),
    shares: built.map(({ shares }) => shares),
    chains: built.map(({ chain }) => chain),
  };
}
