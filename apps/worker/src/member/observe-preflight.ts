import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import type { NeededRight, PreflightFacts } from '#domain/membership';
import type { Clock, Kube } from '#ports';

import { findMissingRights } from './missing-rights.js';
import { observeKubeProxyMode } from './observe-kube-proxy.js';

/** Facts of a preflight, and whose cluster it is. */
export interface ObservedMember {
  readonly facts: PreflightFacts;
  /** UID of the kube-system namespace; undefined where it may not be read. */
  readonly uid: string | undefined;
}

/** Looks at a member with our credential, and changes nothing. Throws only where the member does not answer. */
export async function observePreflight(kube: Kube, rights: readonly NeededRight[], clock: Clock): Promise<ObservedMember> {
  const info = await kube.serverInfo();
  const clockOffsetMs = info.timeMs === undefined ? undefined : info.timeMs - clock.nowMs();
  const missingRights = await findMissingRights(kube, rights);
  const [uid, hasTcpRoute, serviceCidrs, kubeProxyMode] = await Promise.all([
    permitted(() => findClusterUid(kube), undefined),
    permitted(() => isServed(kube, KUBE_KINDS.tcpRoute), false),
    permitted<PreflightFacts['serviceCidrs']>(() => observeServiceCidrs(kube), 'unknown'),
    observeKubeProxyMode(kube),
  ]);
  return { facts: { version: info.version, hasTcpRoute, serviceCidrs, kubeProxyMode, missingRights, clockOffsetMs }, uid };
}

/** Whether the member serves a kind in this version. */
export async function isServed(kube: Kube, kind: { readonly group: string; readonly version: string; readonly plural: string }): Promise<boolean> {
  try {
    const list = (await kube.raw(`/apis/${kind.group}/${kind.version}`)) as { readonly resources?: unknown } | null | undefined;
    const resources: readonly ({ readonly name?: unknown } | null)[] = Array.isArray(list?.resources) ? list.resources : [];
    return resources.some((resource) => resource?.name === kind.plural);
  } catch (error) {
    if (isFleetError(error) && error.code === 'KUBE_NOT_FOUND') return false;
    throw error;
  }
}

async function observeServiceCidrs(kube: Kube): Promise<readonly string[] | 'not-served'> {
  try {
    const objects = await kube.list(KUBE_KINDS.serviceCidr);
    const cidrs = objects.flatMap((object): readonly unknown[] => {
      const listed = (object['spec'] as { readonly cidrs?: unknown } | null | undefined)?.cidrs;
      return Array.isArray(listed) ? listed : [];
    });
    return cidrs.filter((cidr) => typeof cidr === 'string').filter((cidr) => cidr.length <= CIDR_LENGTH_MAX).slice(0, CIDRS_MAX);
  } catch (error) {
    if (isFleetError(error) && error.code === 'KUBE_NOT_FOUND') return 'not-served';
    throw error;
  }
}

// Two ServiceCIDRs of two families are usual.
const CIDRS_MAX = 64;
const CIDR_LENGTH_MAX = 49;

async function findClusterUid(kube: Kube): Promise<string | undefined> {
  const found = await kube.find(KUBE_KINDS.namespace, { name: 'kube-system' });
  const uid: unknown = found?.metadata?.uid;
  return typeof uid === 'string' && /^[A-Za-z0-9-]{1,64}$/.test(uid) ? uid : undefined;
}

// What may not be read is among the missing rights already.
async function permitted<T>(read: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (isFleetError(error) && error.code === 'KUBE_FORBIDDEN') return otherwise;
    throw error;
  }
}
