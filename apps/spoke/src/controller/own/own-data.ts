import { KUBE_KINDS } from '#contracts/kube-objects';
import type { Kube, KubeObject } from '#ports';


/** The field manager of everything that this role applies. */
export const FIELD_MANAGER = 'spillway-spoke-controller';

const OWN_LABELS = {
  'app.kubernetes.io/name': 'spillway-spoke',
  'app.kubernetes.io/component': 'controller',
  'app.kubernetes.io/managed-by': 'spillway',
};

/** Binary entries of a Secret or a ConfigMap. */
export type Entries = ReadonlyMap<string, Buffer>;

/** The entries of a Secret as the API server sends them, decoded. */
export function secretEntries(object: KubeObject): Entries {
  return decoded(object['data']);
}

/** The entries of a ConfigMap, its text entries as UTF-8. */
export function configMapEntries(object: KubeObject): Entries {
  const texts = Object.entries(stringRecord(object['data'])).map(([key, text]) => [key, Buffer.from(text)] as const);
  return new Map([...decoded(object['binaryData']), ...texts]);
}

/** Applies a Secret of ours as a whole. */
export async function applySecret(kube: Kube, ref: { namespace: string; name: string }, entries: Entries): Promise<void> {
  await kube.apply(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { ...ref, labels: OWN_LABELS }, type: 'Opaque', data: encoded(entries) }, FIELD_MANAGER);
}

/** Creates a Secret of ours; throws KUBE_ALREADY_EXISTS where somebody was first. */
export async function createSecret(kube: Kube, ref: { namespace: string; name: string }, entries: Entries): Promise<void> {
  await kube.create(KUBE_KINDS.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { ...ref, labels: OWN_LABELS }, type: 'Opaque', data: encoded(entries) });
}

/** Applies a ConfigMap of ours with text entries. */
export async function applyTextConfigMap(kube: Kube, ref: { namespace: string; name: string }, data: Readonly<Record<string, string>>): Promise<void> {
  await kube.apply(KUBE_KINDS.configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...ref, labels: OWN_LABELS }, data }, FIELD_MANAGER);
}

/** Applies a ConfigMap of ours with binary entries. */
export async function applyBinaryConfigMap(kube: Kube, ref: { namespace: string; name: string }, entries: Entries): Promise<void> {
  await kube.apply(KUBE_KINDS.configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...ref, labels: OWN_LABELS }, binaryData: encoded(entries) }, FIELD_MANAGER);
}

const encoded = (entries: Entries): Record<string, string> => Object.fromEntries([...entries].map(([key, bytes]) => [key, bytes.toString('base64')]));

function decoded(value: unknown): Entries {
  return new Map(Object.entries(stringRecord(value)).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
}

function stringRecord(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
