import { FleetError, isFleetError } from '#domain/fleet';
import type { KubeKind, KubeObject, KubeSelection } from '#ports';

import { collectionPath, queryText } from './kube-paths.js';
import type { KubeTransport } from './kube-transport.js';

/** Bounds of a list: a server may say for ever that there is more. */
export interface ListLimits {
  /** Objects that a page is asked for; a server may send more. */
  readonly pageObjects: number;
  readonly pagesMax: number;
  readonly objectsMax: number;
}

/** The bounds where nobody says otherwise: for a cluster's own API server. */
const DEFAULT_LIST_LIMITS: ListLimits = { pageObjects: 500, pagesMax: 4_000, objectsMax: 1_000_000 };

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
export async function listAll(transport: KubeTransport, kind: KubeKind, selection: KubeSelection, limits: ListLimits = DEFAULT_LIST_LIMITS): Promise<KubeList> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      return await listPages({ transport, kind, selection, limits });
    } catch (error) {
      if (!isFleetError(error) || error.code !== 'KUBE_EXPIRED' || restarts === RESTARTS_MAX) throw error;
    }
  }
}

interface ListParts {
  readonly transport: KubeTransport;
  readonly kind: KubeKind;
  readonly selection: KubeSelection;
  readonly limits: ListLimits;
}

async function listPages({ transport, kind, selection, limits }: ListParts): Promise<KubeList> {
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const { trim = (object: KubeObject) => object } = selection;
  const objects: KubeObject[] = [];
  let continueToken: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const query = queryText({ labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector, limit: String(limits.pageObjects), continue: continueToken });
    const { body } = await transport.send({ method: 'GET', path: `${collectionPath(kind, selection.namespace)}${query}` });
    const page = parsePage(body, kind);
    // Items of a list carry no apiVersion and kind of their own.
    for (const item of page.items) objects.push(trim({ apiVersion, kind: kind.kind, ...item } as KubeObject));
    if (page.continueToken === undefined && objects.length <= limits.objectsMax) return { objects, resourceVersion: page.resourceVersion };
    if (objects.length > limits.objectsMax || pages >= limits.pagesMax) {
      throw new FleetError('KUBE_LIST_TOO_LARGE', 'user', `${transport.server} has more than ${limits.objectsMax} ${kind.plural}, or never ends its list of them.`);
    }
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
