import type { Freeze, MemberPart, MemberState, SamenessPolicy } from './fleet-view.js';
import { assertNever } from './fleet-error.js';
import type { BackendName, ClusterId } from './ids.js';

/** What one entry of the fleet's change log touched, without values. */
export type ChangeTarget =
  | { readonly kind: 'part'; readonly clusterId: ClusterId; readonly name: BackendName }
  | { readonly kind: 'member'; readonly clusterId: ClusterId }
  /** `namespaces`: patterns of the policy before and after the change. */
  | { readonly kind: 'policy'; readonly name: string; readonly namespaces: readonly string[] }
  | { readonly kind: 'freeze' };

/** One log entry: its number and what it touched. */
export interface LogEntry {
  readonly sequence: bigint;
  readonly target: ChangeTarget;
}

/** A target with its value as of the batch that carries it (undefined = gone), and the number of its latest entry. */
export type Change =
  | { readonly kind: 'part'; readonly sequence: bigint; readonly clusterId: ClusterId; readonly name: BackendName; readonly part: MemberPart | undefined }
  | { readonly kind: 'member'; readonly sequence: bigint; readonly clusterId: ClusterId; readonly member: MemberState | undefined }
  | { readonly kind: 'policy'; readonly sequence: bigint; readonly name: string; readonly namespaces: readonly string[]; readonly policy: SamenessPolicy | undefined }
  | { readonly kind: 'freeze'; readonly sequence: bigint; readonly freeze: Freeze | undefined };

/** One entry for each target, its latest, in the order of their numbers; a policy's namespaces are those of all its entries. */
export function latestPerTarget(entries: readonly LogEntry[]): readonly LogEntry[] {
  const latest = new Map<string, LogEntry>();
  for (const entry of entries) {
    const key = targetKey(entry.target);
    const earlier = latest.get(key);
    latest.delete(key);
    latest.set(key, earlier === undefined ? entry : { sequence: entry.sequence, target: joinTargets(earlier.target, entry.target) });
  }
  return [...latest.values()];
}

function targetKey(target: ChangeTarget): string {
  switch (target.kind) {
    case 'part':
      return `part ${target.clusterId} ${target.name}`;
    case 'member':
      return `member ${target.clusterId}`;
    case 'policy':
      return `policy ${target.name}`;
    case 'freeze':
      return 'freeze';
    default:
      return assertNever(target);
  }
}

function joinTargets(earlier: ChangeTarget, later: ChangeTarget): ChangeTarget {
  if (earlier.kind !== 'policy' || later.kind !== 'policy') return later;
  return { ...later, namespaces: [...new Set([...earlier.namespaces, ...later.namespaces])].sort() };
}
