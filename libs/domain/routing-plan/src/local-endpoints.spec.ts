import { describe, expect, it } from '@jest/globals';

import { sortObjects } from '#testing';

import { memberBackends } from './index.js';

type Json = Record<string, unknown>;

const metadata = { namespace: 'ai', name: 'model' };
const composite = (kind: 'EndpointSelector' | 'Service', ports: readonly Json[] = []): Json => ({ kind: 'CompositeBackend', metadata, spec: { backendRef: { group: kind === 'Service' ? '' : 'spillway.dev', kind, name: 'model' }, ports } });
const selector = (spec: Json): Json => ({ kind: 'EndpointSelector', metadata, spec });
const pod = (name: string, over: { readonly labels?: Json; readonly namespace?: string; readonly status?: Json; readonly ports?: readonly Json[]; readonly deletionTimestamp?: string } = {}): Json => ({
  kind: 'Pod',
  metadata: { namespace: over.namespace ?? 'ai', name, labels: over.labels ?? { app: 'model' }, deletionTimestamp: over.deletionTimestamp },
  spec: { nodeName: 'n1', containers: [{ ports: over.ports ?? [] }] },
  status: { phase: 'Running', podIP: `10.1.0.${name}`, conditions: [{ type: 'Ready', status: 'True' }], ...over.status },
});
const offers = (objects: readonly Json[]): string[] =>
  memberBackends(sortObjects(objects).local).flatMap(({ endpoints }) => endpoints.map(({ address, targetPorts, ready, serving, terminating }) => `${address}:${targetPorts.join('/')}${ready ? ' ready' : ''}${serving ? ' serving' : ''}${terminating ? ' terminating' : ''}`));

describe('pods that an EndpointSelector selects', () => {
  const byApp = { selector: { matchLabels: { app: 'model' } } };
  const on8080 = [{ port: 8080 }];

  it.each([
    { name: 'by labels, of its own namespace alone (R28)', spec: byApp, pods: [pod('1'), pod('2', { namespace: 'other' }), pod('3', { labels: { app: 'else' } })], want: ['10.1.0.1:8080 ready serving'] },
    { name: 'by every label of several', spec: { selector: { matchLabels: { app: 'model', tier: 'gpu' } } }, pods: [pod('1'), pod('2', { labels: { app: 'model', tier: 'gpu' } })], want: ['10.1.0.2:8080 ready serving'] },
    { name: 'by In', spec: { selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['model', 'else'] }] } }, pods: [pod('1'), pod('2', { labels: {} })], want: ['10.1.0.1:8080 ready serving'] },
    { name: 'by NotIn, which holds without the label, too', spec: { selector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['model'] }] } }, pods: [pod('1'), pod('2', { labels: {} })], want: ['10.1.0.2:8080 ready serving'] },
    { name: 'by Exists', spec: { selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } }, pods: [pod('1'), pod('2', { labels: {} })], want: ['10.1.0.1:8080 ready serving'] },
    { name: 'by DoesNotExist', spec: { selector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] } }, pods: [pod('1'), pod('2', { labels: {} })], want: ['10.1.0.2:8080 ready serving'] },
    { name: 'by nothing: none, never all (R28)', spec: { selector: {} }, pods: [pod('1')], want: [] },
    { name: 'ready, unready and terminating are told apart (C62)', spec: byApp, pods: [pod('1'), pod('2', { status: { conditions: [] } }), pod('3', { deletionTimestamp: '2026-01-01T00:00:00Z' })], want: ['10.1.0.1:8080 ready serving', '10.1.0.2:8080', '10.1.0.3:8080 serving terminating'] },
    { name: 'not those that have finished, nor those without an address', spec: byApp, pods: [pod('1', { status: { phase: 'Succeeded' } }), pod('2', { status: { podIP: '' } })], want: [] },
    { name: 'by their addresses of both families', spec: byApp, pods: [pod('1', { status: { podIPs: [{ ip: 'fd00::1' }, { ip: '10.1.0.1' }] } })], want: ['10.1.0.1:8080 ready serving', 'fd00::1:8080 ready serving'] },
  ])('$name', ({ spec, pods, want }) => {
    expect(offers([composite('EndpointSelector', on8080), selector(spec), ...pods])).toEqual(want);
  });

  it('a named port is what each pod calls by that name; a pod without it lacks the port', () => {
    const spec = { ...byApp, ports: [{ name: 'http', targetPort: 'web' }, { name: 'admin', targetPort: 9000 }] };
    const pods = [pod('1', { ports: [{ name: 'web', containerPort: 8080 }] }), pod('2', { ports: [{ name: 'web', containerPort: 8081 }] }), pod('3')];
    expect(offers([composite('EndpointSelector', [{ port: 80, targetPort: 'http' }, { port: 90, targetPort: 'admin' }]), selector(spec), ...pods])).toEqual(['10.1.0.1:8080/9000 ready serving', '10.1.0.2:8081/9000 ready serving', '10.1.0.3:0/9000 ready serving']);
  });
});

describe('endpoints of a Service', () => {
  const service = { kind: 'Service', metadata, spec: { ports: [{ name: 'web', port: 80 }, { name: 'admin', port: 90 }] } };
  const slice = (name: string, ports: readonly Json[], endpoints: readonly Json[], over: Json = {}): Json => ({ kind: 'EndpointSlice', metadata: { namespace: 'ai', name, labels: { 'kubernetes.io/service-name': 'model' } }, addressType: 'IPv4', ports, endpoints, ...over });
  const WEB = { name: 'web', port: 8080 };

  it('a port is found in each slice by its name', () => {
    expect(offers([composite('Service'), service, slice('s1', [WEB], [{ addresses: ['10.1.0.1'] }]), slice('s2', [WEB, { name: 'admin', port: 9000 }], [{ addresses: ['10.1.0.2'] }])])).toEqual(['10.1.0.1:8080/0 ready serving', '10.1.0.2:8080/9000 ready serving']);
  });

  it('an address in two slices is one endpoint, ready if either says so', () => {
    const moving = [slice('s1', [WEB], [{ addresses: ['10.1.0.1'], conditions: { ready: false } }]), slice('s2', [{ name: 'admin', port: 9000 }], [{ addresses: ['10.1.0.1'] }])];
    expect(offers([composite('Service'), service, ...moving])).toEqual(['10.1.0.1:8080/9000 ready serving']);
  });

  it('an endpoint on its way out is not ready, whatever publishNotReadyAddresses makes its slice say (R20)', () => {
    expect(offers([composite('Service'), service, slice('s1', [WEB], [{ addresses: ['10.1.0.1'], conditions: { ready: true, serving: true, terminating: true } }])])).toEqual(['10.1.0.1:8080/0 serving terminating']);
  });

  it('endpoints of both families answer, each found by the ports of its own slices', () => {
    const families = [slice('s1', [WEB], [{ addresses: ['10.1.0.1'] }]), slice('s2', [{ name: 'web', port: 8086 }], [{ addresses: ['fd00::1'] }], { addressType: 'IPv6' })];
    expect(offers([composite('Service'), service, ...families])).toEqual(['10.1.0.1:8080/0 ready serving', 'fd00::1:8086/0 ready serving']);
  });

  it('slices of other Services, of names and of nobody do not count', () => {
    const others = [
      slice('s1', [WEB], [{ addresses: ['10.1.0.1'] }], { metadata: { namespace: 'ai', name: 's1', labels: { 'kubernetes.io/service-name': 'else' } } }),
      slice('s2', [WEB], [{ addresses: ['pod.example'] }], { addressType: 'FQDN' }),
      slice('s3', [WEB], [{ addresses: ['10.1.0.3'] }], { metadata: { namespace: 'ai', name: 's3' } }),
    ];
    expect(offers([composite('Service'), service, ...others])).toEqual([]);
  });
});
