import { memberBackendDigest, reportDigest, type BackendName, type MemberBackend } from '#domain/fleet';

import type { LocalObjects } from './local-objects.js';
import { viewLocalObjects } from './local-view.js';

/**
 * What this cluster offers to the fleet: one entry for each CompositeBackend with a local part that exists, whether or not
 * a route of this cluster leads to it (R38). Sorted by name.
 */
export const memberBackends = (objects: LocalObjects): readonly MemberBackend[] => viewLocalObjects(objects).offers;

/** The digest of everything that a cluster offers: what its heartbeat carries. */
export const memberBackendsDigest = (backends: readonly MemberBackend[]): string =>
  reportDigest(new Map<BackendName, string>(backends.map((backend) => [backend.name, memberBackendDigest(backend)])));
