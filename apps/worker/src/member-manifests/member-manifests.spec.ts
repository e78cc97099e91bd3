import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';

import { describeRight } from '#domain/membership';
import { goldenText } from '#testing';

import { buildRbac } from './build-rbac.js';
import { buildGatewayClass, buildMemberManifests, neededRights, readCrds, type Manifest, type SpokeSettings } from './index.js';

const SETTINGS: SpokeSettings = { image: 'ghcr.io/spillway-dev/spoke:0.1.0', dnsReplicas: 2, clusterDomain: 'cluster.local', logLevel: 'info' };
const FOLDER = join(import.meta.dirname, 'testdata');

const render = (manifests: readonly Manifest[]): string => manifests.map(({ object }) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
const all = buildMemberManifests(SETTINGS);
const of = (kinds: readonly string[], name?: string): readonly Manifest[] => all.filter(({ object }) => kinds.includes(object.kind) && (name === undefined || object.metadata.name === name));

describe('what is installed in a member', () => {
  it.each([
    { file: 'base.out.yaml', manifests: [...of(['Namespace', 'ServiceAccount', 'Service']), buildGatewayClass()] },
    { file: 'rbac.out.yaml', manifests: of(['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']) },
    { file: 'controller.out.yaml', manifests: of(['Deployment'], 'spillway-spoke-controller') },
    { file: 'dns.out.yaml', manifests: of(['Deployment'], 'spillway-spoke-dns') },
    { file: 'node.out.yaml', manifests: of(['DaemonSet']) },
  ])('is exactly $file', ({ file, manifests }) => {
    const got = render(manifests);
    expect(got).toBe(goldenText(join(FOLDER, file), got));
  });
  it('comes in an order in which everything finds what it needs', () => {
    expect(all.map(({ object }) => object.kind)).toEqual(['Namespace', 'ServiceAccount', 'ServiceAccount', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding', 'Service', 'Service', 'Deployment', 'Deployment', 'DaemonSet']);
  });
  it('every object says that it is ours', () => {
    for (const { object } of [...all, ...readCrds(), buildGatewayClass()]) expect(object.metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'spillway' });
  });
  it('the controller is no administrator: no wildcard, no escalation, no secrets of others', () => {
    const rules = buildRbac().flatMap(({ object }) => (object['rules'] ?? []) as readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[]);
    expect(JSON.stringify(rules)).not.toMatch(/"\*"|escalate|bind|impersonate/);
    const clusterRole = buildRbac().find(({ object }) => object.kind === 'ClusterRole');
    expect(JSON.stringify(clusterRole)).not.toContain('secrets');
  });
  it('what runs many times over keeps a small young generation, by an option that Node takes from the environment', () => {
    const options = (kinds: readonly string[], name: string): string[] => [...JSON.stringify(of(kinds, name)).matchAll(/"NODE_OPTIONS","value":"([^"]*)"/g)].map(([, value]) => value ?? '');
    expect(options(['DaemonSet'], 'spillway-spoke-node')).toEqual(['--max-semi-space-size=1']);
    expect(options(['Deployment'], 'spillway-spoke-dns')).toEqual(['--max-semi-space-size=1']);
    expect(process.allowedNodeEnvironmentFlags.has('--max-semi-space-size')).toBe(true);
  });
  it('nodes and DNS servers get no rights and no API token', () => {
    const bindings = all.filter(({ object }) => object.kind.endsWith('Binding'));
    expect(JSON.stringify(bindings.map(({ object }) => object['subjects']))).not.toMatch(/spoke-(node|dns)/);
    for (const name of ['spillway-spoke-node', 'spillway-spoke-dns']) {
      const pods = all.filter(({ object }) => object.metadata.name === name).map(({ object }) => JSON.stringify(object));
      expect(pods.filter((text) => text.includes('"automountServiceAccountToken":false'))).toHaveLength(2);
    }
  });
});

describe('neededRights', () => {
  const rights = neededRights([...readCrds(), buildGatewayClass(), ...all]).map(describeRight);
  it('has what installing needs, what the hub reads, and what the controller is granted', () => {
    expect(rights).toEqual(expect.arrayContaining(['create daemonsets.apps in spillway-system', 'patch customresourcedefinitions.apiextensions.k8s.io', 'list nodes', 'update gateways/status.gateway.networking.k8s.io', 'create tokenreviews.authentication.k8s.io', 'create leases.coordination.k8s.io in spillway-system']));
  });
  it('never asks for the right to delete CustomResourceDefinitions, which hold users’ objects', () => {
    expect(rights).not.toContain('delete customresourcedefinitions.apiextensions.k8s.io');
  });
  it('has each right once', () => {
    expect(new Set(rights).size).toBe(rights.length);
    expect(rights).not.toContain('get namespaces in spillway-system');
  });
});
