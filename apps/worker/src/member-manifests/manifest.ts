import type { KubeKind, KubeObject } from '#ports';

/** An object to install and the kind whose API takes it. */
export interface Manifest {
  readonly kind: KubeKind;
  readonly object: KubeObject;
}

/** Our namespace in a member. */
export const SPOKE_NAMESPACE = 'spillway-system';

/** Name of the controller's objects. */
export const CONTROLLER_NAME = 'spillway-spoke-controller';
/** Name of the DNS server's objects. */
export const DNS_NAME = 'spillway-spoke-dns';
/** Name of the node agent's objects. */
export const NODE_NAME = 'spillway-spoke-node';

/** The part of the spoke that an object belongs to. */
export type SpokeComponent = 'controller' | 'dns' | 'node';

/** Labels that select the pods of a component; they never change. */
export const selectorLabels = (component: SpokeComponent): Readonly<Record<string, string>> => ({ 'app.kubernetes.io/name': 'spillway-spoke', 'app.kubernetes.io/component': component });

/** Labels of every object that is ours. */
export const ownLabels = (component?: SpokeComponent): Readonly<Record<string, string>> => ({
  'app.kubernetes.io/name': 'spillway-spoke',
  ...(component === undefined ? {} : { 'app.kubernetes.io/component': component }),
  'app.kubernetes.io/managed-by': 'spillway',
});

/** Makes a manifest of a kind. */
export function manifest(kind: KubeKind, metadata: KubeObject['metadata'], fields: Readonly<Record<string, unknown>>): Manifest {
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  return { kind, object: { apiVersion, kind: kind.kind, metadata, ...fields } };
}
