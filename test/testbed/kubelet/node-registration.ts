import { release } from 'node:os';

import { ApiError, type KubeApi } from '../kube-api/kube-api.js';
import type { KubeletConfig } from './kubelet-config.js';

const LEASE_SECONDS = 40;
const HEARTBEAT_MS = 10_000;
const RETRY_MS = 500;
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/** Registers the node and keeps its Lease renewed until the returned function is called. */
export async function keepNodeRegistered(api: KubeApi, config: KubeletConfig): Promise<() => void> {
  while (!(await register(api, config))) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  let timer: NodeJS.Timeout | undefined;
  const beat = async (): Promise<void> => {
    await renewLease(api, config).catch((error: unknown) => {
      process.stderr.write(`lease of ${config.nodeName}: ${String(error)}\n`);
    });
    timer = setTimeout(() => void beat(), HEARTBEAT_MS);
  };
  await beat();
  return () => clearTimeout(timer);
}

async function register(api: KubeApi, config: KubeletConfig): Promise<boolean> {
  try {
    const node = buildNode(config, new Date().toISOString());
    await api.ensure('/api/v1/nodes', node);
    await api.patch(`/api/v1/nodes/${config.nodeName}/status`, { status: node.status }, 'strategic');
    return true;
  } catch (error) {
    process.stderr.write(`registration of ${config.nodeName}: ${String(error)}\n`);
    return false;
  }
}

/** The Node object of this kubelet. */
export function buildNode(config: KubeletConfig, nowIso: string): { readonly status: object } & Record<string, unknown> {
  const capacity = { cpu: '64', memory: '256Gi', 'ephemeral-storage': '100Gi', pods: '250', ...config.capacity };
  const healthy = (type: string, status: 'True' | 'False', reason: string): object => ({ type, status, reason, message: reason, lastHeartbeatTime: nowIso, lastTransitionTime: nowIso });
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: config.nodeName, labels: { 'kubernetes.io/hostname': config.nodeName, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch, ...config.labels } },
    spec: { podCIDR: config.podCidr, podCIDRs: [config.podCidr], providerID: `testbed://${config.clusterName}/${config.nodeName}` },
    status: {
      capacity,
      allocatable: capacity,
      addresses: [{ type: 'InternalIP', address: config.nodeAddress }, { type: 'Hostname', address: config.nodeName }],
      conditions: [healthy('Ready', 'True', 'KubeletReady'), healthy('MemoryPressure', 'False', 'KubeletHasSufficientMemory'), healthy('DiskPressure', 'False', 'KubeletHasNoDiskPressure'), healthy('PIDPressure', 'False', 'KubeletHasSufficientPID')],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        machineID: config.nodeName,
        systemUUID: config.nodeName,
        bootID: config.nodeName,
        kernelVersion: release(),
        osImage: 'Spillway testbed',
        containerRuntimeVersion: 'testbed://1',
        kubeletVersion: config.kubernetesVersion,
        kubeProxyVersion: config.kubernetesVersion,
        operatingSystem: 'linux',
        architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      },
    },
  };
}

async function renewLease(api: KubeApi, config: KubeletConfig): Promise<void> {
  const renewTime = new Date().toISOString().replace(/Z$/, '000Z');
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: config.nodeName, namespace: 'kube-node-lease' },
    spec: { holderIdentity: config.nodeName, leaseDurationSeconds: LEASE_SECONDS, renewTime },
  };
  try {
    await api.patch(`${LEASES}/${config.nodeName}`, { spec: lease.spec }, 'merge');
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
    await api.create(LEASES, lease);
  }
}
