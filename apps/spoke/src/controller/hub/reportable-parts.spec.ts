import { describe, expect, it } from '@jest/globals';

import { SPOKE_API_LIMITS } from '#contracts/spoke-api';
import { backendName, type Endpoint, type MemberBackend } from '#domain/fleet';

import { PartsFitter } from './reportable-parts.js';

const endpoint = (address: string, ready = true): Endpoint => ({ address, targetPorts: [8080], ready, serving: ready, terminating: false, zone: '', node: 'n1' });
const part = (name: string, over: Partial<MemberBackend> = {}): MemberBackend => ({
  name: backendName('ai', name),
  trafficClass: 'endpoints',
  sessionAffinity: 'None',
  ports: [{ port: 80, protocol: 'TCP' }],
  endpoints: [endpoint('10.1.0.1')],
  capacity: { unit: 'Requests', perEndpoint: 1 },
  ...over,
});
const addressOf = (n: number): string => `10.1.${n >> 8}.${n & 255}`;
const fit = (parts: readonly MemberBackend[]) => new PartsFitter().fit(parts);

describe('PartsFitter', () => {
  it('leaves parts as they are, as the same objects, where the hub takes them', () => {
    const parts = [part('a'), part('b')];
    const { backends, problems } = fit(parts);
    expect(problems).toEqual([]);
    expect(backends.every((backend, at) => backend === parts[at])).toBe(true);
  });

  it('offers the ready endpoints of a part that has too many', () => {
    const { endpointsPerBackendMax } = SPOKE_API_LIMITS;
    const endpoints = Array.from({ length: endpointsPerBackendMax + 3 }, (_, n) => endpoint(addressOf(n), n >= 3));
    const { backends, problems } = fit([part('big', { endpoints })]);
    expect(backends[0]?.endpoints).toHaveLength(endpointsPerBackendMax);
    expect(backends[0]?.endpoints.every(({ ready }) => ready)).toBe(true);
    expect(problems.map(({ code }) => code)).toEqual(['TOO_MANY_ENDPOINTS']);
  });

  it('leaves out an endpoint that no other cluster may be sent to', () => {
    const { backends, problems } = fit([part('a', { endpoints: [endpoint('10.1.0.1'), endpoint('127.0.0.1')] })]);
    expect(backends[0]?.endpoints.map(({ address }) => address)).toEqual(['10.1.0.1']);
    expect(problems.map(({ path, code }) => `${path} ${code}`)).toEqual(['ai/a.endpoints[1].address ADDRESS_INVALID']);
  });

  it('leaves out a part that cannot be reported, and no other', () => {
    const ports = [{ port: 80, protocol: 'TCP' }, { port: 80, protocol: 'TCP' }] as const;
    const { backends, problems } = fit([part('bad', { ports, endpoints: [] }), part('huge', { capacity: { unit: 'Tokens', perEndpoint: 1e300 } }), part('good')]);
    expect(backends.map(({ name }) => name)).toEqual(['ai/good']);
    expect(problems.map(({ code }) => code)).toEqual(['PORT_REPEATED', 'CAPACITY_INVALID']);
  });

  it('offers as many parts as a cluster may have', () => {
    const { backendsMax } = SPOKE_API_LIMITS;
    const parts = Array.from({ length: backendsMax + 2 }, (_, n) => part(`b${String(n).padStart(5, '0')}`));
    const { backends, problems } = fit(parts);
    expect(backends).toEqual(parts.slice(0, backendsMax));
    expect(problems.map(({ path, code }) => `${path} ${code}`)).toEqual([`ai/b0${backendsMax} TOO_MANY_BACKENDS`]);
  });
});
