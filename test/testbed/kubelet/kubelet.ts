import { join } from 'node:path';

import { followObjects, type Following } from '../kube-api/follow-objects.js';
import { KubeApi } from '../kube-api/kube-api.js';
import { cleanNode } from './clean-node.js';
import type { KubeletConfig } from './kubelet-config.js';
import { keepNodeRegistered } from './node-registration.js';
import { ObjectSource } from './object-source.js';
import { PodAddresses } from './pod-sandbox.js';
import type { Pod, ServiceObject } from './pod-types.js';
import { PodWorker, type NodeContext } from './pod-worker.js';

/** Runs the kubelet of one node until the process ends. It is started inside the node's network namespace. */
export async function runKubelet(config: KubeletConfig): Promise<void> {
  await cleanNode(config);
  const api = new KubeApi(config.access);
  await keepNodeRegistered(api, config);
  const services = await followServices(api);
  let podNumber = 0;
  const context: NodeContext = {
    config,
    api,
    objects: new ObjectSource(api),
    addresses: new PodAddresses(config.podCidr),
    services: () => [...services.values()],
    nextPodNumber: () => podNumber++,
  };
  followPods(context);
}

function followPods(context: NodeContext): Following {
  const workers = new Map<string, PodWorker>();
  return followObjects<Pod>(context.api, { path: '/api/v1/pods', fieldSelector: `spec.nodeName=${context.config.nodeName}` }, {
    upsert: (pod) => {
      const uid = pod.metadata.uid ?? '';
      const worker = workers.get(uid);
      if (worker !== undefined) {
        worker.update(pod);
        return;
      }
      const created = new PodWorker(pod, context);
      workers.set(uid, created);
      if (pod.metadata.deletionTimestamp !== undefined) created.update(pod);
      else created.start().catch((error: unknown) => process.stderr.write(`pod ${pod.metadata.namespace}/${pod.metadata.name}: ${String(error)}\n`));
    },
    remove: (pod) => {
      const worker = workers.get(pod.metadata.uid ?? '');
      workers.delete(pod.metadata.uid ?? '');
      void worker?.discard();
    },
  });
}

/** Follows all Services; resolves with their live map once the first list is in. */
function followServices(api: KubeApi): Promise<ReadonlyMap<string, ServiceObject>> {
  const services = new Map<string, ServiceObject>();
  const keyOf = (service: ServiceObject): string => join(service.metadata.namespace ?? '', service.metadata.name);
  return new Promise((resolve) => {
    followObjects<ServiceObject>(api, { path: '/api/v1/services' }, {
      upsert: (service) => services.set(keyOf(service), service),
      remove: (service) => services.delete(keyOf(service)),
      synced: () => resolve(services),
    });
  });
}
