import { describe, expect, it } from '@jest/globals';

import { clusterId, type FleetView } from '#domain/fleet';
import { aFleetView, aMember, aPart, aPolicy, aReach, clustersNamed, HTTP_PORT, MODEL_BACKEND } from '#testing';

import { planPaths } from './plan-paths.js';

const provider = aMember('p', { network: 'far', reach: aReach({ gateways: ['198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4'] }) });
const a = aMember('a', { reach: aReach({ egress: ['192.0.2.10', '192.0.2.11'], probes: ['192.0.2.10'] }) });
const b = aMember('b', { reach: aReach({ egress: ['192.0.2.20'], probes: ['192.0.2.20'] }) });
const parts = [aPart('p', 1, 1, { gatewayPort: 20_000 }), aPart('a', 2, 1)];

const intakeOf = (view: FleetView) => planPaths(view, clusterId('p')).intake;

describe('planPaths: what gateway nodes take in', () => {
  it('lets in the egress addresses of every member of another network that may import', () => {
    expect(intakeOf(aFleetView([provider, a, b], parts))).toEqual({
      openings: [{ gatewayPort: 20_000, backend: MODEL_BACKEND, port: HTTP_PORT, callers: ['a', 'b'] }],
      callers: [{ clusterId: 'a', addresses: ['192.0.2.10', '192.0.2.11'] }, { clusterId: 'b', addresses: ['192.0.2.20'] }],
    });
  });

  it.each([
    { who: 'a member that may not import', view: aFleetView([provider, a], parts, { policies: [aPolicy({ mayImport: clustersNamed('b') })] }) },
    { who: 'anybody, where the provider may not export', view: aFleetView([provider, a], parts, { policies: [aPolicy({ mayExport: clustersNamed('a') })] }) },
    { who: 'a member of its own network', view: aFleetView([provider, aMember('a', { network: 'far', reach: aReach() })], parts) },
    { who: 'a member of which nobody knows from where it calls', view: aFleetView([provider, aMember('a')], parts) },
    { who: 'anybody, where no port was assigned', view: aFleetView([provider, a], [aPart('p', 1, 1)]) },
    { who: 'anybody, where it has no gateway', view: aFleetView([aMember('p', { network: 'far', reach: aReach({ gateways: [] }) }), a], parts) },
  ])('does not let in $who', ({ view }) => {
    expect(intakeOf(view)).toEqual({ openings: [], callers: [] });
  });

  it('keeps letting in a member that is cut off from the hub', () => {
    expect(intakeOf(aFleetView([provider, { ...a, freshness: 'stale' }], parts)).openings).toHaveLength(1);
  });
});

describe('planPaths: whom to probe', () => {
  it('names those that provide something, by up to three gateways or nodes', () => {
    expect(planPaths(aFleetView([provider, a, b], parts), clusterId('b')).peers).toEqual([
      { clusterId: 'a', path: 'direct', addresses: ['192.0.2.10'], port: 9091 },
      { clusterId: 'p', path: 'gateway', addresses: ['198.51.100.1', '198.51.100.2', '198.51.100.3'], port: 9091 },
    ]);
  });

  it.each([
    { who: 'itself', view: aFleetView([a], [aPart('a', 1, 1)]) },
    { who: 'a member without an agent to answer', view: aFleetView([a, aMember('b', { reach: aReach({ probes: [] }) })], [aPart('b', 1, 1)]) },
    { who: 'a member of an older version', view: aFleetView([a, aMember('b')], [aPart('b', 1, 1)]) },
    { who: 'a member that no path leads to', view: aFleetView([a, aMember('b', { network: 'far', reach: aReach({ gateways: [] }) })], [aPart('b', 1, 1)]) },
    { who: 'a member from which it may import nothing', view: aFleetView([a, b], [aPart('b', 1, 1)], { policies: [] }) },
  ])('does not name $who', ({ view }) => {
    expect(planPaths(view, clusterId('a')).peers).toEqual([]);
  });

  it('knows nothing of a cluster that is no member', () => {
    expect(planPaths(aFleetView([a], []), clusterId('x'))).toEqual({ intake: { openings: [], callers: [] }, peers: [] });
  });
});
