import { echoDeployment, type ApiObject } from '#testbed';

/** The namespace and name that every sample object carries: the backend `ai/model`. */
export const SAMPLE = { namespace: 'ai', name: 'model', port: 80, targetPort: 8080, host: 'model.ai.gw.cluster.local' } as const;

const metadata = { namespace: SAMPLE.namespace, name: SAMPLE.name };

/** How long a server goes on answering after its pod was told to end: what a rolling update of a real server does. */
const LAME_DUCK_SECONDS = 2;

/** Model servers that answer with their cluster and pod. */
export function modelDeployment(replicas: number): ApiObject {
  const base = echoDeployment({ ...SAMPLE, replicas }) as ApiObject & { readonly spec: { readonly template: { readonly spec: { readonly containers: readonly object[] } } } };
  const { template } = base.spec;
  const containers = template.spec.containers.map((container) => ({ ...container, lifecycle: { preStop: { sleep: { seconds: LAME_DUCK_SECONDS } } } }));
  return { ...base, spec: { ...base.spec, template: { ...template, spec: { ...template.spec, terminationGracePeriodSeconds: 10, containers } } } };
}

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
