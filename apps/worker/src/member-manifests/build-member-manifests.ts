import { KUBE_KINDS } from '#contracts/kube-objects';
import { CONTROLLER_NAME as GATEWAY_CONTROLLER } from '#domain/gateway-api';

import { buildRbac } from './build-rbac.js';
import { buildController, buildDns, buildNode, buildServices } from './build-workloads.js';
import { manifest, ownLabels, SPOKE_NAMESPACE, type Manifest } from './manifest.js';
import type { SpokeSettings } from './spoke-settings.js';

/** Name of the GatewayClass that the spoke serves. */
export const GATEWAY_CLASS = 'cluster-ip';

/** Our namespace: privileged, since the node agents are on the nodes' own network. */
const buildNamespace = (): Manifest =>
  manifest(KUBE_KINDS.namespace, { name: SPOKE_NAMESPACE, labels: { ...ownLabels(), 'pod-security.kubernetes.io/enforce': 'privileged' } }, {});

/** The GatewayClass; only for clusters that have the Gateway API. */
export const buildGatewayClass = (): Manifest =>
  manifest(KUBE_KINDS.gatewayClass, { name: GATEWAY_CLASS, labels: ownLabels() }, { spec: { controllerName: GATEWAY_CONTROLLER, description: 'Addresses from the cluster IP range, joined across the fleet.' } });

/** Everything of a spoke but its CRDs, its GatewayClass and its join Secret, in the order in which it is applied. */
export function buildMemberManifests(settings: SpokeSettings): readonly Manifest[] {
  return [buildNamespace(), ...buildRbac(), ...buildServices(), buildController(settings), buildDns(settings), buildNode(settings)];
}
