import type { ApiObject } from './kube-api/kube-api.js';
import { CLIENT_IMAGE, ECHO_IMAGE } from './testbed-options.js';

/** A Deployment of echo servers on port 8080, labelled `app: NAME`, ready as soon as they listen. */
export function echoDeployment(echo: { readonly namespace: string; readonly name: string; readonly replicas: number; readonly labels?: Readonly<Record<string, string>> }): ApiObject {
  const labels = { app: echo.name, ...echo.labels };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: echo.namespace, name: echo.name, labels },
    spec: {
      replicas: echo.replicas,
      selector: { matchLabels: { app: echo.name } },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 5,
          containers: [{ name: 'echo', image: ECHO_IMAGE, ports: [{ name: 'http', containerPort: 8080 }], readinessProbe: { httpGet: { path: '/readyz', port: 8080 }, periodSeconds: 1, failureThreshold: 1 } }],
        },
      },
    },
  };
}

/** A pod to run commands and requests from. */
export function clientPod(client: { readonly namespace: string; readonly name: string; readonly nodeName?: string }): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: client.namespace, name: client.name, labels: { app: client.name } },
    spec: { terminationGracePeriodSeconds: 0, ...(client.nodeName === undefined ? {} : { nodeName: client.nodeName }), containers: [{ name: 'client', image: CLIENT_IMAGE }] },
  };
}

/** A Namespace. */
export const namespaceObject = (name: string): ApiObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
