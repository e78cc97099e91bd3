import 'reflect-metadata';

import { webcrypto } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createPlainServer, type AddressInfo, type Server as PlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as x509 from '@peculiar/x509';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { Secret, SystemClock } from '#platform';
import type { KubeKind, KubeObject } from '#ports';
import { FakeClock, FakeRandom } from '#testing';

import type { HttpKubeOptions } from './http-kube.adapter.js';
import { fileToken, fixedToken, HttpKube, inClusterConnection, TOKEN_FILE_TTL_MS, type KubeConnection } from './index.js';

const POD: KubeKind = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

interface Identity {
  readonly certificatePem: string;
  readonly keyPem: string;
}

async function makeIdentity(options: { readonly commonName: string; readonly notAfterMs?: number; readonly name?: string }): Promise<Identity> {
  x509.cryptoProvider.set(webcrypto as never);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${options.commonName}`,
    notBefore: new Date(Date.now() - 10 * DAY_MS),
    notAfter: new Date(options.notAfterMs ?? Date.now() + DAY_MS),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true), new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: options.name ?? 'localhost' }, { type: 'ip', value: options.name === undefined ? '127.0.0.1' : '192.0.2.1' }])],
  });
  const pkcs8 = new Uint8Array(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return { certificatePem: certificate.toString('pem'), keyPem: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const servers: Server[] = [];
const plains: PlainServer[] = [];
const kubes: HttpKube[] = [];

async function serve(identity: Identity, handler: Handler): Promise<string> {
  const server = createServer({ cert: identity.certificatePem, key: identity.keyPem }, handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function connect(connection: Partial<KubeConnection> & { readonly server: string }, options: Partial<HttpKubeOptions> = {}): HttpKube {
  const kube = new HttpKube({ credential: { kind: 'token', token: fixedToken(new Secret('t0ken')) }, ...connection }, { clock: new SystemClock(), random: new FakeRandom(1), ...options });
  kubes.push(kube);
  return kube;
}

const status = (code: number, reason: string, message: string): Handler => (_request, response) => {
  response.statusCode = code;
  response.end(JSON.stringify({ kind: 'Status', reason, message }));
};

afterEach(async () => {
  for (const kube of kubes.splice(0)) kube.close();
  for (const plain of plains.splice(0)) await new Promise((resolve) => plain.close(resolve));
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

let good: Identity;
beforeAll(async () => {
  good = await makeIdentity({ commonName: 'api' });
});

const podRef = { namespace: 'ai', name: 'p' };
const pod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { ...podRef, resourceVersion: '1' } };
const codeOf = async (action: Promise<unknown>): Promise<string> => action.then(() => 'none', (error: unknown) => `${(error as { code: string }).code} ${(error as { kind: string }).kind}`);

describe('answers of the API server have their own codes', () => {
  it.each([
    { http: 401, reason: 'Unauthorized', want: 'KUBE_UNAUTHORIZED user' },
    { http: 403, reason: 'Forbidden', want: 'KUBE_FORBIDDEN user' },
    { http: 404, reason: 'NotFound', want: 'KUBE_NOT_FOUND user' },
    { http: 409, reason: 'Conflict', want: 'KUBE_CONFLICT user' },
    { http: 409, reason: 'AlreadyExists', want: 'KUBE_ALREADY_EXISTS user' },
    { http: 422, reason: 'Invalid', want: 'KUBE_INVALID user' },
    { http: 429, reason: 'TooManyRequests', want: 'KUBE_THROTTLED transient' },
    { http: 500, reason: 'InternalError', want: 'KUBE_SERVER_ERROR transient' },
    { http: 503, reason: 'ServiceUnavailable', want: 'KUBE_SERVER_ERROR transient' },
    { http: 504, reason: 'Timeout', want: 'KUBE_TIMEOUT transient' },
    { http: 302, reason: '', want: 'KUBE_SERVER_ERROR transient' },
  ])('$http $reason is $want', async ({ http, reason, want }) => {
    const kube = connect({ server: await serve(good, status(http, reason, 'said')), caPem: good.certificatePem });
    expect(await codeOf(kube.replace(POD, pod))).toBe(want);
  });
  it('passes on what the server said, and never the credential', async () => {
    const kube = connect({ server: await serve(good, status(403, 'Forbidden', 'pods is forbidden: User "x" cannot list')), caPem: good.certificatePem });
    const message = await kube.list(POD).then(() => '', (error: unknown) => (error as Error).message);
    expect(message).toContain('User "x" cannot list');
    expect(message).not.toContain('t0ken');
  });
  it('a web page instead of an API is no API server', async () => {
    const kube = connect({ server: await serve(good, (_request, response) => response.end('<html>')), caPem: good.certificatePem });
    expect(await codeOf(kube.list(POD))).toBe('KUBE_SERVER_ERROR transient');
  });
});

describe('a connection that fails says which layer failed', () => {
  it('nobody listens', async () => {
    expect(await codeOf(connect({ server: 'https://127.0.0.1:1' }).list(POD))).toBe('KUBE_UNREACHABLE transient');
  });
  it('the name does not resolve', async () => {
    expect(await codeOf(connect({ server: 'https://absent.invalid' }).list(POD))).toBe('KUBE_DNS transient');
  });
  it('the CA is another', async () => {
    const other = await makeIdentity({ commonName: 'other' });
    const kube = connect({ server: await serve(good, status(200, '', '')), caPem: other.certificatePem });
    expect(await codeOf(kube.list(POD))).toBe('KUBE_TLS_UNTRUSTED user');
  });
  it('the server certificate has expired', async () => {
    const old = await makeIdentity({ commonName: 'old', notAfterMs: Date.now() - DAY_MS });
    const kube = connect({ server: await serve(old, status(200, '', '')), caPem: old.certificatePem });
    expect(await codeOf(kube.list(POD))).toBe('KUBE_TLS_EXPIRED user');
  });
  it('the server certificate is for another name, unless tls-server-name says that it is meant', async () => {
    const named = await makeIdentity({ commonName: 'named', name: 'api.example' });
    const server = await serve(named, (_request, response) => response.end(JSON.stringify({ items: [], metadata: { resourceVersion: '1' } })));
    expect(await codeOf(connect({ server, caPem: named.certificatePem }).list(POD))).toBe('KUBE_TLS_NAME user');
    expect(await codeOf(connect({ server, caPem: named.certificatePem, tlsServerName: 'api.example' }).list(POD))).toBe('none');
  });
  it('the server does not answer in time', async () => {
    const kube = connect({ server: await serve(good, () => undefined), caPem: good.certificatePem }, { deadlineMs: 50 });
    expect(await codeOf(kube.list(POD))).toBe('KUBE_TIMEOUT transient');
  });
  it('the server does not speak TLS', async () => {
    const plain = createPlainServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n', () => socket.destroy());
    });
    plains.push(plain);
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    expect(await codeOf(connect({ server: `https://127.0.0.1:${(plain.address() as AddressInfo).port}` }).list(POD))).toBe('KUBE_TLS transient');
  });
  it('the name resolves to where the hub does not call', async () => {
    const server = (await serve(good, status(200, '', ''))).replace('127.0.0.1', 'localhost');
    const kube = connect({ server, caPem: good.certificatePem }, { isAddressAllowed: () => false });
    expect(await codeOf(kube.list(POD))).toBe('KUBE_ADDRESS_REFUSED user');
  });
  it('a client certificate that has expired is told from any other 401', async () => {
    const expired = await makeIdentity({ commonName: 'hub', notAfterMs: Date.now() - DAY_MS });
    const server = await serve(good, status(401, 'Unauthorized', 'Unauthorized'));
    const kube = connect({ server, caPem: good.certificatePem, credential: { kind: 'client-certificate', certificatePem: expired.certificatePem, key: new Secret(expired.keyPem) } });
    expect(await codeOf(kube.list(POD))).toBe('KUBE_CLIENT_CERT_EXPIRED user');
  });
});

function endless(response: ServerResponse): void {
  response.on('error', () => undefined);
  const send = (): void => {
    if (!response.destroyed) response.write('{"x":'.repeat(1_000), send);
  };
  send();
}

describe('lists and watches survive what servers do', () => {
  const item = (name: string, resourceVersion: string): object => ({ metadata: { name, namespace: 'ai', uid: `uid-${name}`, resourceVersion } });
  const list = (items: readonly object[], resourceVersion: string, more = ''): string => JSON.stringify({ kind: 'PodList', items, metadata: { resourceVersion, continue: more } });
  const event = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;

  it('a list is read page by page, and starts again when its continue token expires', async () => {
    const asked: string[] = [];
    const server = await serve(good, (request, response) => {
      const token = new URL(request.url ?? '', 'https://x').searchParams.get('continue');
      asked.push(token ?? 'start');
      if (token === null) response.end(list([item('a', '1')], '5', asked.length === 1 ? 'old' : 'new'));
      else if (token === 'old') status(410, 'Expired', 'too old')(request, response);
      else response.end(list([item('b', '2')], '5'));
    });
    const names = (await connect({ server, caPem: good.certificatePem }).list(POD)).map((object) => `${object.kind} ${object.metadata.name}`);
    expect({ names, asked }).toEqual({ names: ['Pod a', 'Pod b'], asked: ['start', 'old', 'start', 'new'] });
  });

  describe('a hostile server is broken off', () => {
    const limits = { answerBytesMax: 10_000, listLimits: { pageObjects: 10, pagesMax: 5, objectsMax: 20 } };

    it.each<{ readonly says: string; readonly handler: Handler; readonly options?: Partial<HttpKubeOptions>; readonly want: string }>([
      { says: 'that says for ever that there is more', handler: (_request, response) => response.end(list([], '5', 'more')), want: 'KUBE_LIST_TOO_LARGE user' },
      { says: 'that sends more objects than were asked for', handler: (_request, response) => response.end(list(Array.from({ length: 21 }, (_, n) => item(`p${n}`, '1')), '5')), want: 'KUBE_LIST_TOO_LARGE user' },
      { says: 'that sends without end', handler: (_request, response) => endless(response), want: 'KUBE_ANSWER_TOO_LARGE user' },
      { says: 'that sends one byte at a time', handler: (_request, response) => response.write('{'), options: { deadlineMs: 50 }, want: 'KUBE_TIMEOUT transient' },
      { says: 'that leads elsewhere', handler: (_request, response) => response.writeHead(307, { location: 'https://169.254.169.254/' }).end(), want: 'KUBE_SERVER_ERROR transient' },
      { says: 'that sends a list of nothing', handler: (_request, response) => response.end('null'), want: 'KUBE_SERVER_ERROR transient' },
    ])('$says', async ({ handler, options, want }) => {
      const kube = connect({ server: await serve(good, handler), caPem: good.certificatePem }, { ...limits, ...options });
      expect(await codeOf(kube.list(POD))).toBe(want);
    });

    it('that answers each call just in time ends a visit once its time is over', async () => {
      const clock = new FakeClock();
      const server = await serve(good, (_request, response) => void clock.advance(40_000).then(() => response.end(list([], '5', 'more'))));
      const kube = connect({ server, caPem: good.certificatePem }, { clock, lifeMs: 60_000 });
      expect(await codeOf(kube.list(POD))).toBe('KUBE_TIMEOUT transient');
    });

    it('that has control characters in its words does not pass them on', async () => {
      const kube = connect({ server: await serve(good, (_request, response) => response.end(JSON.stringify({ gitVersion: `v1\u0000${'x'.repeat(500)}` }))), caPem: good.certificatePem });
      const { version } = await kube.serverInfo();
      expect(version).toBe(`v1 ${'x'.repeat(61)}`);
    });
  });

  it('a list is trimmed object by object', async () => {
    const server = await serve(good, (_request, response) => response.end(list([item('a', '1')], '5')));
    const kube = connect({ server, caPem: good.certificatePem });
    expect(await kube.list(POD, { trim: ({ metadata }) => ({ apiVersion: '', kind: '', metadata: { name: metadata.name } }) })).toEqual([{ apiVersion: '', kind: '', metadata: { name: 'a' } }]);
  });

  it('an object that its reader fails on is handed over again, not taken for known', async () => {
    const server = await serve(good, (_request, response) => response.end(list([item('a', '1')], '5')));
    const kube = connect({ server, caPem: good.certificatePem });
    let attempts = 0;
    await new Promise<void>((resolve) => {
      kube.watch(POD, {}, {
        upsert: () => {
          attempts += 1;
          if (attempts === 1) throw new Error('a bug of the reader');
          resolve();
        },
        remove: () => undefined,
        synced: () => undefined,
      });
    });
    expect(attempts).toBe(2);
  });

  /** A server that answers each request with the next step of a script. */
  async function scripted(steps: readonly ((response: ServerResponse, query: URLSearchParams) => void)[]): Promise<{ readonly server: string; readonly done: Promise<void> }> {
    let next = 0;
    let finish: () => void;
    const done = new Promise<void>((resolve) => (finish = resolve));
    const server = await serve(good, (request, response) => {
      const step = steps[next];
      next += 1;
      if (step !== undefined) step(response, new URL(request.url ?? '', 'https://x').searchParams);
      if (next === steps.length) finish();
    });
    return { server, done };
  }

  function follow(server: string): { readonly events: string[]; readonly until: (event: string) => Promise<void> } {
    const events: string[] = [];
    const waiting = new Map<string, () => void>();
    const note = (text: string): void => {
      events.push(text);
      waiting.get(text)?.();
    };
    const kube = connect({ server, caPem: good.certificatePem });
    kube.watch(POD, {}, {
      upsert: (object) => note(`upsert ${object.metadata.name} ${object.metadata.resourceVersion}`),
      remove: (object) => note(`remove ${object.metadata.name}`),
      synced: () => note('synced'),
      connection: (sinceMs) => note(sinceMs === undefined ? 'back' : 'lost'),
    });
    return { events, until: async (text) => (events.includes(text) ? undefined : new Promise((resolve) => waiting.set(text, resolve))) };
  }

  it('a stream that the server ends is resumed from the last bookmark, without a loss', async () => {
    let resumedFrom: string | null = null;
    const { server } = await scripted([
      (response) => response.end(list([item('a', '1')], '5')),
      (response) => response.end(event('MODIFIED', item('a', '6')) + event('BOOKMARK', { metadata: { resourceVersion: '9' } })),
      (response, query) => {
        resumedFrom = query.get('resourceVersion');
        response.write(event('ADDED', item('b', '10')));
      },
    ]);
    const { events, until } = follow(server);
    await until('upsert b 10');
    expect(resumedFrom).toBe('9');
    expect(events).toEqual(['upsert a 1', 'synced', 'upsert a 6', 'upsert b 10']);
  });
  it('an expired version makes a new list: what is gone is removed, what is unchanged is not repeated, synced comes once', async () => {
    const { server } = await scripted([
      (response) => response.end(list([item('a', '1'), item('b', '2')], '5')),
      (response) => response.end(event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' })),
      (response) => response.end(list([item('b', '2'), item('c', '8')], '9')),
      (response) => response.write(event('DELETED', item('b', '10'))),
    ]);
    const { events, until } = follow(server);
    await until('remove b');
    expect(events).toEqual(['upsert a 1', 'upsert b 2', 'synced', 'upsert c 8', 'remove a', 'remove b']);
  });
  it('a server that breaks is lost, asked again, and back', async () => {
    const { server } = await scripted([
      (response) => response.end(list([item('a', '1')], '5')),
      (response) => {
        response.write(event('ADDED', item('b', '6')));
        setImmediate(() => response.destroy());
      },
      (response) => {
        response.statusCode = 503;
        response.end('no');
      },
      (response) => response.write(event('ADDED', item('c', '7'))),
    ]);
    const { events, until } = follow(server);
    await until('upsert c 7');
    expect(events).toEqual(['upsert a 1', 'synced', 'upsert b 6', 'lost', 'back', 'upsert c 7']);
  });
  it('an event that is cut anywhere is put together again', async () => {
    const { server } = await scripted([
      (response) => response.end(list([], '5')),
      (response) => {
        const text = event('ADDED', item('ä', '6'));
        const bytes = Buffer.from(text);
        const middle = bytes.indexOf(0xc3) + 1;
        response.write(bytes.subarray(0, middle));
        setImmediate(() => response.write(bytes.subarray(middle)));
      },
    ]);
    const { until } = follow(server);
    await until('upsert ä 6');
  });
});

describe('tokens', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spillway-kube-'));
    await writeFile(join(folder, 'ca.crt'), 'CA');
    await writeFile(join(folder, 'token'), 'one\n');
  });
  afterAll(async () => rm(folder, { recursive: true }));
  it('a token file is read again after its time, and at once when the server refuses the token', async () => {
    const clock = new FakeClock();
    const token = fileToken(join(folder, 'token'), clock);
    const read = async (renew = false): Promise<string> => (await token.current(renew)).reveal();
    await writeFile(join(folder, 'token'), 'one\n');
    expect(await read()).toBe('one');
    await writeFile(join(folder, 'token'), 'two\n');
    expect([await read(), await read(true)]).toEqual(['one', 'two']);
    await writeFile(join(folder, 'token'), 'three\n');
    await clock.advance(TOKEN_FILE_TTL_MS);
    expect(await read()).toBe('three');
  });
  it('a refused token is renewed once within the request', async () => {
    await writeFile(join(folder, 'token'), 'old');
    const token = fileToken(join(folder, 'token'), new FakeClock());
    await token.current(false);
    await writeFile(join(folder, 'token'), 'new');
    const server = await serve(good, (request, response) => {
      if (request.headers.authorization === 'Bearer new') response.end(JSON.stringify({ items: [], metadata: { resourceVersion: '1' } }));
      else status(401, 'Unauthorized', 'Unauthorized')(request, response);
    });
    expect(await connect({ server, caPem: good.certificatePem, credential: { kind: 'token', token } }).list(POD)).toEqual([]);
  });
  it('a pod connects to its own cluster by what the kubelet gives it', async () => {
    const connection = await inClusterConnection({ host: 'fd00::1', port: '443', clock: new FakeClock(), folder });
    expect(connection).toMatchObject({ server: 'https://[fd00::1]:443', caPem: 'CA', credential: { kind: 'token' } });
  });
});
