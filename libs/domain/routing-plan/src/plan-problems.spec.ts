import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { clusterId } from '#domain/fleet';
import { routingPlanArbitrary } from '#testing';

import { planProblems, type PlannedBackendId, type RoutingPlan } from './index.js';

const ID = 'selector:ai/model/8080/TCP' as PlannedBackendId;
type Writable<T> = T extends string ? T : T extends readonly (infer U)[] ? Writable<U>[] : T extends object ? { -readonly [K in keyof T]: Writable<T[K]> } : T;

const goodPlan = (): Writable<RoutingPlan> => ({
  frontends: [{ kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name: 'model', addresses: ['172.30.1.1'], dnsNames: [], listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: ID, weight: 1 }], rejectWeight: 0 }] }],
  backends: [
    { id: ID, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers: [{ clusterId: clusterId('east-1'), locality: { region: '', zone: '' }, path: 'direct', shareBp: 10_000, endpoints: [{ address: '10.1.0.1', port: 8080, state: 'ready', zone: '', node: '', hostname: '' }] }] },
  ],
  gatewayPorts: [],
});

describe('a plan that must not be served', () => {
  it.each<{ readonly name: string; readonly spoil: (plan: Writable<RoutingPlan>) => void; readonly want: string[] }>([
    { name: 'nothing is wrong with a good one', spoil: () => undefined, want: [] },
    { name: 'shares that do not sum to 10,000', spoil: (plan) => (plan.backends[0]!.providers[0]!.shareBp = 9_999), want: ['PLAN_SHARES_INCOMPLETE'] },
    { name: 'shares that are all 0 are fine', spoil: (plan) => (plan.backends[0]!.providers[0]!.shareBp = 0), want: [] },
    { name: 'a share that is no whole number', spoil: (plan) => (plan.backends[0]!.providers[0]!.shareBp = 0.5), want: ['PLAN_SHARE_INVALID', 'PLAN_SHARES_INCOMPLETE'] },
    { name: 'a weight of 0', spoil: (plan) => (plan.frontends[0]!.listeners[0]!.uses[0]!.weight = 0), want: ['PLAN_WEIGHT_INVALID'] },
    { name: 'a listener that leads neither anywhere nor to rejection', spoil: (plan) => (plan.frontends[0]!.listeners[0]!.uses = []), want: ['PLAN_LISTENER_IDLE'] },
    { name: 'a backend that is not in the plan', spoil: (plan) => (plan.backends = []), want: ['PLAN_BACKEND_UNKNOWN'] },
    { name: 'a backend twice', spoil: (plan) => plan.backends.push(plan.backends[0]!), want: ['PLAN_BACKEND_REPEATED'] },
    { name: 'a provider twice', spoil: (plan) => plan.backends[0]!.providers.push({ ...plan.backends[0]!.providers[0]!, shareBp: 0, endpoints: [] }), want: ['PLAN_PROVIDER_REPEATED'] },
    { name: 'an endpoint in two clusters', spoil: (plan) => plan.backends[0]!.providers.push({ ...plan.backends[0]!.providers[0]!, clusterId: clusterId('other'), shareBp: 0 }), want: ['PLAN_ENDPOINT_REPEATED'] },
    { name: 'an endpoint twice', spoil: (plan) => plan.backends[0]!.providers[0]!.endpoints.push(plan.backends[0]!.providers[0]!.endpoints[0]!), want: ['PLAN_ENDPOINT_REPEATED'] },
    { name: 'a frontend and its address twice', spoil: (plan) => plan.frontends.push(plan.frontends[0]!), want: ['PLAN_FRONTEND_REPEATED', 'PLAN_ADDRESS_REPEATED'] },
    { name: 'one address at two frontends', spoil: (plan) => plan.frontends.push({ ...plan.frontends[0]!, name: 'other' }), want: ['PLAN_ADDRESS_REPEATED'] },
    { name: 'two listeners on one port', spoil: (plan) => plan.frontends[0]!.listeners.push({ ...plan.frontends[0]!.listeners[0]!, name: 'b' }), want: ['PLAN_PORT_REPEATED'] },
    { name: 'an address that is none', spoil: (plan) => (plan.frontends[0]!.addresses = ['172.30.1']), want: ['PLAN_ADDRESS_MALFORMED'] },
    { name: 'an endpoint without an address', spoil: (plan) => (plan.backends[0]!.providers[0]!.endpoints[0]!.address = ''), want: ['PLAN_ADDRESS_MALFORMED'] },
    { name: 'an endpoint on port 0', spoil: (plan) => (plan.backends[0]!.providers[0]!.endpoints[0]!.port = 0), want: ['PLAN_PORT_INVALID'] },
  ])('$name', ({ spoil, want }) => {
    const plan = goodPlan();
    spoil(plan);
    expect(planProblems(plan).map(({ code }) => code)).toEqual(want);
  });

  it('no plan of the shape that builders make is refused for its backends', () => {
    fc.assert(fc.property(routingPlanArbitrary, ({ backends }) => expect(planProblems({ frontends: [], backends, gatewayPorts: [] })).toEqual([])));
  });
});
