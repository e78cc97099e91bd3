import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createFileRegistry, fromBinary, toJson, type FileRegistry } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { renderXdsSnapshot, type XdsCluster, type XdsLoadAssignment } from '#domain/xds-snapshot';
import { routingPlanArbitrary, testSeed } from '#testing';

import { decodeCluster, decodeDeltaRequest, decodeDeltaResponse, decodeLoadAssignment, decodeResource, encodeCluster, encodeListener, encodeDeltaRequest, encodeDeltaResponse, encodeLoadAssignment, type DeltaRequest } from './index.js';

const cluster: XdsCluster = {
  name: 'composite:ai/model/80/TCP',
  version: 'v1',
  edsServiceName: 'composite:ai/model/80/TCP',
  metadata: {
    protocol: 'TCP',
    affinity: { scope: 'endpoint', timeoutSeconds: 600 },
    trafficDistribution: 'PreferSameZone',
    gatewayPorts: [{ port: 28_001, protocol: 'TCP', nodes: ['gw-1'], sources: ['10.9.0.1'] }],
    frontends: [{ kind: 'service', callers: { namespace: 'shop', addresses: ['10.1.0.9'] }, isHeadless: false, namespace: 'ai', name: 'model', addresses: ['172.30.0.41'], dnsNames: ['model.ai.gw.cluster.local'], listeners: [{ name: 'http', port: 80, protocol: 'TCP', weight: 9 }] }],
  },
};

const assignment: XdsLoadAssignment = {
  name: 'composite:ai/model/80/TCP',
  version: 'v2',
  localities: [
    { region: 'east', zone: 'a', subZone: 'east-1', priority: 0, weight: 7_000, path: 'direct', endpoints: [{ address: '10.1.0.5', port: 8080, protocol: 'TCP', health: 'HEALTHY', zone: 'a', node: 'n1', hostname: 'model-0' }, { address: '10.1.0.6', port: 8080, protocol: 'TCP', health: 'DRAINING', zone: 'a', node: '', hostname: '' }] },
    { region: 'west', zone: '', subZone: 'west-1', priority: 0, weight: undefined, path: 'gateway', endpoints: [{ address: '10.2.0.7', port: 31_000, protocol: 'UDP', health: 'UNHEALTHY', zone: '', node: '', hostname: '' }] },
  ],
};

const request: DeltaRequest = { typeUrl: 't', nodeId: 'node-1', subscribe: ['a', '*'], unsubscribe: ['b'], initialResourceVersions: { a: '1' }, responseNonce: 'n', errorMessage: 'no such table' };

const seed = testSeed();

describe(`encoding and decoding (seed ${seed})`, () => {
  it('decode(encode(resource)) equals the resource, for every rendered plan', () => {
    fc.assert(
      fc.property(routingPlanArbitrary, (plan) => {
        const { clusters, loadAssignments } = renderXdsSnapshot(plan);
        expect(clusters.map((one) => decodeCluster(decodeResource(encodeCluster(one).bytes)))).toEqual(clusters);
        expect(loadAssignments.map((one) => decodeLoadAssignment(decodeResource(encodeLoadAssignment(one).bytes)))).toEqual(loadAssignments);
      }),
      { seed, numRuns: 100 },
    );
  });

  it('requests and responses come back as they were', () => {
    expect(decodeDeltaRequest(encodeDeltaRequest(request, '1'))).toEqual(request);
    const response = { typeUrl: 't', nonce: '3', systemVersion: '7+', resources: [encodeCluster(cluster).bytes], removed: ['gone'] };
    expect(decodeDeltaResponse(encodeDeltaResponse(response))).toEqual(response);
  });

  it('bytes that are no message, and content that is named otherwise, are refused with a code', () => {
    expect(() => decodeDeltaRequest(Uint8Array.of(0xff, 0xff))).toThrow(expect.objectContaining({ code: 'XDS_MESSAGE_INVALID' }));
    expect(() => decodeResource(Uint8Array.of(0x12, 0xff))).toThrow(expect.objectContaining({ code: 'XDS_RESOURCE_INVALID' }));
    expect(() => decodeCluster({ ...decodeResource(encodeCluster(cluster).bytes), name: 'other' })).toThrow('its content is named');
    expect(() => decodeLoadAssignment({ ...decodeResource(encodeLoadAssignment(assignment).bytes), name: 'other' })).toThrow('its content is named');
  });
});

describe("Envoy's own message definitions", () => {
  let registry: FileRegistry;
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'envoy-protos-'));
    for (const root of ['envoy-api', 'googleapis', 'protoc-gen-validate', 'xds']) {
      cpSync(join('node_modules/@grpc/grpc-js-xds/deps', root), folder, { recursive: true, filter: (source) => statSync(source).isDirectory() || source.endsWith('.proto') });
    }
    // The validate.proto beside Envoy's files is too old to know one of the rules that they use.
    const validate = join(folder, 'validate/validate.proto');
    writeFileSync(validate, readFileSync(validate, 'utf8').replace('message StringRules {', 'message StringRules {\n  optional bool ignore_empty = 26;'));
    writeFileSync(join(folder, 'buf.yaml'), 'version: v2\n');
    const files = ['service/discovery/v3/discovery.proto', 'config/cluster/v3/cluster.proto', 'config/endpoint/v3/endpoint.proto', 'config/listener/v3/listener.proto', 'extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto', 'extensions/filters/http/router/v3/router.proto'].flatMap((file) => ['--path', join(folder, 'envoy', file)]);
    const built = spawnSync('node_modules/.bin/buf', ['build', folder, '-o', '-', ...files], { maxBuffer: 64 * 1024 * 1024 });
    if (built.status !== 0) throw new Error(`buf build failed: ${String(built.stderr)}`);
    registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, built.stdout));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const read = (type: string, bytes: Uint8Array): unknown => {
    const schema = registry.getMessage(type);
    if (schema === undefined) throw new Error(`Envoy has no ${type}`);
    return toJson(schema, fromBinary(schema, bytes), { registry, useProtoFieldName: true });
  };

  it('read our cluster as an EDS cluster over ADS with locality weights, no panic, and our metadata', () => {
    expect(read('envoy.service.discovery.v3.Resource', encodeCluster(cluster).bytes)).toEqual({
      name: cluster.name,
      version: 'v1',
      resource: {
        '@type': 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
        name: cluster.name,
        type: 'EDS',
        eds_cluster_config: { eds_config: { ads: {}, resource_api_version: 'V3' }, service_name: cluster.name },
        connect_timeout: '5s',
        common_lb_config: { healthy_panic_threshold: {}, locality_weighted_lb_config: {} },
        metadata: { filter_metadata: { 'spillway.dev/frontends': { ...cluster.metadata, frontends: cluster.metadata.frontends.map(({ isHeadless: _, ...frontend }) => frontend) } } },
      },
    });
  });

  it('read our reject cluster as a static cluster without endpoints', () => {
    const reject = { ...cluster, name: 'reject/ai/model', edsServiceName: undefined, metadata: { protocol: undefined, affinity: undefined, trafficDistribution: 'None' as const, frontends: [], gatewayPorts: [] } };
    expect(read('envoy.service.discovery.v3.Resource', encodeCluster(reject).bytes)).toMatchObject({
      resource: { name: 'reject/ai/model', type: 'STATIC', metadata: { filter_metadata: { 'spillway.dev/frontends': { frontends: [] } } } },
    });
  });

  it('read our listener as an API listener with one route to weighted clusters and the router filter', () => {
    const listener = { name: 'model.ai.gw.cluster.local:80', version: 'v3', clusters: [{ name: cluster.name, weight: 9 }, { name: 'reject/ai/model', weight: 1 }] };
    expect(read('envoy.service.discovery.v3.Resource', encodeListener(listener).bytes)).toMatchObject({
      name: listener.name,
      resource: {
        '@type': 'type.googleapis.com/envoy.config.listener.v3.Listener',
        name: listener.name,
        api_listener: {
          api_listener: {
            route_config: { virtual_hosts: [{ domains: ['*'], routes: [{ match: { prefix: '' }, route: { weighted_clusters: { clusters: [{ name: cluster.name, weight: 9 }, { name: 'reject/ai/model', weight: 1 }] } } }] }] },
            http_filters: [{ name: 'router', typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' } }],
          },
        },
      },
    });
  });

  it('read our load assignment with localities, weights of at least 1 or none, health and protocols', () => {
    const address = (host: string, port: number, protocol?: string) => ({ address: { socket_address: { address: host, port_value: port, ...(protocol === undefined ? {} : { protocol }) } } });
    expect(read('envoy.service.discovery.v3.Resource', encodeLoadAssignment(assignment).bytes)).toMatchObject({
      resource: {
        '@type': 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
        cluster_name: assignment.name,
        policy: { overprovisioning_factor: 100_000 },
        endpoints: [
          {
            locality: { region: 'east', zone: 'a', sub_zone: 'east-1' },
            load_balancing_weight: 7_000,
            metadata: { filter_metadata: { 'spillway.dev/provider': { path: 'direct' } } },
            lb_endpoints: [{ endpoint: address('10.1.0.5', 8080), health_status: 'HEALTHY' }, { endpoint: address('10.1.0.6', 8080), health_status: 'DRAINING' }],
          },
          {
            locality: { region: 'west', sub_zone: 'west-1' },
            metadata: { filter_metadata: { 'spillway.dev/provider': { path: 'gateway' } } },
            lb_endpoints: [{ endpoint: address('10.2.0.7', 31_000, 'UDP'), health_status: 'UNHEALTHY' }],
          },
        ],
      },
    });
    expect(JSON.stringify(read('envoy.service.discovery.v3.Resource', encodeLoadAssignment(assignment).bytes)).match(/load_balancing_weight/g)).toHaveLength(1);
  });

  it('read our delta requests and responses', () => {
    expect(read('envoy.service.discovery.v3.DeltaDiscoveryRequest', encodeDeltaRequest(request, '1.2'))).toEqual({
      node: { id: 'node-1', cluster: 'spillway', user_agent_name: 'spillway', user_agent_version: '1.2' },
      type_url: 't',
      resource_names_subscribe: ['a', '*'],
      resource_names_unsubscribe: ['b'],
      initial_resource_versions: { a: '1' },
      response_nonce: 'n',
      error_detail: { code: 3, message: 'no such table' },
    });
    const response = { typeUrl: 't', nonce: '3', systemVersion: '7', resources: [encodeLoadAssignment(assignment).bytes], removed: ['gone'] };
    expect(read('envoy.service.discovery.v3.DeltaDiscoveryResponse', encodeDeltaResponse(response))).toMatchObject({
      type_url: 't',
      nonce: '3',
      system_version_info: '7',
      removed_resources: ['gone'],
      resources: [{ name: assignment.name, version: 'v2' }],
    });
  });
});
