import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { Frontend } from '#domain/routing-plan';
import { routingPlanArbitrary, testSeed } from '#testing';

import { answerQuestion } from './answer-question.js';
import { buildGatewayZone, gatewayZone } from './build-gateway-zone.js';
import type { DnsRecord } from './dns-zone.js';

const options = { origin: gatewayZone('cluster.local'), nameServer: 'spillway-spoke-dns.spillway-system.svc.cluster.local', serial: 7 };

const frontend = (namespace: string, name: string, addresses: readonly string[], listeners: Frontend['listeners'] = []): Frontend => ({ kind: 'gateway', callers: undefined, isHeadless: false, namespace, name, addresses, dnsNames: [`${name}.${namespace}.gw.cluster.local`], listeners });

const zone = buildGatewayZone(
  [
    frontend('ai', 'model', ['172.30.0.41', 'fd00:30::29'], [
      { name: 'http', port: 80, protocol: 'TCP', uses: [], rejectWeight: 1 },
      { name: 'voice', port: 5_060, protocol: 'UDP', uses: [], rejectWeight: 1 },
    ]),
    frontend('ai', 'pending', []),
    frontend('ai', 'garbled', ['nonsense', '300.1.2.3', 'a:b:zz', '172.30.0.8'], [{ name: 'far', port: 70_000, protocol: 'TCP', uses: [], rejectWeight: 1 }]),
    { ...frontend('ai', 'elsewhere', ['172.30.0.9']), dnsNames: ['elsewhere.example.com'] },
  ],
  options,
);

const ask = (name: string, type: string) => answerQuestion([zone], { name, type }, true);

function textOf(record: DnsRecord): string {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return `${record.type} ${record.address}`;
    case 'SRV':
      return `SRV ${record.port} ${record.target}`;
    case 'NS':
      return `NS ${record.target}`;
    case 'TXT':
      return `TXT ${record.text}`;
    case 'SOA':
      return `SOA ${record.serial}`;
  }
}

describe('a gateway zone', () => {
  it.each([
    { name: 'a gateway has its IPv4 addresses', question: ['model.ai.gw.cluster.local', 'A'], want: ['A 172.30.0.41'] },
    { name: 'a gateway has its IPv6 addresses', question: ['model.ai.gw.cluster.local', 'AAAA'], want: ['AAAA fd00:30::29'] },
    { name: 'case does not matter', question: ['MoDeL.aI.Gw.ClUsTeR.lOcAl', 'A'], want: ['A 172.30.0.41'] },
    { name: 'a trailing dot does not matter', question: ['model.ai.gw.cluster.local.', 'A'], want: ['A 172.30.0.41'] },
    { name: 'what is no address is left out', question: ['garbled.ai.gw.cluster.local', 'ANY'], want: ['A 172.30.0.8'] },
    { name: 'what is no port is left out', question: ['_far._tcp.garbled.ai.gw.cluster.local', 'SRV'], want: ['no-such-name'] },
    { name: 'ANY has everything of the name', question: ['model.ai.gw.cluster.local', 'ANY'], want: ['A 172.30.0.41', 'AAAA fd00:30::29'] },
    { name: 'a named TCP listener has its port', question: ['_http._tcp.model.ai.gw.cluster.local', 'SRV'], want: ['SRV 80 model.ai.gw.cluster.local'] },
    { name: 'a named UDP listener has its port', question: ['_voice._udp.model.ai.gw.cluster.local', 'SRV'], want: ['SRV 5060 model.ai.gw.cluster.local'] },
    { name: 'the apex has its name server', question: ['gw.cluster.local', 'NS'], want: ['NS spillway-spoke-dns.spillway-system.svc.cluster.local'] },
    { name: 'the apex has its authority', question: ['gw.cluster.local', 'SOA'], want: ['SOA 7'] },
  ])('$name', ({ question: [name = '', type = ''], want }) => {
    const answer = ask(name, type);
    const texts = answer.kind === 'answer' ? answer.answers.map(textOf) : [answer.kind];
    expect(texts).toEqual(want);
  });

  it.each([
    { name: 'another type of a gateway', question: ['model.ai.gw.cluster.local', 'TXT'], want: 'no-data' },
    { name: 'an unknown type of a gateway', question: ['model.ai.gw.cluster.local', 'UNKNOWN_65'], want: 'no-data' },
    { name: 'SRV of a gateway itself', question: ['model.ai.gw.cluster.local', 'SRV'], want: 'no-data' },
    { name: 'a gateway without addresses', question: ['pending.ai.gw.cluster.local', 'A'], want: 'no-data' },
    { name: 'a namespace with gateways', question: ['ai.gw.cluster.local', 'A'], want: 'no-data' },
    { name: 'the name between a listener and its gateway', question: ['_tcp.model.ai.gw.cluster.local', 'SRV'], want: 'no-data' },
    { name: 'an address of the apex', question: ['gw.cluster.local', 'A'], want: 'no-data' },
    { name: 'an unknown gateway', question: ['other.ai.gw.cluster.local', 'A'], want: 'no-such-name' },
    { name: 'a namespace without gateways', question: ['web.gw.cluster.local', 'A'], want: 'no-such-name' },
    { name: 'a name below a gateway', question: ['x.model.ai.gw.cluster.local', 'A'], want: 'no-such-name' },
    { name: 'a listener under the wrong protocol', question: ['_http._udp.model.ai.gw.cluster.local', 'SRV'], want: 'no-such-name' },
    { name: 'a name that only ends alike', question: ['evilgw.cluster.local', 'A'], want: 'refused' },
    { name: 'a Service of the cluster', question: ['kubernetes.default.svc.cluster.local', 'A'], want: 'refused' },
    { name: 'a frontend name outside the zone', question: ['elsewhere.example.com', 'A'], want: 'refused' },
    { name: 'the root', question: ['.', 'NS'], want: 'refused' },
    { name: 'a zone transfer', question: ['gw.cluster.local', 'AXFR'], want: 'refused' },
  ])('$name is $want', ({ question: [name = '', type = ''], want }) => {
    expect(ask(name, type).kind).toBe(want);
  });

  it('an SRV answer brings the addresses of its target along', () => {
    const answer = ask('_http._tcp.model.ai.gw.cluster.local', 'SRV');
    expect(answer.kind === 'answer' && answer.additionals.map((record) => record.type)).toEqual(['A', 'AAAA']);
  });

  it('names that DNS cannot carry are left out, and the rest stays', () => {
    const listeners: Frontend['listeners'] = ['a.b', 'x'.repeat(63), 'http'].map((name, index) => ({ name, port: 80 + index, protocol: 'TCP', uses: [], rejectWeight: 1 }));
    const odd = buildGatewayZone([frontend('ai', 'y'.repeat(64), ['172.30.0.1']), frontend('ai', 'good', ['172.30.0.2'], listeners)], options);
    expect([...odd.names.keys()].sort()).toEqual(['_http._tcp.good.ai.gw.cluster.local', '_tcp.good.ai.gw.cluster.local', 'ai.gw.cluster.local', 'good.ai.gw.cluster.local', 'gw.cluster.local']);
  });

  it('a negative answer carries the SOA, and may be kept for at most 5 seconds', () => {
    for (const name of ['other.ai.gw.cluster.local', 'ai.gw.cluster.local']) {
      const answer = ask(name, 'A');
      expect('soa' in answer && [answer.soa.minimumSeconds, answer.soa.ttlSeconds]).toEqual([5, 5]);
    }
  });
});

const seed = testSeed();

it(`every frontend of every plan is found by each of its names, for at most 5 seconds (seed ${seed})`, () => {
  fc.assert(
    fc.property(routingPlanArbitrary, (plan) => {
      const random = buildGatewayZone(plan.frontends, options);
      for (const { dnsNames, addresses } of plan.frontends.filter(({ kind }) => kind === 'gateway')) {
        const answers = dnsNames.map((name) => answerQuestion([random], { name: name.toUpperCase(), type: 'ANY' }, true));
        const found = answers.flatMap((answer) => (answer.kind === 'answer' ? answer.answers.map((record) => 'address' in record && record.address) : []));
        expect(new Set(found)).toEqual(new Set(addresses));
        expect(answers.map((answer) => answer.kind)).not.toContain('no-such-name');
      }
      expect([...random.names.values()].flat().every((record) => record.ttlSeconds <= 5)).toBe(true);
    }),
    { seed, numRuns: 100 },
  );
});
