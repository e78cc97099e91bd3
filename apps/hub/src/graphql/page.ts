import { FleetError } from '#domain/fleet';

/** The most items of one page. */
const PAGE_SIZE_MAX = 200;

/** Items of a page that asks for no size. */
export const PAGE_SIZE_DEFAULT = 50;

/** Which page is asked for, by Relay's rules: `first` items after a cursor. */
export interface PageRequest {
  readonly first: number;
  readonly after?: string | undefined;
}

/** One page of a sorted list. */
export interface Page<T> {
  readonly edges: readonly { readonly cursor: string; readonly node: T }[];
  readonly nodes: readonly T[];
  readonly totalCount: number;
  readonly pageInfo: PageInfoData;
}

/** Where a page stands in its list. */
export interface PageInfoData {
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly startCursor: string | undefined;
  readonly endCursor: string | undefined;
}

/**
 * One page of a list that is sorted by a unique text key, by code unit. A cursor stays good when its item has gone, since
 * the page begins at the first greater key.
 */
export function planPage<T>(sorted: readonly T[], keyOf: (item: T) => string, request: PageRequest): Page<T> {
  const first = checkedPageSize(request.first);
  const afterKey = request.after === undefined ? undefined : parseCursor(request.after);
  const start = afterKey === undefined ? 0 : countUpTo(sorted, keyOf, afterKey);
  const edges = sorted.slice(start, start + first).map((node) => ({ cursor: formatCursor(keyOf(node)), node }));
  return {
    edges,
    nodes: edges.map(({ node }) => node),
    totalCount: sorted.length,
    pageInfo: { hasNextPage: start + first < sorted.length, hasPreviousPage: start > 0, startCursor: edges[0]?.cursor, endCursor: edges.at(-1)?.cursor },
  };
}

/** The page size if it may be asked for. Throws PAGE_SIZE_INVALID. */
export function checkedPageSize(first: number): number {
  if (Number.isInteger(first) && first >= 1 && first <= PAGE_SIZE_MAX) return first;
  throw new FleetError('PAGE_SIZE_INVALID', 'user', `Ask for 1 to ${PAGE_SIZE_MAX} items with "first", and for more with "after".`);
}

/** A cursor that leads on after an item's key. */
export const formatCursor = (key: string): string => Buffer.from(`k:${key}`, 'utf8').toString('base64url');

/** The key in a cursor. Throws CURSOR_INVALID. */
export function parseCursor(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  if (text.startsWith('k:')) return text.slice(2);
  throw new FleetError('CURSOR_INVALID', 'user', 'The cursor was not made by this list; take "endCursor" of the page before.');
}

// Binary search: the number of items whose key is not greater.
function countUpTo<T>(sorted: readonly T[], keyOf: (item: T) => string, key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = sorted[middle];
    if (item !== undefined && keyOf(item) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
