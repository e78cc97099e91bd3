import { describe, expect, it } from '@jest/globals';

import { sortObjects } from '#testing';

import { memberReach } from './index.js';

interface NodeOver {
  readonly ips?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly zone?: string;
}

const GATEWAY = { 'spillway.dev/gateway': 'true' };
const node = (name: string, { ips = [`192.0.2.${name.slice(1)}`], labels = {}, annotations = {}, zone = '' }: NodeOver = {}): unknown => ({
  kind: 'Node',
  metadata: { name, labels: { 'topology.kubernetes.io/zone': zone, ...labels }, annotations },
  status: { addresses: [{ type: 'Hostname', address: name }, ...ips.map((address) => ({ type: 'InternalIP', address }))] },
});
const reachOf = (nodes: readonly unknown[], working: readonly string[]) => memberReach(sortObjects(nodes).local.nodes, { nodes: new Set(working), port: 9091 });

describe('memberReach', () => {
  it('calls leave from every node, and probes are taken by those that run an agent', () => {
    expect(reachOf([node('n2'), node('n1'), node('n3')], ['n1', 'n2'])).toEqual({ gateways: [], egress: ['192.0.2.1', '192.0.2.2', '192.0.2.3'], probes: ['192.0.2.1', '192.0.2.2'], probePort: 9091 });
  });

  it('gateways are the labelled nodes whose agent works, at their own addresses or those that are given', () => {
    const nodes = [node('n1', { labels: GATEWAY }), node('n2', { labels: GATEWAY, annotations: { 'spillway.dev/gateway-address': ' 203.0.113.7, 2001:db8::7 ' } }), node('n3', { labels: GATEWAY }), node('n4', { labels: { 'spillway.dev/gateway': 'false' } })];
    expect(reachOf(nodes, ['n1', 'n2', 'n4']).gateways).toEqual(['192.0.2.1', '2001:db8::7', '203.0.113.7']);
  });

  it('all labelled nodes are gateways where it is known of none that its agent works', () => {
    expect(reachOf([node('n1', { labels: GATEWAY }), node('n2')], ['n2']).gateways).toEqual(['192.0.2.1']);
  });

  it('a node that leaves through a translated address is let in by that address alone', () => {
    const nat = { annotations: { 'spillway.dev/egress-address': '203.0.113.9' } };
    expect(reachOf([node('n1', nat), node('n2', nat), node('n3')], []).egress).toEqual(['192.0.2.3', '203.0.113.9']);
  });

  it('probes go to three nodes, of as many zones as there are', () => {
    const nodes = [node('n1', { zone: 'a' }), node('n2', { zone: 'a' }), node('n3', { zone: 'a' }), node('n4', { zone: 'b' }), node('n5', { zone: 'c', ips: ['2001:db8::5', '192.0.2.5'] })];
    expect(reachOf(nodes, ['n1', 'n2', 'n3', 'n4', 'n5']).probes).toEqual(['192.0.2.1', '192.0.2.4', '192.0.2.5']);
  });

  it('both families count', () => {
    expect(reachOf([node('n1', { labels: GATEWAY, ips: ['192.0.2.1', '2001:db8::1'] })], ['n1'])).toMatchObject({ gateways: ['192.0.2.1', '2001:db8::1'], egress: ['192.0.2.1', '2001:db8::1'], probes: ['192.0.2.1'] });
  });
});
