import { createSocket } from 'node:dgram';
import { connect, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decode, encode, type Packet } from 'dns-packet';
import fc from 'fast-check';
import { Registry } from 'prom-client';

import { buildGatewayZone, gatewayZone, type DnsZone } from '#domain/dns-records';
import type { Frontend } from '#domain/routing-plan';
import { FakeRandom, testSeed, until } from '#testing';

import { DnsResponder } from './dns-responder.js';
import { startDnsServer, type DnsServer, type DnsServerOptions } from './dns-server.js';
import { answerDatagram } from './udp-listener.js';

const frontend = (name: string, addresses: readonly string[]): Frontend => ({ kind: 'gateway', callers: undefined, isHeadless: false, namespace: 'ai', name, addresses, dnsNames: [`${name}.ai.gw.cluster.local`], listeners: [] });
const zoneOf = (...frontends: Frontend[]) => buildGatewayZone(frontends, { origin: gatewayZone('cluster.local'), nameServer: 'ns.example', serial: 1 });

const manyAddresses = Array.from({ length: 100 }, (_, index) => `172.30.1.${index}`);
const zone = zoneOf(frontend('model', ['172.30.0.41']), frontend('wide', manyAddresses));

const question = (name: string, type = 'A', extra: Packet = {}): Buffer => encode({ id: 0x1234, type: 'query', flags: 0x0100, questions: [{ name, type: type as 'A', class: 'IN' }], ...extra });
const edns = (udpPayloadSize: number, ednsVersion = 0): Packet => ({ additionals: [{ type: 'OPT', name: '.', udpPayloadSize, extendedRcode: 0, ednsVersion, flags: 0, flag_do: false, options: [] }] });

/** A response in short. */
function short(bytes: Buffer | undefined): unknown {
  if (bytes === undefined) return 'no answer';
  const { id, rcode, flag_aa, flag_tc, flag_rd, answers = [], authorities = [] } = decode(bytes) as ReturnType<typeof decode> & { rcode: string };
  return { id, rcode, aa: flag_aa, tc: flag_tc, rd: flag_rd, answers: answers.map((record) => ('data' in record ? record.data : record.type)), authorities: authorities.map((record) => record.type) };
}

const GOOD = { id: 0x1234, rcode: 'NOERROR', aa: true, tc: false, rd: true, answers: ['172.30.0.41'], authorities: [] };

/** A responder whose zones are all that there is. */
function responderOf(...zones: DnsZone[]): DnsResponder {
  const responder = new DnsResponder(new FakeRandom(1));
  if (zones.length > 0) responder.setZones(zones);
  responder.setCurrent(true);
  return responder;
}

describe('a response', () => {
  const responder = responderOf(zone);
  const respond = (message: Buffer, transport: 'udp' | 'tcp' = 'udp') => responder.respond(message, transport);

  it('answers with authority, the id of the question and its wish for recursion, which is not available', () => {
    expect(short(respond(question('model.ai.gw.cluster.local')).bytes)).toEqual(GOOD);
  });

  it('repeats the question as it was asked, letter case included', () => {
    const asked = question('MoDeL.ai.GW.cluster.local');
    expect(respond(asked).bytes?.subarray(12, asked.length)).toEqual(asked.subarray(12));
  });

  it.each([
    { name: 'an unknown name is NXDOMAIN with SOA', message: question('nobody.ai.gw.cluster.local'), want: { rcode: 'NXDOMAIN', authorities: ['SOA'], aa: true } },
    { name: 'another type is NODATA with SOA', message: question('model.ai.gw.cluster.local', 'TXT'), want: { rcode: 'NOERROR', authorities: ['SOA'], answers: [] } },
    { name: 'a name outside the zone is refused without authority', message: question('example.com'), want: { rcode: 'REFUSED', aa: false } },
    { name: 'a zone transfer is refused', message: question('gw.cluster.local', 'AXFR'), want: { rcode: 'REFUSED' } },
    { name: 'a dynamic update is not implemented', message: encode({ id: 1, flags: 5 << 11, questions: [{ name: 'gw.cluster.local', type: 'SOA' }] }), want: { rcode: 'NOTIMP' } },
    { name: 'two questions are a format error', message: encode({ id: 1, questions: [{ name: 'a', type: 'A' }, { name: 'b', type: 'A' }] }), want: { rcode: 'FORMERR' } },
    { name: 'two OPT records are a format error', message: question('gw.cluster.local', 'A', { additionals: [...edns(512).additionals!, ...edns(512).additionals!] }), want: { rcode: 'FORMERR' } },
    { name: 'class CHAOS is refused', message: encode({ id: 1, questions: [{ name: 'version.bind', type: 'TXT', class: 'CH' }] }), want: { rcode: 'REFUSED' } },
  ])('$name', ({ message, want }) => {
    expect(short(respond(message).bytes)).toMatchObject(want);
  });

  it('an unknown EDNS version is BADVERS', () => {
    const { additionals = [] } = decode(respond(question('model.ai.gw.cluster.local', 'A', edns(1_232, 1))).bytes!);
    expect(additionals).toMatchObject([{ type: 'OPT', extendedRcode: 1, ednsVersion: 0 }]);
  });

  it('speaks EDNS to who speaks EDNS, and to nobody else', () => {
    expect(decode(respond(question('model.ai.gw.cluster.local', 'A', edns(4_096))).bytes!).additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1_232 }]);
    expect(decode(respond(question('model.ai.gw.cluster.local')).bytes!).additionals).toEqual([]);
  });

  it.each([
    { name: 'longer than 512 bytes without EDNS', extra: {} },
    { name: 'longer than what EDNS names', extra: edns(700) },
    { name: 'longer than 1232 bytes, whatever EDNS names', extra: edns(65_000) },
  ])('$name says over UDP that it is truncated, and is whole over TCP', ({ extra }) => {
    const message = question('wide.ai.gw.cluster.local', 'A', extra);
    expect(short(respond(message).bytes)).toMatchObject({ tc: true, rcode: 'NOERROR' });
    const whole = decode(respond(message, 'tcp').bytes!);
    expect(whole.flag_tc).toBe(false);
    expect(whole.answers?.map((record) => 'data' in record && record.data).sort()).toEqual([...manyAddresses].sort());
  });

  it('a label with a dot in it is not taken for two labels', () => {
    const name = Buffer.concat([Buffer.of(8), Buffer.from('model.ai'), Buffer.of(2), Buffer.from('gw'), Buffer.of(7), Buffer.from('cluster'), Buffer.of(5), Buffer.from('local'), Buffer.of(0, 0, 1, 0, 1)]);
    const header = question('x').subarray(0, 12);
    expect(short(respond(Buffer.concat([header, name])).bytes)).toMatchObject({ rcode: 'FORMERR' });
  });

  it('a name longer than names may be is a format error, over UDP in no more bytes than a header has', () => {
    const labels = Buffer.concat([...Array.from({ length: 5 }, () => Buffer.concat([Buffer.of(63), Buffer.alloc(63, 0x61)])), Buffer.of(0, 0, 1, 0, 1)]);
    expect(respond(Buffer.concat([question('x').subarray(0, 12), labels]))).toMatchObject({ outcome: 'malformed', bytes: { length: 12 } });
  });

  it('that cannot be made is SERVFAIL, and the next question is answered', () => {
    const broken = responderOf();
    broken.setZones([{ ...zone, names: new Map([...zone.names, ['broken.gw.cluster.local', [{ type: 'A', name: 'broken.gw.cluster.local', ttlSeconds: -1, address: '10.0.0.1' }]]]) }]);
    expect(short(broken.respond(question('broken.gw.cluster.local'), 'udp').bytes)).toMatchObject({ rcode: 'SERVFAIL', id: 0x1234 });
    expect(short(broken.respond(question('model.ai.gw.cluster.local'), 'udp').bytes)).toEqual(GOOD);
  });

  it('a response is never answered, and nothing shorter than a header is', () => {
    expect(respond(encode({ id: 1, type: 'response', questions: [{ name: 'model.ai.gw.cluster.local', type: 'A' }] }))).toEqual({ outcome: 'dropped', bytes: undefined });
    expect(respond(Buffer.alloc(11))).toEqual({ outcome: 'dropped', bytes: undefined });
  });

  it('before the first zone is SERVFAIL, never NXDOMAIN', () => {
    expect(short(responderOf().respond(question('nobody.ai.gw.cluster.local'), 'udp').bytes)).toMatchObject({ rcode: 'SERVFAIL', aa: false, authorities: [] });
  });
});

describe('encoded answers', () => {
  it('carry the id of each question, and are forgotten with the zone', () => {
    const responder = responderOf(zone);
    const asked = question('model.ai.gw.cluster.local');
    const other = Buffer.from(asked);
    other.writeUInt16BE(0x9999, 0);
    expect(short(responder.respond(asked, 'udp').bytes)).toEqual(GOOD);
    expect(short(responder.respond(other, 'udp').bytes)).toEqual({ ...GOOD, id: 0x9999 });
    responder.setZones([zoneOf(frontend('model', ['172.30.0.77']))]);
    expect(short(responder.respond(asked, 'udp').bytes)).toEqual({ ...GOOD, answers: ['172.30.0.77'] });
  });

  it('are as many as the zone has, however names are written, and a flood of unknown names and types adds none', () => {
    const responder = responderOf(zone);
    for (let index = 0; index < 1_000; index += 1) {
      responder.respond(question(`unknown-${index}.ai.gw.cluster.local`), 'udp');
      responder.respond(question('model.ai.gw.cluster.local', `UNKNOWN_${300 + index}`), 'udp');
    }
    expect(responder.encodedCount).toBe(0);
    for (let index = 0; index < 64; index += 1) responder.respond(question([...'model'].map((letter, at) => ((index >> at) & 1 ? letter.toUpperCase() : letter)).join('') + '.ai.gw.cluster.local'), 'udp');
    expect(responder.encodedCount).toBe(1);
  });
});

const seed = testSeed();

describe(`hostile bytes (seed ${seed})`, () => {
  const responder = responderOf(zone);
  const valid = [question('model.ai.gw.cluster.local'), question('nobody.ai.gw.cluster.local', 'AAAA', edns(1_232)), question('_http._tcp.model.ai.gw.cluster.local', 'SRV')];
  const isSound = (message: Buffer): void => {
    for (const transport of ['udp', 'tcp'] as const) {
      const { outcome, bytes } = responder.respond(message, transport);
      if (bytes === undefined) {
        expect(outcome).toBe('dropped');
        continue;
      }
      const response = decode(bytes);
      expect(bytes.subarray(0, 2)).toEqual(message.subarray(0, 2));
      expect(response.type).toBe('response');
    }
  };

  it('of any kind never throw, and get a readable response or none', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => isSound(Buffer.from(bytes))), { seed, numRuns: 2_000 });
  });

  it('that are nearly a question never throw, and get a readable response or none', () => {
    const mutation = fc.record({ base: fc.nat(valid.length - 1), at: fc.nat(80), value: fc.nat(255), cut: fc.nat(80) });
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), fc.boolean(), (mutations, doCut) => {
        let message = Buffer.from(valid[mutations[0]!.base]!);
        for (const { at, value, cut } of mutations) {
          if (message.length > 0) message[at % message.length] = value;
          if (doCut) message = message.subarray(0, Math.max(0, message.length - (cut % 8)));
        }
        isSound(message);
      }),
      { seed, numRuns: 3_000 },
    );
  });
});

describe('the server', () => {
  let server: DnsServer;
  let registry: Registry;
  const sockets: Socket[] = [];

  const start = async (options: Partial<DnsServerOptions> = {}): Promise<void> => {
    registry = new Registry();
    server = await startDnsServer({ host: '127.0.0.1', port: 0, registry, random: new FakeRandom(1), ...options });
    server.setZones([zone]);
    server.setCurrent(true);
  };
  beforeEach(() => start());
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.close();
  });

  const askUdp = (messages: readonly Buffer[]): Promise<Buffer> =>
    new Promise((resolve) => {
      const socket = createSocket('udp4');
      socket.once('message', (response) => socket.close(() => resolve(response)));
      for (const message of messages) socket.send(message, server.port, '127.0.0.1');
    });
  const open = (): Socket => {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    return socket;
  };
  const framed = (message: Buffer): Buffer => Buffer.concat([Buffer.of(message.length >> 8, message.length & 0xff), message]);
  const read = (socket: Socket, count: number): Promise<Buffer[]> =>
    new Promise((resolve) => {
      let bytes = Buffer.alloc(0);
      const messages: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
          messages.push(bytes.subarray(2, 2 + bytes.readUInt16BE(0)));
          bytes = bytes.subarray(2 + bytes.readUInt16BE(0));
        }
        if (messages.length >= count) resolve(messages);
      });
    });
  const closed = (socket: Socket): Promise<void> => new Promise((resolve) => (socket.destroyed ? resolve() : socket.once('close', () => resolve())));

  it('answers over UDP, also after rubbish', async () => {
    expect(short(await askUdp([Buffer.of(1, 2, 3), question('model.ai.gw.cluster.local')]))).toEqual(GOOD);
    expect(await registry.metrics()).toContain('spillway_dns_messages_total{transport="udp",outcome="dropped"} 1');
  });

  it('answers no datagram that says it is from port 0, and lives on', async () => {
    const socket = createSocket('udp4');
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    expect(() => answerDatagram(socket, () => Buffer.from('answer'), Buffer.from('question'), { address: '127.0.0.1', port: 0 })).not.toThrow();
    const answer = new Promise((resolve) => socket.once('message', resolve));
    answerDatagram(socket, () => Buffer.from('answer'), Buffer.from('question'), { address: '127.0.0.1', port: socket.address().port });
    expect(await answer).toEqual(Buffer.from('answer'));
    socket.close();
  });

  it('answers several questions on one TCP connection in order, however they are cut into segments', async () => {
    const socket = open();
    const stream = Buffer.concat([framed(question('model.ai.gw.cluster.local')), framed(question('wide.ai.gw.cluster.local')), framed(question('nobody.ai.gw.cluster.local'))]);
    for (const byte of stream.subarray(0, 70)) socket.write(Buffer.of(byte));
    socket.write(stream.subarray(70));
    const responses = (await read(socket, 3)).map(short);
    expect(responses).toMatchObject([{ answers: ['172.30.0.41'] }, { answers: { length: manyAddresses.length }, tc: false }, { rcode: 'NXDOMAIN' }]);
  });

  it('closes a TCP connection that sends no query, or claims one that is too long', async () => {
    const rubbish = open();
    rubbish.write(framed(Buffer.of(1, 2, 3)));
    await closed(rubbish);
    const greedy = open();
    greedy.write(Buffer.of(0xff, 0xff, 0));
    await closed(greedy);
  });

  const served = async (): Promise<Socket> => {
    const socket = open();
    socket.write(framed(question('model.ai.gw.cluster.local')));
    await read(socket, 1);
    return socket;
  };

  it('lets a new TCP connection in at the limit, in place of the one that asked nothing for the longest', async () => {
    await server.close();
    await start({ limits: { connectionsMax: 2 } });
    const [first, second] = [await served(), await served()];
    first.write(framed(question('model.ai.gw.cluster.local')));
    await read(first, 1);
    await served();
    await closed(second);
    expect(first.destroyed).toBe(false);
    expect(await registry.metrics()).toContain('spillway_dns_tcp_ended_connections_total{reason="gave-way"} 1');
  });

  it('gives one source a share of the TCP connections, and closes its others as they come', async () => {
    await server.close();
    await start({ limits: { connectionsPerSourceMax: 1 } });
    const first = await served();
    await closed(open());
    expect(first.destroyed).toBe(false);
    first.destroy();
    await until('the first connection is forgotten', async () => (await registry.metrics()).includes('spillway_dns_tcp_connections 0'));
    await expect(served()).resolves.toBeDefined();
    expect(await registry.metrics()).toContain('spillway_dns_tcp_ended_connections_total{reason="source-full"} 1');
  });

  it('closes a TCP connection on which no whole question comes, however slowly it goes on', async () => {
    await server.close();
    await start({ limits: { idleMs: 100 } });
    const slow = open();
    const drip = setInterval(() => slow.write(Buffer.of(1)), 20);
    await closed(slow);
    clearInterval(drip);
    await closed(open());
    expect(await registry.metrics()).toContain('spillway_dns_tcp_ended_connections_total{reason="idle"} 2');
  });

  it('answers a client that asks without reading only as far as it reads, and the rest when it does', async () => {
    const [asked, count] = [framed(question('wide.ai.gw.cluster.local')), 4_000];
    const greedy = open();
    greedy.pause();
    greedy.write(Buffer.concat(Array.from({ length: count }, () => asked)));
    await served();
    const answered = /transport="tcp",outcome="answer"\} (\d+)/.exec(await registry.metrics())?.[1];
    expect(Number(answered)).toBeLessThan(count);
    const all = read(greedy, count);
    greedy.resume();
    expect(await all).toHaveLength(count);
  });

  it('says what to do where its port is taken', async () => {
    await expect(startDnsServer({ host: '127.0.0.1', port: server.port, registry: new Registry(), random: new FakeRandom(1) })).rejects.toMatchObject({ code: 'DNS_LISTEN_FAILED', kind: 'user' });
  });
});
