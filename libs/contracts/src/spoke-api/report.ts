import { create } from '@bufbuild/protobuf';

import { type BackendName, FIRST_SEEN_MAX, type FirstSeenPlaces, isRfc1123Label, type MemberBackend, type Problem, type ReachReport } from '#domain/fleet';

import { type FirstSeen, FirstSeenSchema, type ReportRequest } from './generated/spillway/spoke/v1/spoke_pb.js';
import { SPOKE_API_LIMITS } from './limits.js';
import { isBackendName, parseMemberBackend } from './member-backend.js';
import { parseReachReport } from './member-reach.js';

/** A report's parsed content. */
export interface ReportContent {
  readonly full: boolean;
  readonly changed: readonly MemberBackend[];
  readonly removed: readonly BackendName[];
  readonly digest: string;
  readonly applied: { readonly epoch: string; readonly sequence: bigint } | undefined;
  readonly spokeVersion: string;
  /** Absent where the spoke never says how it is reached. */
  readonly reach?: ReachReport;
  readonly firstSeen: FirstSeenPlaces;
}

const PROBLEMS_SHOWN_MAX = 20;

/** Whether a text may be a version or an epoch: at most 100 printable ASCII characters. */
export const isShortText = (text: string): boolean => /^[\x20-\x7e]{0,100}$/.test(text);

/** Parses a report: its content, or its problems (the first 20), each with the path of its field. */
export function parseReport(request: ReportRequest): { readonly content: ReportContent } | { readonly problems: readonly Problem[] } {
  const problems: Problem[] = [...headProblems(request)];
  const changed: MemberBackend[] = [];
  const removed: BackendName[] = [];
  const names = new Set<string>();
  for (const [index, wire] of request.changed.slice(0, SPOKE_API_LIMITS.backendsMax).entries()) {
    const parsed = parseMemberBackend(wire, `changed[${index}]`);
    if ('problems' in parsed) problems.push(...parsed.problems);
    else changed.push(parsed.backend);
    if (names.has(wire.name)) problems.push({ path: `changed[${index}].name`, code: 'NAME_REPEATED', message: 'the name is in this report twice; send it once' });
    names.add(wire.name);
    if (problems.length >= PROBLEMS_SHOWN_MAX) break;
  }
  for (const [index, name] of request.removed.slice(0, SPOKE_API_LIMITS.backendsMax).entries()) {
    if (!isBackendName(name)) problems.push({ path: `removed[${index}]`, code: 'NAME_INVALID', message: 'not namespace/name as Kubernetes names them' });
    else if (names.has(name)) problems.push({ path: `removed[${index}]`, code: 'NAME_REPEATED', message: 'the name is also in changed; say one of the two' });
    else removed.push(name);
  }
  const reach = parseReachReport(request);
  problems.push(...problemsOfReach(reach), ...firstSeenProblems(request));
  if (problems.length > 0) return { problems: problems.slice(0, PROBLEMS_SHOWN_MAX) };
  return { content: { full: request.full, changed, removed, digest: request.digest, firstSeen: readFirstSeen(request), ...readHead(request), ...(reach !== undefined && 'report' in reach ? { reach: reach.report } : {}) } };
}

const problemsOfReach = (reach: ReturnType<typeof parseReachReport>): readonly Problem[] => (reach !== undefined && 'problems' in reach ? reach.problems : []);

function firstSeenProblems({ firstSeen }: ReportRequest): Problem[] {
  const { backendsMax } = SPOKE_API_LIMITS;
  if (firstSeen.length > backendsMax) return [{ path: 'firstSeen', code: 'TOO_MANY_BACKENDS', message: `a cluster may have ${backendsMax} backends; this gives places of ${firstSeen.length}` }];
  return firstSeen.flatMap(({ backend, place }, index) =>
    isBackendName(backend) && place <= FIRST_SEEN_MAX ? [] : [{ path: `firstSeen[${index}]`, code: 'FIRST_SEEN_INVALID', message: 'name the backend as namespace/name, and its place as the hub gave it' }],
  );
}

const readFirstSeen = ({ firstSeen }: ReportRequest): FirstSeenPlaces => new Map(firstSeen.map(({ backend, place }) => [backend as BackendName, place]));

/** The wire form of the places that a report repeats. */
export const toWireFirstSeen = (places: FirstSeenPlaces | undefined): FirstSeen[] => [...(places ?? [])].map(([backend, place]) => create(FirstSeenSchema, { backend, place }));

const readHead = ({ appliedEpoch, appliedSequence, spokeVersion }: ReportRequest): Pick<ReportContent, 'applied' | 'spokeVersion'> => ({
  applied: appliedEpoch === '' ? undefined : { epoch: appliedEpoch, sequence: appliedSequence },
  spokeVersion,
});

function headProblems(request: ReportRequest): Problem[] {
  const problems: Problem[] = [];
  const { backendsMax } = SPOKE_API_LIMITS;
  if (!isRfc1123Label(request.clusterId)) problems.push({ path: 'clusterId', code: 'NAME_INVALID', message: 'give the cluster id that enrolment returned' });
  if (!/^[0-9a-f]{32}$/.test(request.digest)) problems.push({ path: 'digest', code: 'DIGEST_INVALID', message: 'give the digest of the whole state as 32 hex digits' });
  if (request.changed.length > backendsMax) problems.push({ path: 'changed', code: 'TOO_MANY_BACKENDS', message: `a cluster may have ${backendsMax} backends; this names ${request.changed.length}` });
  if (request.removed.length > backendsMax) problems.push({ path: 'removed', code: 'TOO_MANY_BACKENDS', message: `a cluster may have ${backendsMax} backends; this removes ${request.removed.length}` });
  if (request.full && request.removed.length > 0) problems.push({ path: 'removed', code: 'REMOVED_IN_FULL', message: 'a full report names what there is; leave `removed` empty' });
  if (!isShortText(request.spokeVersion) || !isShortText(request.appliedEpoch)) problems.push({ path: 'spokeVersion', code: 'TEXT_INVALID', message: 'versions and epochs are at most 100 printable ASCII characters' });
  return problems;
}
