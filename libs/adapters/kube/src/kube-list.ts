import { FleetError, isFleetError } from '#domain/fleet';
import type { KubeKind, KubeObject, KubeSelection } from '#ports';

import { collectionPath, queryText } from './kube-paths.js';
import type { KubeTransport } from './kube-transport.js';

/** Objects per page. */
const PAGE_LIMIT = 500;

/** How often a list starts again when its continue token expires under it. */
const RESTARTS_MAX = 3;

/** A complete list and the version that a watch may follow from. */
export interface KubeList {
  readonly objects: readonly KubeObject[];
  readonly resourceVersion: string;
}

interface Page {
  readonly items: readonly Record<string, unknown>[];
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
}

/** Lists a kind in pages; a continue token that expired (410) starts the list again. */
export async function listAll(transport: KubeTransport, kind: KubeKind, selection: KubeSelection): Promise<KubeList> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      return await listPages(transport, kind, selection);
    } catch (error) {
      if (!isFleetError(error) || error.code !== 'KUBE_EXPIRED' || restarts === RESTARTS_MAX) throw error;
    }
  }
}

async function listPages(transport: KubeTransport, kind: KubeKind, selection: KubeSelection): Promise<KubeList> {
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const objects: KubeObject[] = [];
  let continueToken: string | undefined;
  for (;;) {
    const query = queryText({ labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector, limit: String(PAGE_LIMIT), continue: continueToken });
    const { body } = await transport.send({ method: 'GET', path: `${collectionPath(kind, selection.namespace)}${query}` });
    const page = parsePage(body, kind);
    // Items of a list carry no apiVersion and kind of their own.
    for (const item of page.items) objects.push({ apiVersion, kind: kind.kind, ...item } as KubeObject);
    if (page.continueToken === undefined) return { objects, resourceVersion: page.resourceVersion };
    continueToken = page.continueToken;
  }
}

function parsePage(body: unknown, kind: KubeKind): Page {
  const list = body as { readonly items?: unknown; readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown } } | null | undefined;
  const resourceVersion = list?.metadata?.resourceVersion;
  if (typeof resourceVersion !== 'string') throw new FleetError('KUBE_SERVER_ERROR', 'transient', `The list of ${kind.plural} is no Kubernetes list; is the server an API server?`);
  const more = list?.metadata?.continue;
  return {
    items: Array.isArray(list?.items) ? (list.items as Record<string, unknown>[]) : [],
    resourceVersion,
    continueToken: typeof more === 'string' && more !== '' ? more : undefined,
  };
}
