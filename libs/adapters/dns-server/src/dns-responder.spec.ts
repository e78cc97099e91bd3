import { describe, expect, it } from '@jest/globals';
import { decode, encode, type DecodedPacket, type Packet } from 'dns-packet';
import fc from 'fast-check';

import { answerQuestion, buildClustersetZone, buildGatewayZone, gatewayZone, type DnsRecord, type DnsZone } from '#domain/dns-records';
import { clusterId } from '#domain/fleet';
import type { Frontend, PlannedBackendId, RoutingPlan } from '#domain/routing-plan';
import { FakeRandom, routingPlanArbitrary, testSeed } from '#testing';

import { DnsResponder } from './dns-responder.js';

const WEB = 'import:shop/web/80/TCP' as PlannedBackendId;
const endpointsOf = (count: number) => Array.from({ length: count }, (_, index) => ({ address: `10.0.${index >> 8}.${index & 255}`, port: 80, state: 'ready' as const, zone: '', node: '', hostname: '' }));
const headless = (name: string): Frontend => ({ kind: 'service-import', callers: undefined, isHeadless: true, namespace: 'shop', name, addresses: [], dnsNames: [`${name}.shop.svc.clusterset.local`], listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: WEB, weight: 1 }], rejectWeight: 0 }] });
const gateway: Frontend = { kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name: 'model', addresses: ['172.30.0.41', 'fd00:30::29'], dnsNames: ['model.ai.gw.cluster.local'], listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [], rejectWeight: 1 }] };
const planOf = (count: number): Pick<RoutingPlan, 'frontends' | 'backends'> => ({
  frontends: [gateway, headless('web')],
  backends: [{ id: WEB, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers: [{ clusterId: clusterId('east'), locality: { region: '', zone: '' }, path: 'direct', shareBp: 10_000, endpoints: endpointsOf(count) }] }],
});

const common = { nameServer: 'spillway-spoke-dns.spillway-system.svc.cluster.local', serial: 7 };
const gatewayOptions = { origin: gatewayZone('cluster.local'), ...common };
const zonesOf = (plan: Pick<RoutingPlan, 'frontends' | 'backends'>): readonly DnsZone[] => [buildGatewayZone(plan.frontends, gatewayOptions), buildClustersetZone(plan, common)];

function responderOf(zones: readonly DnsZone[], isCurrent = true): DnsResponder {
  const responder = new DnsResponder(new FakeRandom(1));
  responder.setZones(zones);
  responder.setCurrent(isCurrent);
  return responder;
}

const question = (name: string, type = 'A', extra: Packet = {}): Buffer => encode({ id: 0x1234, type: 'query', flags: 0x0100, questions: [{ name, type: type as 'A', class: 'IN' }], ...extra });
const edns = (udpPayloadSize: number, doBit = false): Packet => ({ additionals: [{ type: 'OPT', name: '.', udpPayloadSize, extendedRcode: 0, ednsVersion: 0, flags: doBit ? 0x8000 : 0, flag_do: doBit, options: [] }] });

type Response = DecodedPacket & { readonly rcode: string };
const ask = (responder: DnsResponder, name: string, type = 'A', { extra = edns(4_096), transport = 'udp' }: { readonly extra?: Packet; readonly transport?: 'udp' | 'tcp' } = {}): Response =>
  decode(responder.respond(question(name, type, extra), transport).bytes ?? Buffer.alloc(12)) as Response;
const dataOf = (response: Response): unknown[] => (response.answers ?? []).map((record) => 'data' in record && record.data);

/** The extended error of a response (RFC 8914). */
function extendedError(response: Response): number | undefined {
  const opt = response.additionals?.find((record) => record.type === 'OPT');
  const option = opt?.options.find((one) => (one as { code: number }).code === 15) as { readonly data: Buffer } | undefined;
  return option?.data.readUInt16BE(0);
}

describe('names in a response', () => {
  const responder = responderOf(zonesOf(planOf(2)));

  it('come back as the client wrote them (0x20)', () => {
    const response = ask(responder, 'MoDeL.aI.gW.ClUsTeR.lOcAl');
    expect(response.answers).toMatchObject([{ name: 'MoDeL.aI.gW.ClUsTeR.lOcAl', data: '172.30.0.41' }]);
  });

  it('are pointers to the question where they can be', () => {
    const asked = question('model.ai.gw.cluster.local');
    const { bytes } = responder.respond(asked, 'udp');
    expect(bytes?.length).toBe(asked.length + 16);
    expect(bytes?.readUInt16BE(asked.length)).toBe(0xc00c);
  });

  it.each(['x.gw.cluster.local', 'x.model.ai.gw.cluster.local', `${'y'.repeat(60)}.${'z'.repeat(60)}.gw.cluster.local`, 'gw.cluster.local', 'nobody.shop.svc.clusterset.local', 'clusterset.local'])('the authority of a negative answer reads the same below any name (%s)', (name) => {
    const { authorities = [] } = ask(responder, name, 'TXT');
    const origin = name.endsWith('gw.cluster.local') ? 'gw.cluster.local' : 'clusterset.local';
    expect(authorities).toMatchObject([{ name: origin, ttl: 5, data: { mname: common.nameServer, rname: `hostmaster.${origin}`, serial: 7, minimum: 5 } }]);
  });

  it('the target of an SRV record is written in full (RFC 2782)', () => {
    const asked = question('_http._tcp.model.ai.gw.cluster.local', 'SRV');
    expect(responder.respond(asked, 'udp').bytes?.subarray(asked.length + 12 + 6, asked.length + 12 + 6 + 27)).toEqual(Buffer.from('\x05model\x02ai\x02gw\x07cluster\x05local\0', 'latin1'));
  });
});

describe('zones that may be out of date', () => {
  const responder = responderOf(zonesOf(planOf(2)), false);

  it.each([
    { name: 'still answer what they have, marked as stale', asked: 'model.ai.gw.cluster.local', type: 'A', want: { rcode: 'NOERROR', count: 1, error: 3 } },
    { name: 'still say that a name they have lacks a type', asked: 'model.ai.gw.cluster.local', type: 'MX', want: { rcode: 'NOERROR', count: 0, error: 3 } },
    { name: 'deny no Gateway: it may have come meanwhile', asked: 'new.ai.gw.cluster.local', type: 'A', want: { rcode: 'SERVFAIL', count: 0, error: 22 } },
    { name: 'deny no import', asked: 'new.shop.svc.clusterset.local', type: 'AAAA', want: { rcode: 'SERVFAIL', count: 0, error: 22 } },
    { name: 'still refuse what is not theirs', asked: 'example.com', type: 'A', want: { rcode: 'REFUSED', count: 0, error: 20 } },
  ])('$name', ({ asked, type, want }) => {
    const response = ask(responder, asked, type);
    expect({ rcode: response.rcode, count: response.answers?.length, error: extendedError(response) }).toEqual(want);
  });

  it('tell extended errors only to who speaks EDNS', () => {
    expect(ask(responder, 'model.ai.gw.cluster.local', 'A', { extra: {} }).additionals).toEqual([]);
  });

  it('deny names again, and mark nothing, once they are current', () => {
    const back = responderOf(zonesOf(planOf(2)), false);
    back.setCurrent(true);
    expect(ask(back, 'new.ai.gw.cluster.local').rcode).toBe('NXDOMAIN');
    expect(extendedError(ask(back, 'model.ai.gw.cluster.local'))).toBeUndefined();
  });
});

describe('EDNS', () => {
  it('the DO bit comes back as it was sent (RFC 3225)', () => {
    const responder = responderOf(zonesOf(planOf(2)));
    const flags = [true, false].map((doBit) => ask(responder, 'model.ai.gw.cluster.local', 'A', { extra: edns(1_232, doBit) }).additionals?.map((record) => record.type === 'OPT' && record.flag_do));
    expect(flags).toEqual([[true], [false]]);
  });
});

describe('many addresses of one name', () => {
  const name = 'web.shop.svc.clusterset.local';

  it.each([
    { payload: 512, count: 28 },
    { payload: 1_232, count: 73 },
  ])('fill a datagram of $payload bytes, which says that there are more', ({ payload, count }) => {
    const responder = responderOf(zonesOf(planOf(100)));
    const { bytes } = responder.respond(question(name, 'A', edns(payload)), 'udp');
    const response = decode(bytes!) as Response;
    expect([response.flag_tc, response.answers?.length, new Set(dataOf(response)).size]).toEqual([true, count, count]);
    expect(bytes!.length).toBeLessThanOrEqual(payload);
    expect(response.additionals).toMatchObject([{ type: 'OPT' }]);
  });

  it('that fit are not cut because the addresses of SRV targets do not (RFC 2181)', () => {
    const response = ask(responderOf(zonesOf(planOf(17))), name, 'SRV', { extra: edns(1_232) });
    expect([response.flag_tc, response.answers?.length]).toEqual([false, 17]);
    expect(response.additionals?.length).toBeLessThan(18);
  });

  it('more than any message holds come over TCP as far as they go', () => {
    const { bytes } = responderOf(zonesOf(planOf(5_000))).respond(question(name), 'tcp');
    const response = decode(bytes!) as Response;
    expect([response.flag_tc, bytes!.length <= 65_535, response.answers?.length]).toEqual([true, true, 4_093]);
  });

  it('come first equally often: chi-square over 10,000 questions', () => {
    const responder = responderOf(zonesOf(planOf(5)));
    const firsts = new Map<unknown, number>();
    for (let index = 0; index < 10_000; index += 1) {
      const [first] = dataOf(ask(responder, name));
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
    const chiSquare = [...firsts.values()].reduce((sum, count) => sum + (count - 2_000) ** 2 / 2_000, 0);
    expect(firsts.size).toBe(5);
    // 4 degrees of freedom: beyond 18.5 once in a thousand.
    expect(chiSquare).toBeLessThan(18.5);
  });

  it('come in every order', () => {
    const responder = responderOf(zonesOf(planOf(3)));
    const orders = new Set(Array.from({ length: 500 }, () => dataOf(ask(responder, name)).join()));
    expect(orders.size).toBe(6);
  });
});

it('a zone that is the same keeps what was encoded of it; a new one does not', () => {
  const plan = planOf(2);
  const [gateways, clusterset] = zonesOf(plan);
  const responder = responderOf([gateways!, clusterset!]);
  ask(responder, 'model.ai.gw.cluster.local');
  ask(responder, 'web.shop.svc.clusterset.local');
  responder.setZones([gateways!, buildClustersetZone(planOf(3), common)]);
  expect(responder.encodedCount).toBe(1);
  expect(dataOf(ask(responder, 'web.shop.svc.clusterset.local'))).toHaveLength(3);
});

const seed = testSeed();

it(`what the bytes say of every name of every plan is what the zones say (seed ${seed})`, () => {
  const shape = (record: DnsRecord): unknown => {
    switch (record.type) {
      case 'A':
      case 'AAAA':
        return record.address;
      case 'SRV':
        return { priority: 0, weight: 100, port: record.port, target: record.target };
      case 'NS':
        return record.target;
      case 'TXT':
        return [Buffer.from(record.text)];
      case 'SOA':
        return expect.objectContaining({ mname: record.nameServer, serial: record.serial });
    }
  };
  fc.assert(
    fc.property(routingPlanArbitrary, (plan) => {
      const imports = plan.frontends.map((frontend) => (frontend.kind === 'service-import' ? { ...frontend, dnsNames: [`${frontend.name}.${frontend.namespace}.svc.clusterset.local`] } : frontend));
      const zones = zonesOf({ ...plan, frontends: imports });
      const responder = responderOf(zones);
      for (const name of zones.flatMap((zone) => [...zone.names.keys()])) {
        for (const type of ['A', 'AAAA', 'SRV', 'NS', 'SOA', 'TXT']) {
          const said = answerQuestion(zones, { name, type }, true);
          const response = ask(responder, name, type, { transport: 'tcp' });
          const want = said.kind === 'answer' ? said.answers : [];
          expect(response.answers).toHaveLength(want.length);
          expect(response.answers).toEqual(expect.arrayContaining(want.map((record) => expect.objectContaining({ name, type, ttl: record.ttlSeconds, data: shape(record) }))));
        }
      }
    }),
    { seed, numRuns: 50 },
  );
});
