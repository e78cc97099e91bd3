import { fromBinary } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from '@jest/globals';

import { CLUSTER_TYPE_URL, encodeCluster, encodeListener, encodeLoadAssignment, LISTENER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL, type SotwRequest } from '#contracts/envoy';

import { ResourceTable } from './resource-table.js';
import { SotwStream } from './sotw-stream.js';
import { snapshotOfNames } from './xds-testing.fixture.js';

const TYPE_WORDS: Readonly<Record<string, string>> = { [CLUSTER_TYPE_URL]: 'CDS', [LOAD_ASSIGNMENT_TYPE_URL]: 'EDS', [LISTENER_TYPE_URL]: 'LDS' };

/** A stream whose responses are kept as texts: `CDS 1: a@1 b@1`. */
function open(limits = { namesMax: 10, responseBytesMax: 1_000_000 }) {
  const tables = { listeners: new ResourceTable(), clusters: new ResourceTable(), loadAssignments: new ResourceTable(), isReady: false };
  const said: string[] = [];
  const drains: (() => void)[] = [];
  let canTakeMore = true;
  const write = (bytes: Uint8Array): boolean => {
    said.push(describeResponse(bytes, tables));
    return canTakeMore;
  };
  const stream = new SotwStream(tables, limits, { write, onDrain: (callback) => drains.push(callback), onTooFarBehind: () => said.push('too far behind') });
  let revision = 0;
  const set = (clusters: readonly string[], assignments: readonly string[] = clusters, listeners: readonly string[] = []): void => {
    revision += 1;
    const snapshot = snapshotOfNames(clusters, assignments);
    tables.clusters.replace(snapshot.clusters, revision, encodeCluster);
    tables.loadAssignments.replace(snapshot.loadAssignments, revision, encodeLoadAssignment);
    tables.listeners.replace(listeners.map((text) => ({ name: text.split('@')[0] ?? '', version: text.split('@')[1] ?? '', clusters: [{ name: 'a', weight: 1 }] })), revision, encodeListener);
    tables.isReady = true;
    stream.flush();
  };
  const ask = (typeUrl: string, names: readonly string[], over: Partial<SotwRequest> = {}) => stream.receive({ typeUrl, nodeId: '', names, responseNonce: '', errorMessage: undefined, ...over });
  const taken = (): string[] => said.splice(0);
  const block = (): void => void (canTakeMore = false);
  const drain = (): void => {
    canTakeMore = true;
    for (const callback of drains.splice(0)) callback();
  };
  return { stream, set, ask, taken, block, drain };
}

function describeResponse(bytes: Uint8Array, tables: Readonly<Record<'listeners' | 'clusters' | 'loadAssignments', ResourceTable>>): string {
  const fields = readFields(bytes);
  const typeUrl = fields.texts.get(4) ?? '';
  const table = typeUrl === CLUSTER_TYPE_URL ? tables.clusters : typeUrl === LISTENER_TYPE_URL ? tables.listeners : tables.loadAssignments;
  const resources = fields.resources.map((content) => {
    expect(fromBinary(AnySchema, content).typeUrl).toBe(typeUrl);
    const found = table.all().find((resource) => Buffer.compare(resource.content, content) === 0);
    return `${found?.name}@${found?.version}`;
  });
  return `${TYPE_WORDS[typeUrl]} ${fields.texts.get(5)}: ${resources.join(' ')}`.trim();
}

// Fields of a DiscoveryResponse by number, all length-delimited.
function readFields(bytes: Uint8Array): { readonly texts: ReadonlyMap<number, string>; readonly resources: readonly Uint8Array[] } {
  const texts = new Map<number, string>();
  const resources: Uint8Array[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const field = varint() >> 3;
    const length = varint();
    const value = bytes.subarray(at, at + length);
    at += length;
    if (field === 2) resources.push(value);
    else texts.set(field, Buffer.from(value).toString());
  }
  return { texts, resources };
}

describe('a state-of-the-world stream', () => {
  it('says nothing before the first snapshot, and then what was asked for', () => {
    const { ask, set, taken } = open();
    ask(CLUSTER_TYPE_URL, ['a', 'b']);
    expect(taken()).toEqual([]);
    set(['a@1', 'b@1', 'c@1']);
    expect(taken()).toEqual(['CDS 1: a@1 b@1']);
  });

  it('an ACK that asks for the same is not answered; one that asks for more is, with everything', () => {
    const { ask, set, taken } = open();
    set(['a@1', 'b@1']);
    ask(CLUSTER_TYPE_URL, ['a']);
    expect(taken()).toEqual(['CDS 1: a@1']);
    expect(ask(CLUSTER_TYPE_URL, ['a'], { responseNonce: '1' })).toBe('ack');
    expect(taken()).toEqual([]);
    ask(CLUSTER_TYPE_URL, ['a', 'b'], { responseNonce: '1' });
    expect(taken()).toEqual(['CDS 2: a@1 b@1']);
  });

  it('tells of clusters all that there is whenever one changes, and of load assignments what changed', () => {
    const { ask, set, taken } = open();
    set(['a@1', 'b@1']);
    ask(CLUSTER_TYPE_URL, ['a', 'b']);
    ask(LOAD_ASSIGNMENT_TYPE_URL, ['a', 'b']);
    expect(taken()).toEqual(['CDS 1: a@1 b@1', 'EDS 2: a@1 b@1']);
    ask(CLUSTER_TYPE_URL, ['a', 'b'], { responseNonce: '1' });
    ask(LOAD_ASSIGNMENT_TYPE_URL, ['a', 'b'], { responseNonce: '2' });
    set(['a@2', 'b@1'], ['a@1', 'b@2']);
    expect(taken()).toEqual(['CDS 3: a@2 b@1', 'EDS 4: b@2']);
  });

  it('a cluster that went is left out of the next response; nothing is said where nothing that was asked for changed', () => {
    const { ask, set, taken } = open();
    set(['a@1', 'b@1', 'c@1']);
    ask(CLUSTER_TYPE_URL, ['a', 'b']);
    ask(CLUSTER_TYPE_URL, ['a', 'b'], { responseNonce: '1' });
    taken();
    set(['a@1', 'b@1', 'c@2']);
    expect(taken()).toEqual([]);
    set(['a@1']);
    expect(taken()).toEqual(['CDS 2: a@1']);
  });

  it('at most one response of a type is unanswered; what changed meanwhile comes in sum', () => {
    const { stream, ask, set, taken } = open();
    set(['a@1']);
    ask(CLUSTER_TYPE_URL, ['a']);
    set(['a@2']);
    set(['a@3']);
    expect(taken()).toEqual(['CDS 1: a@1']);
    expect(stream.isAwaitingAnswer).toBe(true);
    ask(CLUSTER_TYPE_URL, ['a'], { responseNonce: '1' });
    expect(taken()).toEqual(['CDS 2: a@3']);
  });

  it('a NACK is not answered with the same again; a stale nonce is void', () => {
    const { ask, set, taken } = open();
    set(['a@1', 'b@1']);
    ask(CLUSTER_TYPE_URL, ['a']);
    expect(ask(CLUSTER_TYPE_URL, ['a'], { responseNonce: '1', errorMessage: 'no' })).toBe('nack');
    expect(ask(CLUSTER_TYPE_URL, ['b'], { responseNonce: '0' })).toBe('stale');
    expect(taken()).toEqual(['CDS 1: a@1']);
    set(['a@2', 'b@1']);
    expect(taken()).toEqual(['CDS 2: a@2']);
  });

  it('no names at all mean everything, until some were given', () => {
    const { ask, set, taken } = open();
    set(['a@1', 'b@1']);
    ask(CLUSTER_TYPE_URL, []);
    ask(CLUSTER_TYPE_URL, ['b'], { responseNonce: '1' });
    ask(CLUSTER_TYPE_URL, [], { responseNonce: '2' });
    expect(taken()).toEqual(['CDS 1: a@1 b@1', 'CDS 2: b@1', 'CDS 3:']);
  });

  it('clusters and endpoints come before the listeners that lead to them', () => {
    const { ask, set, taken } = open();
    for (const typeUrl of [LISTENER_TYPE_URL, CLUSTER_TYPE_URL, LOAD_ASSIGNMENT_TYPE_URL]) ask(typeUrl, ['a']);
    set(['a@1'], ['a@1'], ['a@1']);
    expect(taken()).toEqual(['CDS 1: a@1', 'EDS 2: a@1', 'LDS 3: a@1']);
  });

  it('writes nothing to a peer that does not read, and goes on when it does', () => {
    const { ask, set, taken, block, drain } = open();
    set(['a@1']);
    block();
    ask(CLUSTER_TYPE_URL, ['a']);
    ask(LOAD_ASSIGNMENT_TYPE_URL, ['a']);
    expect(taken()).toEqual(['CDS 1: a@1']);
    drain();
    expect(taken()).toEqual(['EDS 2: a@1']);
  });

  it('too many names end the stream, and an unknown type is said to be one', () => {
    const { ask } = open({ namesMax: 2, responseBytesMax: 1 });
    expect(ask(CLUSTER_TYPE_URL, ['a', 'b', 'c'])).toBe('excess');
    expect(ask('type.googleapis.com/other', [])).toBe('unknown-type');
  });
});
