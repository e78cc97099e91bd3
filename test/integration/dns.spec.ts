import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';

import { createAuthority, issueServing } from '#adapters/certificates';
import { startXdsServer, type XdsServer } from '#adapters/xds-grpc';
import { clusterId } from '#domain/fleet';
import type { Frontend, PlannedBackend, PlannedBackendId } from '#domain/routing-plan';
import { renderXdsSnapshot } from '#domain/xds-snapshot';
import { createLogger, SystemClock } from '#platform';
import { until } from '#testing';

import { startDnsRole, type DnsRole } from '../../apps/spoke/src/dns/index.js';

const run = promisify(execFile);
const hasDig = spawnSync('dig', ['-v']).error === undefined;
if (!hasDig) process.stderr.write('SKIPPED the dns role over real DNS: this machine lacks dig\n');

const TOKEN = 'token-of-the-dns-pod';
const LIFE_MS = 60 * 60 * 1000;
const MODEL = 'composite:ai/model/80/TCP' as PlannedBackendId;
const backend: PlannedBackend = { id: MODEL, protocol: 'TCP', affinity: undefined, trafficDistribution: 'None', providers: [] };

const frontend = (name: string, addresses: readonly string[]): Frontend => ({
  kind: 'gateway',
  callers: undefined,
  isHeadless: false,
  namespace: 'ai',
  name,
  addresses,
  dnsNames: [`${name}.ai.gw.cluster.local`],
  listeners: [{ name: 'http', port: 80, protocol: 'TCP', uses: [{ backend: MODEL, weight: 1 }], rejectWeight: 0 }],
});
const manyAddresses = Array.from({ length: 120 }, (_, index) => `172.30.1.${index}`);
const importOf = (name: string, addresses: readonly string[], backendId: PlannedBackendId): Frontend => ({
  ...frontend(name, addresses),
  kind: 'service-import',
  isHeadless: addresses.length === 0,
  namespace: 'shop',
  dnsNames: [`${name}.shop.svc.clusterset.local`],
  listeners: [{ name: 'tcp', port: 42, protocol: 'TCP', uses: [{ backend: backendId, weight: 1 }], rejectWeight: 0 }],
});
const DB = 'import:shop/db/42/TCP' as PlannedBackendId;
const databases: PlannedBackend = {
  ...backend,
  id: DB,
  providers: [{ clusterId: clusterId('east'), locality: { region: '', zone: '' }, path: 'direct', shareBp: 10_000, endpoints: [{ address: '10.1.0.1', port: 42, state: 'ready', zone: '', node: '', hostname: 'db-0' }] }],
};
const frontends = [frontend('model', ['172.30.0.41', 'fd00:30::29']), frontend('wide', manyAddresses), importOf('cart', ['10.96.0.7'], MODEL), importOf('db', [], DB)];

/** What dig saw: the status, flags, records of each section. */
interface Dug {
  readonly status: string;
  readonly flags: readonly string[];
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  readonly additionals: readonly string[];
}

(hasDig ? describe : describe.skip)('the dns role over real DNS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-dns-'));
  const logger = createLogger({ app: 'test', level: 'silent' });
  const tokens: (string | undefined)[] = [];
  let controller: XdsServer;
  let role: DnsRole;

  beforeAll(async () => {
    const validity = { nowMs: Date.now(), backdateMs: 60_000, lifeMs: LIFE_MS };
    const authority = await createAuthority('test', validity);
    const serving = await issueServing(authority, ['spillway-spoke-controller.spillway-system.svc'], validity);
    writeFileSync(join(folder, 'ca.crt'), authority.certificatePem);
    writeFileSync(join(folder, 'token'), `${TOKEN}\n`);
    controller = await startXdsServer({
      host: '127.0.0.1',
      port: 0,
      tls: { certPem: serving.certificatePem, keyPem: serving.privateKeyPem },
      authenticate: async ({ authorization }) => {
        tokens.push(authorization);
        return authorization === `Bearer ${TOKEN}` ? { ok: true, identity: 'spillway-spoke-dns', nodeId: 'dns-1' } : { ok: false, message: 'unknown token' };
      },
      clock: new SystemClock(),
      logger,
      registry: new Registry(),
    });
    role = await startDnsRole(
      {
        SPILLWAY_POD_NAME: 'dns-1',
        SPILLWAY_DNS_HOST: '127.0.0.1',
        SPILLWAY_DNS_PORT: '0',
        SPILLWAY_OPS_HOST: '127.0.0.1',
        SPILLWAY_OPS_PORT: '0',
        SPILLWAY_SPOKE_CONTROLLER_SERVICE_HOST: '127.0.0.1',
        SPILLWAY_SPOKE_CONTROLLER_SERVICE_PORT: String(controller.port),
        SPILLWAY_XDS_CA_FILE: join(folder, 'ca.crt'),
        SPILLWAY_XDS_TOKEN_FILE: join(folder, 'token'),
        SPILLWAY_DNS_STOP_DELAY_MS: '0',
      },
      { logger },
    );
  });

  afterAll(async () => {
    await role.stop();
    await controller.close();
    rmSync(folder, { recursive: true });
  });

  async function dig(...args: string[]): Promise<Dug> {
    const { stdout } = await run('dig', ['@127.0.0.1', '-p', String(role.dnsPort), '+tries=1', '+time=5', '+nocookie', ...args]);
    const section = (name: string): string[] => {
      const text = new RegExp(`;; ${name} SECTION:\\n([\\s\\S]*?)\\n\\n`).exec(`${stdout}\n\n`)?.[1] ?? '';
      return text.split('\n').filter((line) => line !== '').map((line) => line.split(/\s+/).join(' '));
    };
    return {
      status: /status: ([A-Z]+)/.exec(stdout)?.[1] ?? `none in: ${stdout}`,
      flags: (/;; flags: ([a-z ]*);/.exec(stdout)?.[1] ?? '').split(' '),
      answers: section('ANSWER'),
      authorities: section('AUTHORITY'),
      additionals: section('ADDITIONAL'),
    };
  }

  it.each(['+notcp', '+tcp'])('says SERVFAIL before the controller has said anything (%s)', async (transport) => {
    expect(await dig(transport, 'model.ai.gw.cluster.local')).toMatchObject({ status: 'SERVFAIL', answers: [], authorities: [] });
  });

  describe('after the first sync', () => {
    beforeAll(async () => {
      controller.setSnapshot(renderXdsSnapshot({ frontends, backends: [backend, databases], gatewayPorts: [] }));
      await until('the role has the zone', async () => (await fetch(`${role.opsUrl}/readyz`)).status === 200);
    });

    describe.each(['+notcp', '+tcp'])('%s', (transport) => {
      it.each([
        { name: 'A', args: ['model.ai.gw.cluster.local', 'A'], want: { status: 'NOERROR', answers: ['model.ai.gw.cluster.local. 5 IN A 172.30.0.41'], authorities: [] } },
        { name: 'AAAA', args: ['model.ai.gw.cluster.local', 'AAAA'], want: { status: 'NOERROR', answers: ['model.ai.gw.cluster.local. 5 IN AAAA fd00:30::29'] } },
        { name: 'a name in other letters', args: ['MODEL.ai.GW.cluster.local', 'A'], want: { status: 'NOERROR', answers: ['MODEL.ai.GW.cluster.local. 5 IN A 172.30.0.41'] } },
        {
          name: 'SRV with the addresses of its target',
          args: ['_http._tcp.model.ai.gw.cluster.local', 'SRV'],
          want: {
            status: 'NOERROR',
            answers: ['_http._tcp.model.ai.gw.cluster.local. 5 IN SRV 0 100 80 model.ai.gw.cluster.local.'],
            additionals: ['model.ai.gw.cluster.local. 5 IN A 172.30.0.41', 'model.ai.gw.cluster.local. 5 IN AAAA fd00:30::29'],
          },
        },
        { name: 'another type', args: ['model.ai.gw.cluster.local', 'MX'], want: { status: 'NOERROR', answers: [], authorities: [expect.stringMatching(/^gw\.cluster\.local\. 5 IN SOA .* 5$/)] } },
        { name: 'an unknown name', args: ['other.ai.gw.cluster.local', 'A'], want: { status: 'NXDOMAIN', answers: [], authorities: [expect.stringMatching(/^gw\.cluster\.local\. 5 IN SOA .* 5$/)] } },
        { name: 'the apex', args: ['gw.cluster.local', 'NS'], want: { status: 'NOERROR', answers: ['gw.cluster.local. 5 IN NS spillway-spoke-dns.spillway-system.svc.cluster.local.'] } },
        { name: 'an import', args: ['cart.shop.svc.clusterset.local', 'A'], want: { status: 'NOERROR', answers: ['cart.shop.svc.clusterset.local. 5 IN A 10.96.0.7'] } },
        { name: 'SRV of an import itself', args: ['cart.shop.svc.clusterset.local', 'SRV'], want: { status: 'NOERROR', answers: ['cart.shop.svc.clusterset.local. 5 IN SRV 0 100 42 cart.shop.svc.clusterset.local.'] } },
        { name: 'a headless import', args: ['db.shop.svc.clusterset.local', 'A'], want: { status: 'NOERROR', answers: ['db.shop.svc.clusterset.local. 5 IN A 10.1.0.1'] } },
        { name: 'SRV of a headless import', args: ['_tcp._tcp.db.shop.svc.clusterset.local', 'SRV'], want: { status: 'NOERROR', answers: ['_tcp._tcp.db.shop.svc.clusterset.local. 5 IN SRV 0 100 42 db-0.east.db.shop.svc.clusterset.local.'], additionals: ['db-0.east.db.shop.svc.clusterset.local. 5 IN A 10.1.0.1'] } },
        { name: 'the version', args: ['dns-version.clusterset.local', 'TXT'], want: { status: 'NOERROR', answers: ['dns-version.clusterset.local. 5 IN TXT "1.0.0"'] } },
        { name: 'an unknown import', args: ['other.shop.svc.clusterset.local', 'AAAA'], want: { status: 'NXDOMAIN', answers: [], authorities: [expect.stringMatching(/^clusterset\.local\. 5 IN SOA .* 5$/)] } },
        { name: 'a name that is not ours', args: ['kubernetes.default.svc.cluster.local', 'A'], want: { status: 'REFUSED', answers: [] } },
      ])('$name', async ({ args, want }) => {
        const dug = await dig(transport, ...args);
        expect(dug).toMatchObject(want);
        expect(dug.flags.includes('aa')).toBe(want.status !== 'REFUSED');
        expect(dug.flags).not.toContain('ra');
      });
    });

    it('a long answer is truncated over UDP, and dig gets it whole by asking again over TCP', async () => {
      const truncated = await dig('+notcp', '+ignore', 'wide.ai.gw.cluster.local', 'A');
      expect(truncated.status).toBe('NOERROR');
      expect(truncated.answers.length).toBeLessThan(manyAddresses.length);
      expect(truncated.flags).toContain('tc');
      const whole = await dig('+notcp', 'wide.ai.gw.cluster.local', 'A');
      expect(whole.answers).toHaveLength(manyAddresses.length);
      expect(new Set(whole.answers.map((answer) => answer.split(' ').at(-1)))).toEqual(new Set(manyAddresses));
    });

    it('a client without EDNS and one with cookies are answered alike', async () => {
      expect((await dig('+noedns', 'model.ai.gw.cluster.local', 'A')).answers).toHaveLength(1);
      expect((await dig('+cookie', 'model.ai.gw.cluster.local', 'A')).answers).toHaveLength(1);
    });

    it('the role showed its token over TLS, and nothing else got in', () => {
      expect(new Set(tokens)).toEqual(new Set([`Bearer ${TOKEN}`]));
      expect(controller.acknowledgements.streams()).toMatchObject([{ nodeId: 'dns-1', identity: 'spillway-spoke-dns' }]);
    });
  });
});
