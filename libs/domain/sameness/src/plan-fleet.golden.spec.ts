import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { clusterId, type ClusterSelector, type Endpoint, type FleetView, type ImportSet, type Protocol, type WorkUnit } from '#domain/fleet';
import { aFleetView, aMember, aPart, aPolicy, clustersNamed, EVERY_CLUSTER, goldenCases, goldenText, orphanGoldens, testdata } from '#testing';

import { planFleet } from './plan-fleet.js';

interface GoldenCase {
  readonly members: readonly { readonly id: string; readonly region: string; readonly zone: string; readonly network: string }[];
  readonly policies: readonly { readonly name: string; readonly namespaces: string[]; readonly mayExport: string; readonly mayImport: string }[];
  readonly parts: readonly {
    readonly cluster: string;
    readonly firstSeen: number;
    readonly ports: readonly string[];
    readonly ready: readonly string[];
    readonly ending?: readonly string[];
    readonly unit: WorkUnit;
    readonly perEndpoint: number;
    readonly affinity?: 'ClientIP';
  }[];
}

const folder = testdata(import.meta.dirname);

describe('planFleet goldens', () => {
  it.each(goldenCases(folder))('%s tells every cluster what the golden says', (name) => {
    const input = JSON.parse(readFileSync(join(folder, `${name}.in.json`), 'utf8')) as GoldenCase;
    const view = toView(input);
    const got = input.members.map(({ id }) => `== ${id} sees\n${renderImports(planFleet(view, clusterId(id)))}`).join('');
    expect(got).toBe(goldenText(join(folder, `${name}.out.txt`), got));
  });

  it('has an input for every output', () => {
    expect(orphanGoldens(folder)).toEqual([]);
  });
});

function toView({ members, policies, parts }: GoldenCase): FleetView {
  return aFleetView(
    members.map(({ id, region, zone, network }) => aMember(id, { locality: { region, zone }, network })),
    parts.map(({ cluster, firstSeen, ports, ready, ending = [], unit, perEndpoint, affinity }) =>
      aPart(cluster, firstSeen, 0, {
        ports: ports.map((text) => ({ port: Number(text.split('/')[0]), protocol: text.split('/')[1] as Protocol })),
        endpoints: [...ready.map((address) => toEndpoint(address, true, ports.length)), ...ending.map((address) => toEndpoint(address, false, ports.length))],
        capacity: { unit, perEndpoint },
        sessionAffinity: affinity ?? 'None',
      }),
    ),
    { policies: policies.map((policy) => aPolicy({ ...policy, mayExport: toSelector(policy.mayExport), mayImport: toSelector(policy.mayImport) })) },
  );
}

const toSelector = (text: string): ClusterSelector => (text === '*' ? EVERY_CLUSTER : clustersNamed(...text.split(' ')));
const toEndpoint = (address: string, ready: boolean, ports: number): Endpoint => ({ address, targetPorts: Array.from({ length: ports }, () => 8080), ready, serving: true, terminating: !ready, zone: 'a', node: 'n1' });

function renderImports({ backends }: ImportSet): string {
  const lines = backends.flatMap((backend) => [
    `${backend.name} ${backend.trafficClass} affinity ${backend.sessionAffinity}, ${backend.servingCount} of ${backend.memberCount} members serving`,
    ...backend.providers.map(({ clusterId: id, path, readyAssumed, endpoints }) => `  provider ${id} ${path} ready ${readyAssumed} told ${endpoints.map((end) => `${end.address}${end.ready ? '' : ' (ending)'}`).join(', ') || '-'}`),
    ...backend.ports.map(({ port, shares }) => `  port ${port.port}/${port.protocol} ${shares.map((share) => `${share.clusterId} ${share.shareBp}`).join(', ') || '-'}`),
    ...backend.conflicts.map(({ field, winner, losers, message }) => `  conflict ${field}: ${winner} over ${losers.join(', ')}. ${message}`),
    ...backend.refusals.map((refusal) => `  refused: ${refusal}`),
  ]);
  return lines.map((line) => `${line}\n`).join('');
}
