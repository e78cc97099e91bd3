import type { KubeObject } from '#ports';

/** The namespace and name that every sample object carries: the backend `ai/model`. */
export const SAMPLE = { namespace: 'ai', name: 'model', port: 80, targetPort: 8080, host: 'model.ai.gw.cluster.local' } as const;

const metadata = { namespace: SAMPLE.namespace, name: SAMPLE.name };

/** The namespace that the sample lives in. */
export const sampleNamespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SAMPLE.namespace } };

/** Model servers: an echo server that answers with its cluster and pod. */
export const modelDeployment = (cluster: string, replicas: number, image: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: {
    replicas,
    selector: { matchLabels: { app: SAMPLE.name } },
    template: {
      metadata: { labels: { app: SAMPLE.name } },
      spec: {
        terminationGracePeriodSeconds: 5,
        containers: [
          {
            name: 'server',
            image,
            env: [
              { name: 'CLUSTER', value: cluster },
              { name: 'PORT', value: String(SAMPLE.targetPort) },
              { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            ],
            ports: [{ name: 'http', containerPort: SAMPLE.targetPort }],
            readinessProbe: { httpGet: { path: '/ready', port: SAMPLE.targetPort }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
});

/** The back end of a cluster: which pods, and that the fleet may join them. */
export const backEndObjects: readonly KubeObject[] = [
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
export const frontEndObjects: readonly KubeObject[] = [
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
