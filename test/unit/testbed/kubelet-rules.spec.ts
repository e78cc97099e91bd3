import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { buildContainerEnv, expandReferences } from '../../testbed/kubelet/container-env.js';
import { fieldValue } from '../../testbed/kubelet/field-refs.js';
import { findImage } from '../../testbed/kubelet/kubelet-config.js';
import type { Container, Pod, ServiceObject } from '../../testbed/kubelet/pod-types.js';
import { renderResolvConf } from '../../testbed/kubelet/resolv-conf.js';
import { writeVolume } from '../../testbed/kubelet/write-volume.js';

const pod = (spec: Partial<Pod['spec']> = {}): Pod => ({ metadata: { name: 'p', namespace: 'ai', uid: 'u', labels: { app: 'echo' } }, spec: { nodeName: 'n', containers: [], ...spec } });
const container = (more: Partial<Container>): Container => ({ name: 'c', image: 'i', ...more });
const facts = { podIp: '10.1.0.5', hostIp: '198.18.1.11' };
const service = (namespace: string, name: string, clusterIP: string): ServiceObject => ({ metadata: { namespace, name }, spec: { clusterIP, ports: [{ name: 'xds-tls', port: 9443 }] } });

describe('variables of a container', () => {
  const services = [service('default', 'kubernetes', '10.96.0.1'), service('ai', 'spoke-controller', '10.96.0.7'), service('other', 'far', '10.96.0.8'), service('ai', 'headless', 'None')];
  const around = { facts, services, find: (kind: string, name: string) => (kind === 'secrets' && name === 'known' ? { metadata: { name }, data: { key: Buffer.from('value').toString('base64') } } : undefined) };

  it('name the Services of its own namespace and the API server', () => {
    const env = buildContainerEnv(pod(), container({}), around);
    expect(env).toMatchObject({ KUBERNETES_SERVICE_HOST: '10.96.0.1', SPOKE_CONTROLLER_SERVICE_HOST: '10.96.0.7', SPOKE_CONTROLLER_SERVICE_PORT: '9443', SPOKE_CONTROLLER_SERVICE_PORT_XDS_TLS: '9443' });
    expect(Object.keys(env).filter((key) => key.startsWith('FAR') || key.startsWith('HEADLESS'))).toEqual([]);
  });

  it('name the API server alone where service links are off', () => {
    expect(buildContainerEnv(pod({ enableServiceLinks: false }), container({}), around)).not.toHaveProperty('SPOKE_CONTROLLER_SERVICE_HOST');
  });

  it('come from fields, Secrets and each other', () => {
    const env = [
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'KEY', valueFrom: { secretKeyRef: { name: 'known', key: 'key' } } },
      { name: 'BOTH', value: '$(IP)/$(KEY)/$(NONE)/$$(IP)' },
      { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
    ];
    expect(buildContainerEnv(pod(), container({ env, resources: { limits: { memory: '2Mi' } } }), around)).toMatchObject({ IP: '10.1.0.5', KEY: 'value', BOTH: '10.1.0.5/value/$(NONE)/$(IP)', MEMORY: '2097152' });
  });

  it('say what is missing, unless it is optional', () => {
    const needs = (optional: boolean) => container({ env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'unknown', key: 'k', optional } } }] });
    expect(buildContainerEnv(pod(), needs(false), around)).toBe('key "k" of secrets "unknown" not found');
    expect(buildContainerEnv(pod(), needs(true), around)).not.toHaveProperty('X');
  });

  it('expand in commands', () => {
    expect(expandReferences('--ip=$(IP)', { IP: '1.2.3.4' })).toBe('--ip=1.2.3.4');
  });
});

describe('facts of a pod', () => {
  it.each([
    ['metadata.name', 'p'],
    ["metadata.labels['app']", 'echo'],
    ["metadata.annotations['none']", ''],
    ['spec.serviceAccountName', 'default'],
    ['status.hostIP', '198.18.1.11'],
    ['spec.containers', undefined],
  ])('%s is %s', (path, want) => {
    expect(fieldValue(pod(), path, facts)).toBe(want);
  });

  it('lead to the cluster DNS by dnsPolicy', () => {
    const cluster = 'nameserver 10.96.0.10\nsearch ai.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n';
    expect(renderResolvConf(pod(), '10.96.0.10')).toBe(cluster);
    expect(renderResolvConf(pod({ hostNetwork: true, dnsPolicy: 'ClusterFirst' }), '10.96.0.10')).toBe('');
    expect(renderResolvConf(pod({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }), '10.96.0.10')).toBe(cluster);
    expect(renderResolvConf(pod({ dnsPolicy: 'None', dnsConfig: { nameservers: ['10.0.0.1'], options: [{ name: 'ndots', value: '1' }] } }), '10.96.0.10')).toBe('nameserver 10.0.0.1\noptions ndots:1\n');
  });
});

describe('images', () => {
  it('match by their longest pattern, with any tag where it ends in a star', () => {
    const images = [{ image: 'a/*', entrypoint: ['all'] }, { image: 'a/spoke:*', entrypoint: ['spoke'] }, { image: 'b:1', entrypoint: ['one'] }];
    expect(findImage(images, 'a/spoke:0.1.0')?.entrypoint).toEqual(['spoke']);
    expect(findImage(images, 'b:1')?.entrypoint).toEqual(['one']);
    expect(findImage(images, 'b:2')).toBeUndefined();
  });
});

describe('a volume of files', () => {
  it('shows the newest set of names and contents and nothing of the one before', () => {
    const directory = mkdtempSync(join(tmpdir(), 'testbed-volume-'));
    writeVolume(directory, new Map([['a', Buffer.from('1')], ['deep/b', Buffer.from('2')]]), 1);
    expect(readFileSync(join(directory, 'deep/b'), 'utf8')).toBe('2');
    writeVolume(directory, new Map([['a', Buffer.from('3')]]), 2);
    expect(readFileSync(join(directory, 'a'), 'utf8')).toBe('3');
    expect(readdirSync(directory).sort()).toEqual(['..data', '..v2', 'a']);
    rmSync(directory, { recursive: true });
  });
});
