import { KUBE_KINDS } from '#contracts/kube-objects';

import { CONTROLLER_NAME, DNS_NAME, manifest, NODE_NAME, ownLabels, selectorLabels, SPOKE_NAMESPACE, type Manifest, type SpokeComponent } from './manifest.js';
import type { SpokeSettings } from './spoke-settings.js';

const NAMES: Readonly<Record<SpokeComponent, string>> = { controller: CONTROLLER_NAME, dns: DNS_NAME, node: NODE_NAME };

const XDS_PORT = 9443;
const DNS_PORT = 5353;

/** Services of the spoke; they come before the pods, which find the controller by the kubelet's variables for them. */
export function buildServices(): readonly Manifest[] {
  const service = (component: SpokeComponent, ports: readonly object[]): Manifest =>
    manifest(KUBE_KINDS.service, { name: NAMES[component], namespace: SPOKE_NAMESPACE, labels: ownLabels(component) }, { spec: { selector: selectorLabels(component), ports } });
  return [
    service('controller', [{ name: 'xds', port: XDS_PORT, targetPort: 'xds', protocol: 'TCP' }]),
    service('dns', [
      { name: 'dns', port: 53, targetPort: 'dns', protocol: 'UDP' },
      { name: 'dns-tcp', port: 53, targetPort: 'dns-tcp', protocol: 'TCP' },
    ]),
  ];
}

/** The controller: one at a time, so that an upgrade never runs two versions side by side. */
export function buildController(settings: SpokeSettings): Manifest {
  const container = {
    ...baseContainer('controller', settings),
    ports: [{ name: 'xds', containerPort: XDS_PORT, protocol: 'TCP' }, { name: 'ops', containerPort: 9090, protocol: 'TCP' }],
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    securityContext: UNPRIVILEGED,
  };
  const pod = { priorityClassName: 'system-cluster-critical', serviceAccountName: CONTROLLER_NAME, securityContext: POD_UNPRIVILEGED, containers: [container] };
  return workload('controller', { replicas: 1, strategy: { type: 'Recreate' } }, pod);
}

/** The DNS servers. */
export function buildDns(settings: SpokeSettings): Manifest {
  const container = {
    ...baseContainer('dns', settings),
    env: [...baseEnv(settings), SMALL_HEAP, { name: 'SPILLWAY_DNS_LAST_GOOD_FILE', value: '/var/lib/spillway/zone' }],
    ports: [
      { name: 'dns', containerPort: DNS_PORT, protocol: 'UDP' },
      { name: 'dns-tcp', containerPort: DNS_PORT, protocol: 'TCP' },
      { name: 'ops', containerPort: 9090, protocol: 'TCP' },
    ],
    resources: { requests: { cpu: '50m', memory: '96Mi' }, limits: { memory: '256Mi' } },
    securityContext: UNPRIVILEGED,
    volumeMounts: [...XDS_MOUNTS, LAST_GOOD_MOUNT],
  };
  const spread = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: selectorLabels('dns') } };
  const pod = {
    priorityClassName: 'system-cluster-critical',
    serviceAccountName: DNS_NAME,
    automountServiceAccountToken: false,
    securityContext: { ...POD_UNPRIVILEGED, fsGroup: 1000 },
    topologySpreadConstraints: [spread],
    containers: [container],
    volumes: [...XDS_VOLUMES, LAST_GOOD_VOLUME],
  };
  return workload('dns', { replicas: settings.dnsReplicas, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } } }, pod);
}

/** The node agents: on every node's own network, whatever its taints, with the one capability that nftables needs. */
export function buildNode(settings: SpokeSettings): Manifest {
  const container = {
    ...baseContainer('node', settings),
    env: [...baseEnv(settings), SMALL_HEAP, { name: 'SPILLWAY_NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }, { name: 'SPILLWAY_NODE_LAST_GOOD_FILE', value: '/var/lib/spillway/plan' }],
    ports: [{ name: 'ops', containerPort: 9091, hostPort: 9091, protocol: 'TCP' }],
    resources: { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '256Mi' } },
    securityContext: { runAsUser: 0, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } },
    volumeMounts: [...XDS_MOUNTS, LAST_GOOD_MOUNT],
  };
  const pod = {
    priorityClassName: 'system-node-critical',
    serviceAccountName: NODE_NAME,
    automountServiceAccountToken: false,
    hostNetwork: true,
    dnsPolicy: 'Default',
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    tolerations: [{ operator: 'Exists' }],
    containers: [container],
    volumes: [...XDS_VOLUMES, LAST_GOOD_VOLUME],
  };
  return workload('node', { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } } }, pod);
}

// These run many times over, and most of what they hold is V8's young generation (docs/performance.md). An environment variable
// since it goes with the pod, whatever starts the image.
const SMALL_HEAP = { name: 'NODE_OPTIONS', value: '--max-semi-space-size=1' };

const POD_UNPRIVILEGED = { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' } };
const UNPRIVILEGED = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };

// A token of our own audience proves the caller to the controller and opens nothing else.
const XDS_VOLUMES = [
  { name: 'xds-token', projected: { sources: [{ serviceAccountToken: { audience: 'spillway-xds', expirationSeconds: 3600, path: 'token' } }] } },
  { name: 'xds-ca', configMap: { name: 'spillway-xds-ca' } },
];
const XDS_MOUNTS = [
  { name: 'xds-token', mountPath: '/var/run/secrets/spillway', readOnly: true },
  { name: 'xds-ca', mountPath: '/etc/spillway/xds-ca', readOnly: true },
];

// Outlives restarts of the container and of the node, and goes with the pod when the cluster leaves.
const LAST_GOOD_VOLUME = { name: 'last-good', emptyDir: {} };
const LAST_GOOD_MOUNT = { name: 'last-good', mountPath: '/var/lib/spillway' };

function baseContainer(component: SpokeComponent, settings: SpokeSettings): object {
  const probe = (path: string, failureThreshold: number): object => ({ httpGet: { path, port: 'ops' }, periodSeconds: 5, timeoutSeconds: 3, failureThreshold });
  return {
    name: component,
    image: settings.image,
    imagePullPolicy: 'IfNotPresent',
    args: ['--role', component],
    env: baseEnv(settings),
    livenessProbe: probe('/healthz', 6),
    readinessProbe: { ...probe('/readyz', 1), periodSeconds: 2 },
  };
}

function baseEnv(settings: SpokeSettings): readonly object[] {
  const field = (name: string, fieldPath: string): object => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  return [
    field('SPILLWAY_POD_NAME', 'metadata.name'),
    field('SPILLWAY_NAMESPACE', 'metadata.namespace'),
    { name: 'SPILLWAY_CLUSTER_DOMAIN', value: settings.clusterDomain },
    { name: 'SPILLWAY_LOG_LEVEL', value: settings.logLevel },
  ];
}

function workload(component: SpokeComponent, spec: object, pod: object): Manifest {
  const kind = component === 'node' ? KUBE_KINDS.daemonSet : KUBE_KINDS.deployment;
  const template = { metadata: { labels: ownLabels(component) }, spec: { terminationGracePeriodSeconds: 15, ...pod } };
  return manifest(kind, { name: NAMES[component], namespace: SPOKE_NAMESPACE, labels: ownLabels(component) }, { spec: { ...spec, selector: { matchLabels: selectorLabels(component) }, template } });
}
