import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ipAddressManifest } from '#contracts/kube-objects';
import { ApiError, applyYaml, startControlPlane, testbedProblems, type KubeApi, type LoneControlPlane } from '#testbed';

type Json = Record<string, unknown>;

const problems = testbedProblems();
if (problems.length > 0) console.warn(`skipped: the CRDs on a real API server: ${problems.join('; ')}`);
const suite = problems.length === 0 ? describe : describe.skip;

const CRD_FOLDER = join(import.meta.dirname, '../../helm/spoke/crds');
const SPILLWAY = '/apis/spillway.dev/v1alpha1/namespaces/default';
const SELECTING = { backendRef: { kind: 'EndpointSelector', name: 'model' } };

suite('the CRDs on a real API server', () => {
  let cluster: LoneControlPlane;
  let api: KubeApi;
  let made = 0;

  beforeAll(async () => {
    cluster = await startControlPlane({ name: 'crds', controllers: [] });
    api = cluster.plane.api;
    for (const file of readdirSync(CRD_FOLDER)) await applyYaml(api, readFileSync(join(CRD_FOLDER, file), 'utf8'));
    await applyYaml(api, JSON.stringify({ apiVersion: 'spillway.dev/v1alpha1', kind: 'CompositeBackend', metadata: { name: 'first', namespace: 'default' }, spec: {} }));
    await applyYaml(api, JSON.stringify({ apiVersion: 'spillway.dev/v1alpha1', kind: 'EndpointSelector', metadata: { name: 'first', namespace: 'default' }, spec: { selector: { matchLabels: { a: 'b' } } } }));
  }, 120_000);
  afterAll(() => cluster?.stop(), 60_000);

  const create = (kind: 'CompositeBackend' | 'EndpointSelector', spec: Json): Promise<Json> =>
    api.create(`${SPILLWAY}/${kind.toLowerCase()}s`, { apiVersion: 'spillway.dev/v1alpha1', kind, metadata: { name: `o-${(made += 1)}`, namespace: 'default' }, spec });
  const refusal = (promise: Promise<unknown>): Promise<string> => promise.then(() => 'accepted', (error: unknown) => (error instanceof ApiError && error.status === 422 ? error.message : Promise.reject(error as Error)));

  it.each<{ readonly name: string; readonly spec: Json; readonly want: Json }>([
    { name: 'with no local part', spec: {}, want: {} },
    { name: 'with the group and protocol defaulted', spec: { ...SELECTING, ports: [{ port: 80, targetPort: 'http' }] }, want: { backendRef: { group: 'spillway.dev', ...SELECTING.backendRef }, ports: [{ port: 80, targetPort: 'http', protocol: 'TCP' }] } },
    { name: 'with a Service', spec: { backendRef: { group: '', kind: 'Service', name: 'svc' }, ports: [{ port: 80, targetPort: 8080 }] }, want: { backendRef: { group: '', kind: 'Service', name: 'svc' }, ports: [{ port: 80, targetPort: 8080, protocol: 'TCP' }] } },
    { name: 'with capacity', spec: { capacity: { unit: 'Tokens', perEndpoint: 0.5 } }, want: { capacity: { unit: 'Tokens', perEndpoint: 0.5 } } },
    { name: 'with affinity and a timeout', spec: { sessionAffinity: 'Cluster', sessionAffinityTimeoutSeconds: 60 }, want: { sessionAffinity: 'Cluster', sessionAffinityTimeoutSeconds: 60 } },
    { name: 'without affinity, by word', spec: { sessionAffinity: 'None', trafficDistribution: 'None' }, want: { sessionAffinity: 'None', trafficDistribution: 'None' } },
    { name: 'with a preference, and endpoints that are not ready', spec: { trafficDistribution: 'PreferSameZone', publishNotReadyAddresses: true }, want: { trafficDistribution: 'PreferSameZone', publishNotReadyAddresses: true } },
    { name: 'with one port number for TCP and for UDP', spec: { ports: [{ port: 53, protocol: 'TCP' }, { port: 53, protocol: 'UDP' }] }, want: { ports: [{ port: 53, protocol: 'TCP' }, { port: 53, protocol: 'UDP' }] } },
    { name: 'with the prototype\'s selector', spec: { backendRef: { group: 'gateway.networking.x-k8s.io', kind: 'XEndpointSelector', name: 'x' } }, want: { backendRef: { group: 'gateway.networking.x-k8s.io', kind: 'XEndpointSelector', name: 'x' } } },
  ])('a CompositeBackend $name is accepted', async ({ spec, want }) => {
    expect((await create('CompositeBackend', spec))['spec']).toEqual(want);
  });

  it.each<{ readonly name: string; readonly spec: Json; readonly want: string }>([
    { name: 'that refers to a CompositeBackend', spec: { backendRef: { kind: 'CompositeBackend', name: 'x' } }, want: 'backendRef must be an EndpointSelector of group spillway.dev, or a Service of the core group' },
    { name: 'that refers to a Service of our group', spec: { backendRef: { kind: 'Service', name: 'x' } }, want: 'backendRef must be an EndpointSelector' },
    { name: 'with port 0', spec: { ports: [{ port: 0 }] }, want: 'should be greater than or equal to 1' },
    { name: 'with port 65536', spec: { ports: [{ port: 65_536 }] }, want: 'should be less than or equal to 65535' },
    { name: 'with a target port out of range', spec: { ports: [{ port: 80, targetPort: 70_000 }] }, want: 'should be less than or equal to 65535' },
    { name: 'with a target port name that is none', spec: { ports: [{ port: 80, targetPort: 'Not a name' }] }, want: 'should match' },
    { name: 'with one port twice', spec: { ports: [{ port: 80 }, { port: 80 }] }, want: 'Duplicate value' },
    { name: 'with a protocol that is not served', spec: { ports: [{ port: 80, protocol: 'SCTP' }] }, want: 'supported values: "TCP", "UDP"' },
    { name: 'with capacity 0', spec: { capacity: { unit: 'Tokens', perEndpoint: 0 } }, want: 'should be greater than 0' },
    { name: 'with capacity in no unit', spec: { capacity: { perEndpoint: 1 } }, want: 'unit: Required value' },
    { name: 'with an unknown unit', spec: { capacity: { unit: 'Cows', perEndpoint: 1 } }, want: 'Unsupported value: "Cows"' },
    { name: 'with an affinity that is not served', spec: { sessionAffinity: 'Cookie' }, want: 'Unsupported value: "Cookie"' },
    { name: 'with a timeout and no affinity', spec: { sessionAffinityTimeoutSeconds: 60 }, want: 'needs a sessionAffinity' },
    { name: 'with a timeout and affinity None', spec: { sessionAffinity: 'None', sessionAffinityTimeoutSeconds: 60 }, want: 'makes no sense' },
    { name: 'with a timeout of more than a day', spec: { sessionAffinity: 'ClientIP', sessionAffinityTimeoutSeconds: 86_401 }, want: 'less than or equal to 86400' },
    { name: 'with a preference that is not served', spec: { trafficDistribution: 'PreferFar' }, want: 'Unsupported value: "PreferFar"' },
  ])('a CompositeBackend $name is refused', async ({ spec, want }) => {
    expect(await refusal(create('CompositeBackend', spec))).toContain(want);
  });

  it.each<{ readonly name: string; readonly spec: Json }>([
    { name: 'by labels', spec: { selector: { matchLabels: { app: 'model' } }, ports: [{ name: 'http', targetPort: 8080 }, { name: 'web', targetPort: 'http-alt' }, { name: 'dns', targetPort: 53, protocol: 'UDP' }] } },
    { name: 'by expressions', spec: { selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['a'] }, { key: 'gpu', operator: 'Exists' }] }, ports: [{ targetPort: 8080 }] } },
  ])('an EndpointSelector $name is accepted', async ({ spec }) => {
    expect(await refusal(create('EndpointSelector', spec))).toBe('accepted');
  });

  it.each<{ readonly name: string; readonly spec: Json; readonly want: string }>([
    { name: 'without a selector', spec: {}, want: 'selector: Required value' },
    { name: 'with an empty selector (R28)', spec: { selector: {} }, want: 'an empty selector is refused' },
    { name: 'with empty parts of a selector (R28)', spec: { selector: { matchLabels: {}, matchExpressions: [] } }, want: 'an empty selector is refused' },
    { name: 'with In and no values', spec: { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }, want: 'In and NotIn need values' },
    { name: 'with Exists and values', spec: { selector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } }, want: 'Exists and DoesNotExist take none' },
    { name: 'with one port name twice', spec: { selector: { matchLabels: { a: 'b' } }, ports: [{ name: 'x', targetPort: 1 }, { name: 'x', targetPort: 2 }] }, want: 'port names must be unique' },
    { name: 'with two ports without a name', spec: { selector: { matchLabels: { a: 'b' } }, ports: [{ targetPort: 1 }, { targetPort: 2 }] }, want: 'port names must be unique' },
    { name: 'with a port name of digits alone', spec: { selector: { matchLabels: { a: 'b' } }, ports: [{ targetPort: '8080' }] }, want: 'should match' },
    { name: 'with target port 0', spec: { selector: { matchLabels: { a: 'b' } }, ports: [{ targetPort: 0 }] }, want: 'should be greater than or equal to 1' },
  ])('an EndpointSelector $name is refused', async ({ spec, want }) => {
    expect(await refusal(create('EndpointSelector', spec))).toContain(want);
  });

  it('an IPAddress as we write it is accepted, and its name is an atomic claim', async () => {
    const manifest = ipAddressManifest({ address: '10.96.77.7', family: 'IPv4', gateway: { namespace: 'ai', name: 'model' } });
    await api.create('/apis/networking.k8s.io/v1/ipaddresses', manifest);
    await expect(api.create('/apis/networking.k8s.io/v1/ipaddresses', manifest)).rejects.toMatchObject({ status: 409 });
  });
});
