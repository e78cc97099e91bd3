import { describe, expect, it } from '@jest/globals';

import { clusterId } from '#domain/fleet';
import type { PlannedBackend, PlannedBackendId, RoutingPlan } from '#domain/routing-plan';

import { connectionsByProvider, flowOfFields } from './flows.js';

const backend = (id: string, providers: Readonly<Record<string, readonly string[]>>): PlannedBackend => ({
  id: id as PlannedBackendId,
  protocol: 'TCP',
  affinity: undefined,
  trafficDistribution: 'None',
  providers: Object.entries(providers).map(([cluster, addresses]) => ({ clusterId: clusterId(cluster), locality: { region: '', zone: '' }, path: 'direct', shareBp: 5_000, endpoints: addresses.map((address) => ({ address, port: 8080, state: 'ready', zone: '', node: '', hostname: '' })) })),
});

const PLAN: RoutingPlan = {
  frontends: [
    {
      kind: 'gateway',
      callers: undefined,
      isHeadless: false,
      namespace: 'ai',
      name: 'model',
      addresses: ['172.30.0.5', 'fd00::5'],
      dnsNames: [],
      listeners: [
        { name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: 'composite:ai/a/80/TCP' as PlannedBackendId, weight: 1 }, { backend: 'composite:ai/b/80/TCP' as PlannedBackendId, weight: 1 }], rejectWeight: 0 },
        { name: 'dns', port: 80, protocol: 'UDP', uses: [{ backend: 'composite:ai/b/80/TCP' as PlannedBackendId, weight: 1 }], rejectWeight: 0 },
      ],
    },
  ],
  backends: [backend('composite:ai/a/80/TCP', { east: ['10.1.0.5', 'fd00::1:5'], west: ['10.2.0.5'] }), backend('composite:ai/b/80/TCP', { east: ['10.1.0.5', '10.1.0.9'] })],
  gatewayPorts: [],
};

describe('connectionsByProvider', () => {
  it('adds up both families, tells protocols apart, credits the first backend of a listener, and leaves out what is not planned', () => {
    const flows = [
      flowOfFields(['172.30.0.5', 'tcp', 80, '10.1.0.5', 8080], 3),
      flowOfFields(['fd00::5', 'tcp', 80, 'fd00::1:5', 8080], 4),
      flowOfFields(['172.30.0.5', 'tcp', 80, '10.2.0.5', 8080], 5),
      flowOfFields(['172.30.0.5', 'udp', 80, '10.1.0.5', 8080], 6),
      flowOfFields(['172.30.0.5', 'tcp', 80, '10.9.9.9', 8080], 7),
      flowOfFields(['172.30.0.99', 'tcp', 80, '10.1.0.5', 8080], 8),
    ];
    expect(connectionsByProvider(PLAN, flows).map(({ listener, backend: id, clusterId: cluster, connections }) => `${listener} ${id} ${cluster} ${connections}`)).toEqual([
      'ai/model/http composite:ai/a/80/TCP east 7',
      'ai/model/http composite:ai/a/80/TCP west 5',
      'ai/model/dns composite:ai/b/80/TCP east 6',
    ]);
  });
});
