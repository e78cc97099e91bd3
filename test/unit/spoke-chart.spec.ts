import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';

import { goldenText } from '#testing';

import { buildGatewayClass, buildMemberManifests } from '../../apps/worker/src/member-manifests/index.js';

/**
 * The chart's template is printed from the same builder that the worker installs with, so the two ways into a cluster cannot
 * drift apart. The namespace is Helm's to create.
 */
describe('the spoke chart', () => {
  it('installs exactly what the worker installs', () => {
    const settings = { image: '{{ .Values.image }}', dnsReplicas: 1_000_001, clusterDomain: '{{ .Values.clusterDomain }}', logLevel: '{{ .Values.logLevel }}' };
    const objects = [...buildMemberManifests(settings), buildGatewayClass()].map(({ object }) => object).filter(({ kind }) => kind !== 'Namespace');
    const text = objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
    const template = `{{- /* Printed by npm run golden from apps/worker/src/member-manifests; edit that. */}}\n${text.replace('1000001', '{{ .Values.dnsReplicas }}')}`;
    expect(template).toBe(goldenText('helm/spoke/templates/spoke.yaml', template));
  });
});
