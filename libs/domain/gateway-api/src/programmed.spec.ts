import { describe, expect, it } from '@jest/globals';

import { EVIDENCE_TTL_MS, LAG_GRACE_MS, programmedConditions, type Condition, type NodeEvidence, type ProgrammedEvidence } from './index.js';

const NOW_MS = 1_000_000;
const aNode = (node: string, over: Partial<NodeEvidence> = {}): NodeEvidence => ({ node, hasAcknowledged: true, lastSeenAtMs: NOW_MS, joinedAtMs: 0, refusal: undefined, ...over });
const lagging = (node: string, over: Partial<NodeEvidence> = {}): NodeEvidence => aNode(node, { hasAcknowledged: false, ...over });
const evidence = (nodes: readonly NodeEvidence[], ageMs = LAG_GRACE_MS + 1): ProgrammedEvidence => ({ wantedSinceMs: NOW_MS - ageMs, nodes });
const programmedBefore: Condition = { type: 'Programmed', status: 'True', reason: 'Programmed', message: 'before', observedGeneration: 3, lastTransitionTime: '2026-01-01T00:00:00Z' };

/** Generation 4 is wanted. */
function judge(given: ProgrammedEvidence | undefined, present?: Condition): string {
  const { programmed, partiallyProgrammed } = programmedConditions({ evidence: given, present, generation: 4, nowMs: NOW_MS });
  const text = `${programmed.status} of generation ${programmed.observedGeneration}`;
  return partiallyProgrammed === undefined ? text : `${text}, partially of ${partiallyProgrammed.observedGeneration}`;
}

describe('Programmed for the first time', () => {
  it.each([
    { name: 'not before anything was served', given: undefined, want: 'False of generation 4' },
    { name: 'not where no node runs the agent', given: evidence([]), want: 'False of generation 4' },
    { name: 'not where no node has acknowledged', given: evidence([lagging('a'), lagging('b')]), want: 'False of generation 4' },
    { name: 'once every node has acknowledged', given: evidence([aNode('a'), aNode('b')], 0), want: 'True of generation 4' },
    { name: 'not while one of them lags, and that is said', given: evidence([aNode('a'), lagging('b')]), want: 'False of generation 4, partially of 4' },
    { name: 'a rollout of milliseconds is not worth a condition', given: evidence([aNode('a'), lagging('b')], LAG_GRACE_MS), want: 'False of generation 4' },
    { name: 'a refusal is said at once', given: evidence([aNode('a'), lagging('b', { refusal: 'No space left' })], 0), want: 'False of generation 4, partially of 4' },
    { name: 'a node that joins before all have acknowledged counts, too', given: evidence([aNode('a'), lagging('b', { joinedAtMs: NOW_MS })]), want: 'False of generation 4, partially of 4' },
  ])('$name', ({ given, want }) => {
    expect(judge(given)).toBe(want);
  });
});

describe('Programmed already', () => {
  it.each([
    { name: 'stays while all nodes hold it', given: evidence([aNode('a')], 3_600_000), want: 'True of generation 4' },
    { name: 'is not revoked by a node that joins later', given: evidence([aNode('a'), lagging('b', { joinedAtMs: NOW_MS })], 60_000), want: 'True of generation 4' },
    { name: 'speaks of the old generation until the new one has arrived', given: evidence([lagging('a'), lagging('b')], 100), want: 'True of generation 3' },
    { name: 'speaks of the old generation while one node lags, and that is said', given: evidence([aNode('a'), lagging('b')], 60_000), want: 'True of generation 3, partially of 4' },
    { name: 'lapses where no node has taken the new generation for 30 s', given: evidence([lagging('a')], EVIDENCE_TTL_MS + 1), want: 'False of generation 4' },
    { name: 'survives 30 s of a controller that is new and knows no node', given: evidence([], EVIDENCE_TTL_MS), want: 'True of generation 3' },
    { name: 'lapses where no node has shown up after that', given: evidence([], EVIDENCE_TTL_MS + 1), want: 'False of generation 4' },
    { name: 'outlives a broken stream for 30 s', given: evidence([aNode('a', { lastSeenAtMs: NOW_MS - EVIDENCE_TTL_MS })], 3_600_000), want: 'True of generation 4' },
    { name: 'lapses when all streams have been broken for longer', given: evidence([aNode('a', { lastSeenAtMs: NOW_MS - EVIDENCE_TTL_MS - 1 })], 3_600_000), want: 'False of generation 4' },
    { name: 'stays where one of two streams is broken', given: evidence([aNode('a', { lastSeenAtMs: 0 }), aNode('b')], 3_600_000), want: 'True of generation 4' },
  ])('$name', ({ given, want }) => {
    expect(judge(given, programmedBefore)).toBe(want);
  });

  it('a False before is no True to keep', () => {
    expect(judge(evidence([lagging('a')], 100), { ...programmedBefore, status: 'False' })).toBe('False of generation 4');
  });
});

describe('the sentence says what is missing', () => {
  const messageOf = (given: ProgrammedEvidence): string => programmedConditions({ evidence: given, present: undefined, generation: 4, nowMs: NOW_MS }).programmed.message;

  it.each([
    { name: 'no agent', given: evidence([]), want: 'No Ready node runs the node agent.' },
    { name: 'no word', given: evidence([lagging('a')]), want: 'No node has acknowledged this yet.' },
    { name: 'a refusal', given: evidence([lagging('a', { refusal: 'Invalid argument' })]), want: 'No node has taken this over; node a refused it: Invalid argument' },
    { name: 'silence', given: evidence([aNode('a', { lastSeenAtMs: 0 })]), want: 'The nodes that had acknowledged this have not been heard of for 30 s.' },
    { name: 'who lags, in order, the first five by name', given: evidence([aNode('z'), ...['f', 'e', 'd', 'c', 'b', 'a'].map((node) => lagging(node))]), want: '1 of 7 nodes have acknowledged; waiting for a, b, c, d, e and 1 more.' },
  ])('$name', ({ given, want }) => {
    expect(messageOf(given)).toBe(want);
  });
});
