import type { ApiObject } from '#testbed';

/** The namespace and name that every sample object carries: the backend `ai/model`. */
export const SAMPLE = { namespace: 'ai', name: 'model', port: 80, targetPort: 8080, host: 'model.ai.gw.cluster.local' } as const;

const metadata = { namespace: SAMPLE.namespace, name: SAMPLE.name };

/** The back end of a cluster: which pods, and that the fleet may join them. */
export const backEndObjects: readonly ApiObject[] = [
  {
    apiVersion: 'spillway.dev/v1alpha1',
    kind: 'EndpointSelector',
    metadata,
    spec: { selector: { matchLabels: { app: SAMPLE.name } }, ports: [{ name: 'http', targetPort: SAMPLE.targetPort, protocol: 'TCP' }] },
  },
  {
    apiVersion: 'spillway.dev/v1alpha1',
    kind: 'CompositeBackend',
    metadata,
    spec: {
      backendRef: { group: 'spillway.dev', kind: 'EndpointSelector', name: SAMPLE.name },
      ports: [{ port: SAMPLE.port, targetPort: 'http', protocol: 'TCP' }],
    },
  },
];

/** The front end of a cluster: one address, and the route that leads from it to the backend. */
export const frontEndObjects: readonly ApiObject[] = [
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata,
    spec: { gatewayClassName: 'cluster-ip', listeners: [{ name: 'http', port: SAMPLE.port, protocol: 'TCP' }] },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'TCPRoute',
    metadata,
    spec: {
      parentRefs: [{ name: SAMPLE.name }],
      rules: [{ backendRefs: [{ group: 'spillway.dev', kind: 'CompositeBackend', name: SAMPLE.name, port: SAMPLE.port }] }],
    },
  },
];
