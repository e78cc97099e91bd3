import { execFileSync } from 'node:child_process';

import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';

import { resolveBinary } from '#testbed';

import { buildGatewayClass, buildMemberManifests } from '../../apps/worker/src/member-manifests/index.js';

const KUBE_VERSION = ['--kube-version', 'v1.37.2'];
const HUB_VALUES = ['--set', 'publicUrl=https://hub.example.com:8443,storeSecretName=store,encryptionSecretName=key'];

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
}

describe('the Helm charts', () => {
  let helm = '';
  beforeAll(async () => {
    helm = await resolveBinary('helm');
  }, 600_000);

  const run = (...args: readonly string[]): string => execFileSync(helm, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const template = (...args: readonly string[]): readonly Rendered[] =>
    parseAllDocuments(run('template', ...KUBE_VERSION, ...args))
      .map((document) => document.toJS() as Rendered | null)
      .filter((object): object is Rendered => object !== null);

  it('lint without a warning of an error', () => {
    expect(run('lint', 'helm/hub', '--strict', ...HUB_VALUES)).toContain('0 chart(s) failed');
    expect(run('lint', 'helm/spoke', '--strict', '--namespace', 'spillway-system')).toContain('0 chart(s) failed');
  });

  it('the hub chart renders hub, worker and their doors', () => {
    const names = template('fleet', 'helm/hub', ...HUB_VALUES).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(names.sort()).toEqual(['Deployment/fleet-hub', 'Deployment/fleet-worker', 'PodDisruptionBudget/fleet-hub', 'Service/fleet-hub', 'Service/fleet-hub-machines']);
  });

  it('the hub chart refuses to render without what it needs', () => {
    expect(() => template('fleet', 'helm/hub')).toThrow(/publicUrl/);
  });

  it('the spoke chart renders the very objects that the worker installs, and the join Secret', () => {
    const rendered = template('spoke', 'helm/spoke', '--namespace', 'spillway-system', '--set', 'joinToken=spw1.abc');
    const settings = { image: 'ghcr.io/spillway-dev/spoke:0.1.0', dnsReplicas: 2, clusterDomain: 'cluster.local', logLevel: 'info' };
    const installed = [...buildMemberManifests(settings), buildGatewayClass()].map(({ object }) => object).filter(({ kind }) => kind !== 'Namespace');
    const others = rendered.filter(({ metadata }) => !['spillway-join', 'spillway-spoke-leave'].includes(metadata.name));
    expect(others).toHaveLength(installed.length);
    expect(others).toEqual(expect.arrayContaining(installed.map((object) => JSON.parse(JSON.stringify(object)) as unknown)));
    expect(rendered).toHaveLength(installed.length + 2);
  });

  it('the spoke chart asks its own controller to leave before anything is deleted', () => {
    const [hook] = template('spoke', 'helm/spoke', '--namespace', 'spillway-system').filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined);
    expect(hook).toMatchObject({
      kind: 'Job',
      metadata: { annotations: { 'helm.sh/hook': 'pre-delete' } },
      spec: { template: { spec: { serviceAccountName: 'spillway-spoke-controller', containers: [{ args: ['--role', 'leave'] }] } } },
    });
  });

  it('the spoke chart refuses another namespace', () => {
    expect(() => template('spoke', 'helm/spoke', '--namespace', 'default')).toThrow(/spillway-system/);
  });
});
