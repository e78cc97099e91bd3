import { describe, expect, it } from '@jest/globals';

import { KUBE_KINDS } from '#contracts/kube-objects';
import { clusterId } from '#domain/fleet';
import { FakeClock, FakeHubLink, FakeKube, FakeRandom, until } from '#testing';

import { startSimulatedMember } from './simulated-member.js';

describe('simulated member', () => {
  it('joins the hub and programs a Gateway as a real member does', async () => {
    const clock = new FakeClock();
    const kube = new FakeKube({ clock });
    const link = new FakeHubLink(clock);
    link.addToken('t1', 'east-1');
    const member = await startSimulatedMember({ kube, link, joinToken: 't1', nodes: ['n1', 'n2'], region: 'east', clock, random: new FakeRandom(1) });
    kube.seed(KUBE_KINDS.gateway, { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { namespace: 'ai', name: 'front' }, spec: { gatewayClassName: 'cluster-ip', listeners: [{ name: 'tcp', port: 80, protocol: 'TCP' }] } });
    await until('programmed', async () => JSON.stringify((await kube.find(KUBE_KINDS.gateway, { namespace: 'ai', name: 'front' }))?.['status'] ?? {}).includes('Every Ready node'), clock);
    await until('reported', () => link.reported.has(clusterId('east-1')), clock);
    expect(member.controller.hubStatus().phase).toBe('linked');
    await member.stop();
  });
});
