import { byKey, type GatewayOpening, type MemberPaths } from '#domain/fleet';

/** Whether a newer word has everything that an older one had: nothing is at stake then. */
export function coversPaths(newer: MemberPaths | undefined, older: MemberPaths | undefined): boolean {
  if (older === undefined) return true;
  const openings = new Map((newer?.intake.openings ?? []).map((opening) => [openingKey(opening), opening]));
  const peers = new Set(newer?.peers.map(({ clusterId }) => clusterId));
  const isOpen = ({ callers, ...opening }: GatewayOpening): boolean => callers.every((caller) => openings.get(openingKey({ ...opening, callers }))?.callers.includes(caller) === true);
  return older.intake.openings.every(isOpen) && older.peers.every(({ clusterId }) => peers.has(clusterId));
}

/**
 * What is in force while knowledge from before is held: every opening and caller of either word, so that nobody who still calls by
 * the older one is turned away. Where both speak of one gateway port or one member, the newer word counts.
 */
export function joinPaths(older: MemberPaths | undefined, newer: MemberPaths | undefined): MemberPaths | undefined {
  if (older === undefined || newer === undefined) return newer ?? older;
  const openings = new Map(older.intake.openings.map((opening) => [opening.gatewayPort, opening]));
  for (const opening of newer.intake.openings) {
    const before = openings.get(opening.gatewayPort);
    const isSame = before !== undefined && openingKey(before) === openingKey(opening);
    openings.set(opening.gatewayPort, isSame ? { ...opening, callers: [...new Set([...before.callers, ...opening.callers])].sort() } : opening);
  }
  return {
    intake: { openings: [...openings.values()].sort((a, b) => a.gatewayPort - b.gatewayPort), callers: joinByCluster(older.intake.callers, newer.intake.callers) },
    peers: joinByCluster(older.peers, newer.peers),
  };
}

/** What is left of held knowledge once a word that named it takes it back: that is evidence, unlike absence. */
export function withoutWithdrawn(held: MemberPaths | undefined, before: MemberPaths | undefined, after: MemberPaths | undefined): MemberPaths | undefined {
  if (held === undefined || before === undefined || before === after) return held;
  const taken = callersByOpening(before);
  const kept = callersByOpening(after);
  const openings = held.intake.openings.flatMap((opening) => {
    const key = openingKey(opening);
    const callers = opening.callers.filter((caller) => taken.get(key)?.has(caller) !== true || kept.get(key)?.has(caller) === true);
    return callers.length === 0 ? [] : [{ ...opening, callers }];
  });
  const stays = new Set(after?.peers.map(({ clusterId }) => clusterId));
  const gone = new Set(before.peers.map(({ clusterId }) => clusterId).filter((id) => !stays.has(id)));
  return { intake: { ...held.intake, openings }, peers: held.peers.filter(({ clusterId }) => !gone.has(clusterId)) };
}

const openingKey = ({ gatewayPort, backend, port }: GatewayOpening): string => `${gatewayPort} ${backend} ${port.port}/${port.protocol}`;

const callersByOpening = (paths: MemberPaths | undefined): ReadonlyMap<string, ReadonlySet<string>> => new Map((paths?.intake.openings ?? []).map((opening) => [openingKey(opening), new Set<string>(opening.callers)]));

function joinByCluster<T extends { readonly clusterId: string }>(older: readonly T[], newer: readonly T[]): readonly T[] {
  return [...new Map([...older, ...newer].map((one) => [one.clusterId, one])).values()].sort(byKey(({ clusterId }) => clusterId));
}
