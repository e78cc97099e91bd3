import { describe, expect, it } from '@jest/globals';

import type { SamenessPolicy } from '#domain/fleet';
import { aMember, aPolicy, clustersNamed, EVERY_CLUSTER } from '#testing';

import { isSame, coveringPolicies, judgeSameness } from './judge-sameness.js';

const east = aMember('east', { labels: { tier: 'gold', env: 'prod' } }).cluster;
const west = aMember('west', { labels: { tier: 'gold' } }).cluster;
const labelled = (matchLabels: Record<string, string>) => ({ all: false, names: [], matchLabels });

describe('judgeSameness', () => {
  it.each<{ readonly says: string; readonly policies: readonly SamenessPolicy[]; readonly namespace?: string; readonly want: readonly [boolean, boolean] }>([
    { says: 'nothing is the same before a policy says so', policies: [], want: [false, false] },
    { says: 'a policy covers the namespace it names', policies: [aPolicy()], want: [true, true] },
    { says: 'a policy for another namespace covers nothing here', policies: [aPolicy({ namespaces: ['web'] })], want: [false, false] },
    { says: 'a name is no prefix', policies: [aPolicy({ namespaces: ['a'] })], want: [false, false] },
    { says: 'a prefix covers what starts with it', policies: [aPolicy({ namespaces: ['ai-*'] })], namespace: 'ai-chat', want: [true, true] },
    { says: 'a prefix does not cover what is shorter than it', policies: [aPolicy({ namespaces: ['ai-*'] })], namespace: 'ai', want: [false, false] },
    { says: 'a lone star covers every namespace', policies: [aPolicy({ namespaces: ['*'] })], want: [true, true] },
    { says: 'a cluster is selected by name', policies: [aPolicy({ mayExport: clustersNamed('east'), mayImport: clustersNamed('west') })], want: [true, false] },
    { says: 'a cluster is selected when it has all of the labels', policies: [aPolicy({ mayExport: labelled({ tier: 'gold', env: 'prod' }), mayImport: labelled({ tier: 'gold', env: 'test' }) })], want: [true, false] },
    { says: 'a selector that is empty selects no cluster', policies: [aPolicy({ mayExport: labelled({}), mayImport: EVERY_CLUSTER })], want: [false, true] },
    { says: 'two policies together allow what either allows', policies: [aPolicy({ mayImport: clustersNamed('west') }), aPolicy({ name: 'more', mayExport: clustersNamed('west') })], want: [true, true] },
  ])('$says', ({ policies, namespace = 'ai', want }) => {
    const { mayExport, mayImport } = judgeSameness(policies, namespace, east);
    expect([mayExport, mayImport]).toEqual(want);
  });

  it('says that no policy covers the namespace', () => {
    expect(judgeSameness([], 'ai', east).refusals).toEqual(['No sameness policy covers namespace "ai", so it means this cluster\'s own namespace only; name it in a policy to share it.']);
  });

  it('names the policy that refuses, and what to change', () => {
    expect(judgeSameness([aPolicy({ mayExport: clustersNamed('west') })], 'ai', east).refusals).toEqual([
      'Sameness policy "shared-ai" covers namespace "ai" but does not let cluster "east" export it; add the cluster to its mayExport to allow it.',
    ]);
  });

  it('names every policy that refuses, sorted', () => {
    const policies = [aPolicy({ name: 'z', mayImport: clustersNamed('west') }), aPolicy({ name: 'a', mayImport: clustersNamed('north') })];
    expect(judgeSameness(policies, 'ai', east).refusals).toEqual([
      'Sameness policies "a", "z" cover namespace "ai" but do not let cluster "east" import it; add the cluster to their mayImport to allow it.',
    ]);
  });
});

describe('isSame', () => {
  it('needs one policy that allows both ends, not one for each', () => {
    const policies = [aPolicy({ name: 'one', mayExport: clustersNamed('east'), mayImport: clustersNamed('north') }), aPolicy({ name: 'two', mayExport: clustersNamed('south'), mayImport: clustersNamed('west') })];
    expect(isSame(coveringPolicies(policies, 'ai'), east, west)).toBe(false);
    expect(isSame(coveringPolicies([...policies, aPolicy()], 'ai'), east, west)).toBe(true);
  });
});
