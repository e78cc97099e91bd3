import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { FakeRandom } from '#testing';

import { planAddresses, type AddressClaim, type AddressInput, type AddressPlan, type IpAddress, type ServiceCidr } from './index.js';

const aClaim = (name: string, over: Partial<AddressClaim> = {}): AddressClaim => ({
  namespace: 'ai',
  name,
  createdAtMs: 1_000,
  mode: 'claim',
  wishes: [{ kind: 'dynamic' }],
  known: [],
  hasFinalizer: true,
  ...over,
});
const aCidr = (over: Partial<ServiceCidr> = {}): ServiceCidr => ({ name: 'kubernetes', cidrs: ['172.30.0.0/16'], isReady: true, isDeleting: false, hasFinalizer: true, ...over });
const ours = (address: string, gateway: string): IpAddress => ({
  name: address,
  uid: `uid-${address}`,
  managedBy: 'spillway.dev',
  parent: { group: 'gateway.networking.k8s.io', resource: 'gateways', namespace: 'ai', name: gateway },
});
const ofService = (address: string): IpAddress => ({
  name: address,
  uid: `uid-${address}`,
  managedBy: 'ipallocator.k8s.io',
  parent: { group: '', resource: 'services', namespace: 'shop', name: 'web' },
});
const anInput = (over: Partial<AddressInput> = {}): AddressInput => ({
  claims: [],
  serviceCidrs: [aCidr()],
  ipAddresses: [],
  serviceAddresses: new Map(),
  alsoTaken: new Set(),
  stillProgrammed: new Set(),
  random: () => 0,
  ...over,
});
const staticWish = (value: string): Pick<AddressClaim, 'wishes'> => ({ wishes: [{ kind: 'static', value }] });
const created = (plan: AddressPlan): string[] => plan.create.map(({ address, gateway }) => `${address} for ${gateway.name}`);
const removed = (plan: AddressPlan): string[] => plan.remove.map(({ name }) => name);
const heldBy = (plan: AddressPlan, name: string): readonly string[] | undefined => plan.assignments.get(`ai/${name}`)?.held;
const unmetOf = (plan: AddressPlan, name: string): string[] => (plan.assignments.get(`ai/${name}`)?.unmet ?? []).map(({ cause, message }) => `${cause}: ${message}`);

describe('a dynamic address', () => {
  it.each([
    { name: 'the first of a /16 lies above its 256 static ones', cidr: '172.30.0.0/16', random: 0, want: '172.30.1.1' },
    { name: 'the last of a /16 is not its broadcast address', cidr: '172.30.0.0/16', random: 0.999_999_999, want: '172.30.255.254' },
    { name: 'a /24 keeps 16 static ones', cidr: '10.96.0.0/24', random: 0, want: '10.96.0.17' },
    { name: 'a /20 keeps a sixteenth', cidr: '10.96.0.0/20', random: 0, want: '10.96.1.1' },
    { name: 'a /28 has no static band', cidr: '10.96.0.0/28', random: 0, want: '10.96.0.1' },
    { name: 'a random number chooses anywhere in the band', cidr: '172.30.0.0/16', random: 0.5, want: '172.30.128.128' },
  ])('$name', ({ cidr, random, want }) => {
    const plan = planAddresses(anInput({ claims: [aClaim('a')], serviceCidrs: [aCidr({ cidrs: [cidr] })], random: () => random }));
    expect(created(plan)).toEqual([`${want} for a`]);
    expect(unmetOf(plan, 'a')).toEqual([`pending: Address ${want} is being reserved.`]);
  });

  it('passes over addresses of anybody else, by IPAddress, by ClusterIP, and just taken', () => {
    const plan = planAddresses(
      anInput({
        claims: [aClaim('a')],
        ipAddresses: [ofService('172.30.1.1')],
        serviceAddresses: new Map([['172.30.1.2', { namespace: 'shop', name: 'old' }]]),
        alsoTaken: new Set(['172.30.1.3']),
      }),
    );
    expect(created(plan)).toEqual(['172.30.1.4 for a']);
  });

  it('comes from the static band when the dynamic band is full, and from nowhere when all is full', () => {
    const full = Array.from({ length: 13 }, (_, at) => ofService(`10.96.0.${at + 18}`));
    const small = aCidr({ cidrs: ['10.96.0.0/27'] });
    const plan = planAddresses(anInput({ claims: [aClaim('a')], serviceCidrs: [small], ipAddresses: [ofService('10.96.0.17'), ...full] }));
    expect(created(plan)).toEqual(['10.96.0.1 for a']);
    const none = planAddresses(anInput({ claims: [aClaim('a')], serviceCidrs: [small], ipAddresses: Array.from({ length: 30 }, (_, at) => ofService(`10.96.0.${at + 1}`)) }));
    expect(unmetOf(none, 'a')).toEqual(['exhausted: Every IPv4 address of the Ready ServiceCIDRs is taken; add a ServiceCIDR.']);
    expect(none.create).toEqual([]);
  });

  it.each([
    { name: 'not Ready', cidr: aCidr({ isReady: false }) },
    { name: 'being deleted', cidr: aCidr({ isDeleting: true }) },
  ])('never comes from a ServiceCIDR that is $name', ({ cidr }) => {
    expect(planAddresses(anInput({ claims: [aClaim('a')], serviceCidrs: [cidr] })).create).toEqual([]);
  });

  it('stays as long as the Gateway holds it', () => {
    const plan = planAddresses(anInput({ claims: [aClaim('a')], ipAddresses: [ours('172.30.9.9', 'a')] }));
    expect(heldBy(plan, 'a')).toEqual(['172.30.9.9']);
    expect([...plan.create, ...plan.remove]).toEqual([]);
  });

  it('is exactly one: of several, the one that callers know stays', () => {
    const plan = planAddresses(anInput({ claims: [aClaim('a', { known: ['172.30.9.9'] })], ipAddresses: [ours('172.30.8.8', 'a'), ours('172.30.9.9', 'a')] }));
    expect(heldBy(plan, 'a')).toEqual(['172.30.9.9']);
    expect(removed(plan)).toEqual(['172.30.8.8']);
  });

  it('is the same again after somebody deleted its IPAddress', () => {
    expect(created(planAddresses(anInput({ claims: [aClaim('a', { known: ['172.30.9.9'] })] })))).toEqual(['172.30.9.9 for a']);
  });

  it('is a new one after a Service has taken it', () => {
    const stolen = anInput({ claims: [aClaim('a', { known: ['172.30.9.9'] })], ipAddresses: [ofService('172.30.9.9')] });
    expect(created(planAddresses(stolen))).toEqual(['172.30.1.1 for a']);
  });

  it('counts as lost as soon as a Service holds it, even while its IPAddress is still ours', () => {
    const plan = planAddresses(
      anInput({ claims: [aClaim('a', { known: ['172.30.9.9'] })], ipAddresses: [ours('172.30.9.9', 'a')], serviceAddresses: new Map([['172.30.9.9', { namespace: 'shop', name: 'web' }]]) }),
    );
    expect(heldBy(plan, 'a')).toEqual([]);
    expect(created(plan)).toEqual(['172.30.1.1 for a']);
    expect(removed(plan)).toEqual(['172.30.9.9']);
  });

  it('is never one that another Gateway asked for by value, whoever is older', () => {
    const plan = planAddresses(anInput({ claims: [aClaim('a', { createdAtMs: 1 }), aClaim('b', { createdAtMs: 2, ...staticWish('172.30.1.1') })] }));
    expect(created(plan)).toEqual(['172.30.1.2 for a', '172.30.1.1 for b']);
  });
});

describe('addresses of both families (R2)', () => {
  const dual = aCidr({ cidrs: ['172.30.0.0/16', 'fd00:30::/112'] });
  const full = (cidr: string): IpAddress[] => Array.from({ length: 14 }, (_, at) => ofService(`${cidr}${at + 1}`));

  it.each([
    { name: 'one of each, the cluster\'s first family first', cidrs: [dual], ips: [], known: [], want: { create: ['172.30.1.1 for a', 'fd00:30::101 for a'], unmet: ['pending', 'pending'] } },
    { name: 'the first family is that of the ServiceCIDR made by the API server', cidrs: [aCidr({ cidrs: ['fd00:30::/112'] }), aCidr({ name: 'a-later-one', cidrs: ['172.30.0.0/16'] })], ips: [], known: [], want: { create: ['fd00:30::101 for a', '172.30.1.1 for a'], unmet: ['pending', 'pending'] } },
    { name: 'IPv6 alone where the service range has nothing else', cidrs: [aCidr({ cidrs: ['fd00:30::/112'] })], ips: [], known: [], want: { create: ['fd00:30::101 for a'], unmet: ['pending'] } },
    { name: 'the last address of an IPv6 range is no broadcast address', cidrs: [aCidr({ cidrs: ['fd00:30::/124'] })], ips: full('fd00:30::').map((ip, at) => ({ ...ip, name: `fd00:30::${(at + 1).toString(16)}` })), known: [], want: { create: ['fd00:30::f for a'], unmet: ['pending'] } },
    { name: 'a range of the other family that comes later adds an address and takes nothing away', cidrs: [dual], ips: [ours('172.30.9.9', 'a')], known: ['172.30.9.9'], want: { create: ['fd00:30::101 for a'], unmet: ['optional pending'] } },
    { name: 'a family that is full does not keep the other from serving', cidrs: [aCidr({ cidrs: ['172.30.0.0/28', 'fd00:30::/112'] })], ips: full('172.30.0.'), known: [], want: { create: ['fd00:30::101 for a'], unmet: ['optional exhausted', 'pending'] } },
    { name: 'an address whose range is not Ready any more stays', cidrs: [aCidr({ cidrs: ['172.30.0.0/16'] })], ips: [ours('172.30.9.9', 'a'), ours('fd00:30::9', 'a')], known: ['172.30.9.9', 'fd00:30::9'], want: { create: [], unmet: [] } },
    { name: 'without any Ready range there is none', cidrs: [], ips: [], known: [], want: { create: [], unmet: ['exhausted'] } },
  ])('$name', ({ cidrs, ips, known, want }) => {
    const plan = planAddresses(anInput({ serviceCidrs: cidrs, ipAddresses: ips, claims: [aClaim('a', { known })] }));
    expect({ create: created(plan), unmet: plan.assignments.get('ai/a')?.unmet.map(({ cause, isOptional }) => (isOptional ? `optional ${cause}` : cause)) }).toEqual(want);
    expect(plan.remove).toEqual([]);
    expect(plan.create.every(({ address, family }) => family === (address.includes(':') ? 'IPv6' : 'IPv4'))).toBe(true);
  });

  it('are exactly one each: of several, those that callers know stay', () => {
    const several = [ours('172.30.8.8', 'a'), ours('172.30.9.9', 'a'), ours('fd00:30::8', 'a'), ours('fd00:30::9', 'a')];
    const plan = planAddresses(anInput({ serviceCidrs: [dual], claims: [aClaim('a', { known: ['172.30.9.9', 'fd00:30::9'] })], ipAddresses: several }));
    expect([heldBy(plan, 'a'), removed(plan)]).toEqual([['172.30.9.9', 'fd00:30::9'], ['172.30.8.8', 'fd00:30::8']]);
  });

  it('a Service that takes the one leaves the other, and a new one comes beside it', () => {
    const plan = planAddresses(
      anInput({ serviceCidrs: [dual], claims: [aClaim('a', { known: ['172.30.9.9', 'fd00:30::9'] })], ipAddresses: [ours('172.30.9.9', 'a'), ours('fd00:30::9', 'a')], serviceAddresses: new Map([['fd00:30::9', { namespace: 'shop', name: 'web' }]]) }),
    );
    expect([heldBy(plan, 'a'), created(plan), removed(plan)]).toEqual([['172.30.9.9'], ['fd00:30::101 for a'], ['fd00:30::9']]);
  });

  it('a wish that nothing can meet is said, and nothing is given in its place (R8)', () => {
    const plan = planAddresses(anInput({ serviceCidrs: [dual], claims: [aClaim('a', { wishes: [{ kind: 'impossible', value: '', message: 'Of the moon.' }] })] }));
    expect([plan.create, unmetOf(plan, 'a')]).toEqual([[], ['impossible: Of the moon.']]);
  });
});

describe('an address asked for by value', () => {
  it.each([
    { name: 'is created where it is free, in the static band too', value: '172.30.0.10', want: ['pending: Address 172.30.0.10 is being reserved.'] },
    { name: 'is refused where it is no address', value: '172.30.0.010', want: ['malformed: Address "172.30.0.010" is no IP address.'] },
    { name: 'is created in IPv6, in its canonical text', value: 'fd00:30:0::0:1', want: ['pending: Address fd00:30::1 is being reserved.'], canonical: 'fd00:30::1' },
    { name: 'is refused in a family without a service range', value: 'fd00::1', want: ['outside: Address fd00::1 lies in no Ready ServiceCIDR; choose one of the service range.'] },
    { name: 'is refused outside the service range', value: '10.9.9.9', want: ['outside: Address 10.9.9.9 lies in no Ready ServiceCIDR; choose one of the service range.'] },
    { name: 'is refused where it is the network\'s own', value: '172.30.0.0', want: ['reserved: Address 172.30.0.0 is the first or last of its ServiceCIDR, which nobody may have.'] },
    { name: 'is refused where it is the broadcast address', value: '172.30.255.255', want: ['reserved: Address 172.30.255.255 is the first or last of its ServiceCIDR, which nobody may have.'] },
    { name: 'is refused where a Service has it', value: '172.30.5.5', want: ['taken: Address 172.30.5.5 belongs to Service "shop/web"; choose another.'] },
    { name: 'is refused where another Gateway has it', value: '172.30.6.6', want: ['taken: Address 172.30.6.6 belongs to Gateway "ai/other"; choose another.'] },
  ])('$name, and never substituted', ({ value, want, canonical = value }) => {
    const plan = planAddresses(
      anInput({ serviceCidrs: [aCidr({ cidrs: ['172.30.0.0/16', 'fd00:30::/112'] })], claims: [aClaim('a', staticWish(value)), aClaim('other')], ipAddresses: [ofService('172.30.5.5'), ours('172.30.6.6', 'other')] }),
    );
    expect(unmetOf(plan, 'a')).toEqual(want);
    expect(plan.create.filter(({ address, gateway }) => gateway.name === 'a' && address !== canonical)).toEqual([]);
  });

  it('goes to the older of two Gateways that want it, whatever their names', () => {
    const plan = planAddresses(anInput({ claims: [aClaim('a', { createdAtMs: 2, ...staticWish('172.30.7.7') }), aClaim('b', { createdAtMs: 1, ...staticWish('172.30.7.7') })] }));
    expect(created(plan)).toEqual(['172.30.7.7 for b']);
    expect(unmetOf(plan, 'a')).toEqual(['taken: Address 172.30.7.7 belongs to Gateway "ai/b", which is older; choose another.']);
  });

  it('stays with the Gateway that holds it, even if an older one asks for it later', () => {
    const plan = planAddresses(
      anInput({ claims: [aClaim('a', { createdAtMs: 1, ...staticWish('172.30.7.7') }), aClaim('b', { createdAtMs: 2, ...staticWish('172.30.7.7') })], ipAddresses: [ours('172.30.7.7', 'b')] }),
    );
    expect(heldBy(plan, 'b')).toEqual(['172.30.7.7']);
    expect(unmetOf(plan, 'a')).toHaveLength(1);
    expect([...plan.create, ...plan.remove]).toEqual([]);
  });

  it('replaces the address that the Gateway had, which goes back once no node leads there', () => {
    const held = anInput({ claims: [aClaim('a', staticWish('172.30.7.7'))], ipAddresses: [ours('172.30.7.7', 'a'), ours('172.30.8.8', 'a')] });
    expect(removed(planAddresses(held))).toEqual(['172.30.8.8']);
    expect(removed(planAddresses({ ...held, stillProgrammed: new Set(['172.30.8.8']) }))).toEqual([]);
  });
});

describe('what is not ours is left alone', () => {
  it.each([
    { name: 'an IPAddress of a Service', ip: ofService('172.30.9.9') },
    { name: 'an IPAddress of our Gateway under another manager', ip: { ...ours('172.30.9.9', 'a'), managedBy: 'example.com' } },
    { name: 'an IPAddress under our label with another parent', ip: { ...ours('172.30.9.9', 'a'), parent: { group: 'example.com', resource: 'gateways', namespace: 'ai', name: 'a' } } },
  ])('$name is neither adopted nor removed', ({ ip }) => {
    const plan = planAddresses(anInput({ claims: [aClaim('a')], ipAddresses: [ip] }));
    expect(heldBy(plan, 'a')).toEqual([]);
    expect(plan.remove).toEqual([]);
  });
});

describe('giving back', () => {
  const releasing = aClaim('a', { mode: 'release' });

  it('a Gateway on its way out gives back its address first and loses its finalizer when that is gone', () => {
    const first = planAddresses(anInput({ claims: [releasing], ipAddresses: [ours('172.30.9.9', 'a')] }));
    expect([removed(first), first.removeFinalizers]).toEqual([['172.30.9.9'], []]);
    const second = planAddresses(anInput({ claims: [releasing] }));
    expect([removed(second), second.removeFinalizers]).toEqual([[], [{ namespace: 'ai', name: 'a' }]]);
  });

  it('an address stays reserved while some node still leads there', () => {
    const plan = planAddresses(anInput({ claims: [releasing], ipAddresses: [ours('172.30.9.9', 'a')], stillProgrammed: new Set(['172.30.9.9']) }));
    expect([removed(plan), plan.removeFinalizers]).toEqual([[], []]);
  });

  it('an address of a Gateway that is gone without a word goes, too', () => {
    expect(removed(planAddresses(anInput({ ipAddresses: [ours('172.30.9.9', 'gone')] })))).toEqual(['172.30.9.9']);
  });

  it('a Gateway whose spec is broken just now keeps its address and takes no new one', () => {
    const holding = aClaim('a', { mode: 'hold', wishes: [] });
    expect(heldBy(planAddresses(anInput({ claims: [holding], ipAddresses: [ours('172.30.9.9', 'a')] })), 'a')).toEqual(['172.30.9.9']);
    expect(planAddresses(anInput({ claims: [holding] })).create).toEqual([]);
  });

  it('the finalizer comes before the first address', () => {
    const plan = planAddresses(anInput({ claims: [aClaim('a', { hasFinalizer: false })] }));
    expect(plan.addFinalizers).toEqual([{ namespace: 'ai', name: 'a' }]);
  });
});

describe('a ServiceCIDR that holds addresses of ours', () => {
  const input = anInput({ claims: [aClaim('a')], ipAddresses: [ours('172.30.9.9', 'a')] });

  it('gets our finalizer, and loses it when it holds none', () => {
    expect(planAddresses({ ...input, serviceCidrs: [aCidr({ hasFinalizer: false })] }).protectCidrs).toEqual(['kubernetes']);
    expect(planAddresses(anInput()).unprotectCidrs).toEqual(['kubernetes']);
  });

  it('is reported when somebody deletes it, and keeps our finalizer', () => {
    const plan = planAddresses({ ...input, serviceCidrs: [aCidr({ isDeleting: true })] });
    expect(plan.problems.map(({ code }) => code)).toEqual(['ADDRESS_CIDR_IN_USE']);
    expect([plan.protectCidrs, plan.unprotectCidrs]).toEqual([[], []]);
  });

  it('may go where another one holds the same addresses', () => {
    const plan = planAddresses({ ...input, serviceCidrs: [aCidr({ isDeleting: true }), aCidr({ name: 'wider', cidrs: ['172.16.0.0/12'] })] });
    expect([plan.unprotectCidrs, plan.problems]).toEqual([['kubernetes'], []]);
  });
});

describe('for any claims and addresses', () => {
  const address = fc.integer({ min: 1, max: 30 }).map((host) => `10.96.0.${host}`);
  const claim = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), createdAtMs: fc.nat(3), value: fc.option(address), mode: fc.constantFrom('claim' as const, 'hold' as const, 'release' as const) });
  const cases = fc.record({
    claims: fc.uniqueArray(claim, { selector: ({ name }) => name, maxLength: 4 }),
    ips: fc.uniqueArray(fc.tuple(address, fc.constantFrom('a', 'b', 'c', 'd', 'service')), { selector: ([ip]) => ip, maxLength: 12 }),
  });
  const toInput = ({ claims, ips }: typeof cases extends fc.Arbitrary<infer T> ? T : never, seed: number): AddressInput => {
    const random = new FakeRandom(seed);
    return anInput({
      serviceCidrs: [aCidr({ cidrs: ['10.96.0.0/27'] })],
      claims: claims.map(({ name, createdAtMs, value, mode }) => aClaim(name, { createdAtMs, mode, ...(value === null ? {} : staticWish(value)) })),
      ipAddresses: ips.map(([ip, owner]) => (owner === 'service' ? ofService(ip) : ours(ip, owner))),
      random: () => random.next(),
    });
  };

  it('no address is given twice, none is held and removed, and none of somebody else is touched', () => {
    fc.assert(
      fc.property(cases, fc.nat(), (one, seed) => {
        const plan = planAddresses(toInput(one, seed));
        const held = [...plan.assignments.values()].flatMap((assignment) => assignment.held);
        const all = [...held, ...plan.create.map((entry) => entry.address)];
        expect(new Set(all).size).toBe(all.length);
        const mine = new Set(one.ips.filter(([, owner]) => owner !== 'service').map(([ip]) => ip));
        expect(plan.remove.every(({ name }) => mine.has(name) && !held.includes(name))).toBe(true);
        expect(plan.create.every((entry) => !one.ips.some(([ip]) => ip === entry.address))).toBe(true);
      }),
    );
  });

  it('the order of claims and addresses changes nothing', () => {
    fc.assert(
      fc.property(cases, fc.nat(), (one, seed) => {
        const reversed = { claims: [...one.claims].reverse(), ips: [...one.ips].reverse() };
        const sorted = (plan: AddressPlan): unknown => ({ ...plan, assignments: [...plan.assignments].sort(([a], [b]) => (a < b ? -1 : 1)) });
        expect(sorted(planAddresses(toInput(reversed, seed)))).toEqual(sorted(planAddresses(toInput(one, seed))));
      }),
    );
  });

  it('once everything planned is done, nothing is left to do', () => {
    fc.assert(
      fc.property(cases, fc.nat(), (one, seed) => {
        const input = toInput(one, seed);
        const first = planAddresses(input);
        const gone = new Set(removed(first));
        const after = [...input.ipAddresses.filter(({ name }) => !gone.has(name)), ...first.create.map(({ address: ip, gateway }) => ours(ip, gateway.name))];
        const second = planAddresses({ ...input, ipAddresses: after });
        // An address that was given back may be just what another one had asked for by value.
        const third = planAddresses({ ...input, ipAddresses: [...after, ...second.create.map(({ address: ip, gateway }) => ours(ip, gateway.name))] });
        expect([...third.create, ...third.remove]).toEqual([]);
      }),
    );
  });
});
