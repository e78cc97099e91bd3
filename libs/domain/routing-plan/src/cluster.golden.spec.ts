import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';

import { planAddresses, type AddressAssignment } from '#domain/addresses';
import { clusterId, type GatewayIntake, type ImportSet, type MemberBackend } from '#domain/fleet';
import { acceptedFrontends, decideGateways, fleetPorts, planStatuses, type Condition, type GatewayDecisions, type ProgrammedEvidence, type StatusWrite } from '#domain/gateway-api';
import { clusterObjects, goldenCases, goldenText, orphanGoldens, testdata, type ClusterObjects } from '#testing';

import { buildRoutingPlan, frontendKey, memberBackends, planProblems, type RoutingPlan } from './index.js';

const folder = testdata(import.meta.dirname);
const NOW_MS = Date.parse('2026-11-30T10:00:00Z');
const NODE_WORD: ProgrammedEvidence = {
  wantedSinceMs: NOW_MS - 1_000,
  nodes: [{ node: 'n1', hasAcknowledged: true, lastSeenAtMs: NOW_MS, joinedAtMs: 0, refusal: undefined }],
};

describe('a cluster\'s objects lead to exactly these statuses, offers and plan', () => {
  it.each(goldenCases(folder))('%s', (name) => {
    const cluster = clusterObjects(readFileSync(join(folder, `${name}.in.yaml`), 'utf8'));
    const got = render(cluster);
    expect(got).toBe(goldenText(join(folder, `${name}.out.yaml`), got));
  });

  it('has an input for every output', () => {
    expect(orphanGoldens(folder)).toEqual([]);
  });
});

/** Runs the whole member side as the controller does, all nodes having acknowledged. */
function render(cluster: ClusterObjects): string {
  const imports = cluster.others.get('ImportSet') as ImportSet | undefined;
  const decisions = decideGateways(cluster.gateway, fleetPorts(imports));
  const assignments = assign(decisions, cluster);
  const frontends = acceptedFrontends(decisions, assignments, 'cluster.local');
  const plan = buildRoutingPlan({ clusterId: clusterId('east-1'), locality: { region: 'east', zone: '' }, frontends, local: cluster.local, imports, intake: cluster.others.get('GatewayIntake') as GatewayIntake | undefined, unreachable: new Set() });
  expect(planProblems(plan)).toEqual([]);
  const localParts = memberBackends(cluster.local);
  const keys = (all: readonly { readonly namespace: string; readonly name: string }[]): ReadonlyMap<string, ProgrammedEvidence> => new Map(all.map(({ namespace, name }) => [`${namespace}/${name}`, NODE_WORD]));
  const statuses = planStatuses(decisions, {
    assignments,
    localParts,
    imports,
    gatewayEvidence: keys(frontends),
    compositeEvidence: keys(cluster.gateway.compositeBackends.map(({ meta }) => meta)),
    keepsRoutability: false,
    nowMs: NOW_MS,
  });
  return stringify(
    { statuses: Object.fromEntries(statuses.map((write) => [`${write.kind} ${write.namespace}/${write.name}`, renderStatus(write)])), offers: localParts.map(renderOffer), plan: renderPlan(plan) },
    { lineWidth: 0, flowCollectionPadding: false },
  );
}

/** Addresses as they are once every IPAddress that was planned has been created. */
function assign(decisions: GatewayDecisions, { serviceCidrs, ipAddresses }: ClusterObjects): ReadonlyMap<string, AddressAssignment> {
  const input = { claims: decisions.addressClaims, serviceCidrs, ipAddresses, serviceAddresses: new Map(), alsoTaken: new Set<string>(), stillProgrammed: new Set<string>(), random: () => 0 };
  const created = planAddresses(input).create.map(({ address, gateway }) => ({
    name: address,
    uid: address,
    managedBy: 'spillway.dev',
    parent: { group: 'gateway.networking.k8s.io', resource: 'gateways', ...gateway },
  }));
  return planAddresses({ ...input, ipAddresses: [...ipAddresses, ...created] }).assignments;
}

const renderConditions = (conditions: readonly Condition[]): Record<string, string> =>
  Object.fromEntries(conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}${status === 'True' && reason === type ? '' : `: ${message}`}`]));

function renderStatus({ status }: StatusWrite): unknown {
  const { conditions, addresses, listeners, parents, members } = status as {
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly value: string }[];
    readonly listeners?: readonly { readonly name: string; readonly attachedRoutes: number; readonly supportedKinds: readonly { readonly kind: string }[]; readonly conditions: readonly Condition[] }[];
    readonly parents?: readonly { readonly parentRef: { readonly name: string; readonly sectionName?: string }; readonly controllerName: string; readonly conditions: readonly Condition[] }[];
    readonly members?: { readonly total: number; readonly serving: number };
  };
  return {
    ...(addresses === undefined ? {} : { addresses: addresses.map(({ value }) => value).join(' ') }),
    ...(conditions === undefined ? {} : renderConditions(conditions)),
    ...(members === undefined ? {} : { members: `${members.serving} of ${members.total} serving` }),
    ...Object.fromEntries(
      (listeners ?? []).map((listener) => [`listener ${listener.name}`, { routes: `${listener.attachedRoutes} ${listener.supportedKinds.map(({ kind }) => kind).join(',')}`, ...renderConditions(listener.conditions) }]),
    ),
    ...Object.fromEntries((parents ?? []).map(({ parentRef, controllerName, conditions: all }) => [`${controllerName} on ${parentRef.name}${parentRef.sectionName === undefined ? '' : `#${parentRef.sectionName}`}`, renderConditions(all)])),
  };
}

const renderOffer = ({ name, ports, endpoints, capacity }: MemberBackend): string =>
  `${name} ports ${ports.map(({ port }) => port).join(',')} at ${endpoints.map(({ address, targetPorts, ready, terminating }) => `${address}:${targetPorts.join('/')}${ready ? '' : terminating ? ' ending' : ' unready'}`).join(', ') || 'nothing'}, ${capacity.perEndpoint} ${capacity.unit} each`;

const callersText = ({ callers }: RoutingPlan['frontends'][number]): readonly string[] => (callers === undefined ? [] : [`for ${callers.addresses.join(' ') || 'nobody'}`]);

function renderPlan({ frontends, backends, gatewayPorts }: RoutingPlan): unknown {
  return {
    ...Object.fromEntries(
      frontends.flatMap((frontend) =>
        frontend.listeners.map((listener) => [
          [frontendKey(frontend), ...callersText(frontend), frontend.isHeadless ? 'headless' : frontend.addresses.join(' ') || 'no address', ...frontend.dnsNames, `:${listener.port}/${listener.protocol}`].join(' '),
          [...listener.uses.map(({ backend, weight }) => `${weight} to ${backend}`), ...(listener.rejectWeight > 0 ? [`${listener.rejectWeight} refused`] : [])],
        ]),
      ),
    ),
    ...Object.fromEntries(
      backends.map(({ id, affinity, trafficDistribution, providers }) => [[id, ...(affinity === undefined ? [] : [`${affinity.scope} ${affinity.timeoutSeconds} s`]), ...(trafficDistribution === 'None' ? [] : [trafficDistribution])].join(' '), providers.map(({ clusterId: provider, shareBp, path, endpoints }) => `${shareBp} ${provider} ${path}: ${endpoints.map(({ address, port, state, hostname }) => `${address}:${port} ${state}${hostname === '' ? '' : ` ${hostname}`}`).join(', ') || 'nobody'}`)]),
    ),
    ...Object.fromEntries(gatewayPorts.map(({ port, protocol, backend, nodes, sources }) => [`gateway port ${port}/${protocol} on ${nodes.join(' ')}`, `${backend} for ${sources.join(' ')}`])),
  };
}
