import { describe, expect, it } from '@jest/globals';

import type { SamenessPolicy } from '#domain/fleet';
import { aPolicy, clustersNamed } from '#testing';

import { POLICY_LIST_MAX, policyProblems } from './policy-problems.js';

const labels = (matchLabels: Record<string, string>) => ({ all: false, names: [], matchLabels });
const many = Array.from({ length: POLICY_LIST_MAX + 1 }, (_, index) => `n${index}`);

describe('policyProblems', () => {
  it.each<{ readonly says: string; readonly policy: Partial<SamenessPolicy>; readonly want: readonly string[] }>([
    { says: 'a policy with a name, a namespace and two selectors is fine', policy: {}, want: [] },
    { says: 'prefixes and the lone star are fine', policy: { namespaces: ['ai-*', '*', 'web*'] }, want: [] },
    { says: 'labels with a prefix and an empty value are fine', policy: { mayExport: labels({ 'topology.kubernetes.io/region': '', tier: 'Gold_1' }) }, want: [] },
    { says: 'a name must be a label', policy: { name: 'Shared AI' }, want: ['name POLICY_NAME_INVALID'] },
    { says: 'a policy must cover a namespace', policy: { namespaces: [] }, want: ['namespaces POLICY_NAMESPACES_EMPTY'] },
    { says: 'a star stands at the end only', policy: { namespaces: ['*-ai', 'a*b', '**', 'UPPER', '-x*'] }, want: [0, 1, 2, 3, 4].map((index) => `namespaces[${index}] POLICY_NAMESPACE_INVALID`) },
    { says: 'a namespace listed twice is a mistake', policy: { namespaces: ['ai', 'web', 'ai'] }, want: ['namespaces[2] POLICY_NAMESPACE_TWICE'] },
    { says: 'a list has an end', policy: { namespaces: many, mayExport: clustersNamed(...many) }, want: ['namespaces POLICY_LIST_TOO_LONG', 'mayExport.names POLICY_LIST_TOO_LONG'] },
    { says: 'a selector that selects nobody is a mistake', policy: { mayImport: clustersNamed() }, want: ['mayImport POLICY_SELECTOR_EMPTY'] },
    { says: 'all and a list contradict each other', policy: { mayExport: { all: true, names: ['east'], matchLabels: {} } }, want: ['mayExport POLICY_SELECTOR_AMBIGUOUS'] },
    { says: 'cluster names are labels, each once', policy: { mayExport: clustersNamed('East', 'west', 'west') }, want: ['mayExport.names[0] POLICY_CLUSTER_NAME_INVALID', 'mayExport.names[2] POLICY_CLUSTER_NAME_TWICE'] },
    { says: 'label keys and values follow Kubernetes', policy: { mayExport: labels({ 'a/b/c': 'x', ok: 'no space' }) }, want: ['mayExport.matchLabels.a/b/c LABEL_KEY_INVALID', 'mayExport.matchLabels.ok LABEL_VALUE_INVALID'] },
    { says: 'the owner has a longest length', policy: { owner: 'x'.repeat(254) }, want: ['owner POLICY_OWNER_TOO_LONG'] },
    { says: 'all problems are told at once, in order', policy: { name: '', namespaces: [], mayExport: clustersNamed() }, want: ['name POLICY_NAME_INVALID', 'namespaces POLICY_NAMESPACES_EMPTY', 'mayExport POLICY_SELECTOR_EMPTY'] },
  ])('$says', ({ policy, want }) => {
    expect(policyProblems(aPolicy(policy)).map(({ path, code }) => `${path} ${code}`)).toEqual(want);
  });
});
