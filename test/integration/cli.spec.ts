import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { freePorts } from '../fleet/free-ports.js';
import { lastWill } from '../fleet/last-will.js';
import { openFolder } from '../fleet/open-folder.js';
import { until } from '../fleet/until.js';

const MAIN = join(process.cwd(), 'dist/apps/cli/src/main.js');

interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The command as a user has it: a process of its own, against a hub that `spillway up` started. */
describe('the spillway command', () => {
  const home = mkdtempSync(join(tmpdir(), 'spillway-cli-home-'));
  const data = openFolder('spillway-cli-data-');
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: join(home, 'config') };
  let up: ChildProcess;
  let upOutput = '';

  const cli = (...args: readonly string[]): CliResult => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { env, encoding: 'utf8' });
    return { code: status ?? -1, out: stdout, err: stderr };
  };

  beforeAll(async () => {
    const [people, machines, worker] = await freePorts(3);
    up = spawn(process.execPath, [MAIN, 'up', '--data', data, '--advertise', '127.0.0.1', '--people-port', String(people), '--machine-port', String(machines), '--worker-port', String(worker), '--log-level', 'error'], { env });
    lastWill().endProcess(up.pid ?? 0);
    for (const stream of [up.stdout, up.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (upOutput += text));
    await until('spillway up says that it is up', () => {
      if (up.exitCode !== null) throw new Error(`spillway up ended with ${up.exitCode}: ${upOutput}`);
      return upOutput.includes('spillway join NAME');
    });
  }, 120_000);
  afterAll(async () => {
    up.kill('SIGTERM');
    await until('spillway up has ended', () => up.exitCode !== null || up.signalCode !== null);
    rmSync(home, { recursive: true, force: true });
    rmSync(data, { recursive: true, force: true });
  }, 60_000);

  it('up prints where people, spokes and the token are, and keeps the token out of what it prints', () => {
    expect(upOutput).toMatch(/GraphQL {3}http:\/\/127\.0\.0\.1:\d+\/graphql/);
    expect(upOutput).toMatch(/spokes {4}https:\/\/127\.0\.0\.1:\d+/);
    expect(upOutput).not.toMatch(/spw-admin-[A-Za-z0-9_-]{20}/);
    expect(statSync(join(data, 'admin-token')).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, 'config/spillway/config.yaml')).mode & 0o777).toBe(0o600);
  });

  it('clusters says that there is nothing to show, on stderr, and an empty list in JSON', () => {
    expect(cli('clusters')).toEqual({ code: 0, out: '', err: 'nothing to show\n' });
    expect(JSON.parse(cli('clusters', '-o', 'json').out)).toEqual([]);
  });

  it('join --print registers the cluster and prints one command with a token, and again for a spoke that joins anew', () => {
    for (let round = 1; round <= 2; round += 1) {
      const joined = cli('join', 'edge-1', '--print', '--region', 'eu-north', '--label', 'tier=gpu', '--network', 'edge');
      expect(joined.code).toBe(0);
      expect(joined.out).toMatch(/^helm upgrade --install spillway-spoke [\s\S]+--set-string joinToken=spw1\.[A-Za-z0-9_-]+\n$/);
    }
    expect(cli('clusters').out).toMatch(/^NAME\s+FRESHNESS\s+SEEN[\s\S]*\nedge-1\s+joining\s+never/);
    expect(JSON.parse(cli('clusters', 'edge-1', '-o', 'json').out)).toMatchObject({ name: 'edge-1', network: 'edge', labels: [{ key: 'tier', value: 'gpu' }] });
  });

  it('policy sameness set, list and delete keep a policy', () => {
    const set = cli('policy', 'sameness', 'set', 'ai', '--namespace', 'ai', '--namespace', 'ml-*', '--export', 'tier=gpu', '--import', 'all', '--owner', 'platform');
    expect(set.code).toBe(0);
    expect(set.err).toContain('tier=gpu may export, all clusters may import');
    expect(cli('policy', 'sameness', 'list').out).toMatch(/ai\s+ai, ml-\*\s+tier=gpu\s+all clusters\s+platform/);
    expect(cli('policy', 'sameness', 'delete', 'ai').code).toBe(0);
    expect(cli('policy', 'sameness', 'list', '-o', 'yaml').out).toBe('[]\n');
  });

  it('diagnose exits with 5 while a member has not joined, and says what to do', () => {
    const found = cli('diagnose');
    expect(found.code).toBe(5);
    expect(found.out).toMatch(/✖ edge-1 spoke: has not enrolled/);
    expect(found.out).toMatch(/✔ hub: answers at/);
  });

  it('freeze and resume work the brake, and diagnose says how to let it go', () => {
    expect(cli('freeze', '--reason', 'network work').err).toMatch(/automation is frozen since \S+: network work/);
    expect(cli('freeze', '--reason', 'another').err).toMatch(/frozen since \S+: network work/);
    expect(cli('diagnose').out).toMatch(/✖ automation: frozen since \S+: network work; `spillway resume` ends it/);
    expect(cli('resume')).toMatchObject({ code: 0, err: '✔ shares follow capacity again\n' });
    expect(cli('diagnose').out).toMatch(/✔ automation: shares follow capacity/);
  });

  it('declare-restore does nothing without --yes, and with it begins a new epoch', () => {
    const refused = cli('declare-restore');
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toMatch(/put back from a backup[\s\S]*run it again with --yes/);
    const epochs = [1, 2].map(() => /epoch (\S+) begins; 1 members are asked/.exec(cli('declare-restore', '--yes').err)?.[1]);
    expect(epochs.map((epoch) => epoch?.split('.')[0])).toEqual(['1', '2']);
  });

  const kubeconfig = (user: string): string => {
    const file = join(home, `kubeconfig-${user.replace(/\W+/g, '-')}`);
    writeFileSync(file, `apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: "https://203.0.113.10:6443"}}]\nusers: [{name: a, user: ${user}}]\n`);
    return file;
  };

  it.each([
    { name: 'an exec plug-in', args: () => ['join', 'x', '--kubeconfig', kubeconfig('{exec: {command: sh}}')], code: 1, err: /KUBECONFIG_EXEC at kubeconfig\.users\[0\]\.user\.exec/ },
    { name: 'a name that is no label', args: () => ['join', 'No_Label', '--kubeconfig', kubeconfig('{token: t}')], code: 1, err: /name/ },
    { name: 'a file that is not there', args: () => ['join', 'x', '--kubeconfig', join(home, 'nothing')], code: 2, err: /cannot read/ },
    { name: 'neither way into the cluster', args: () => ['join', 'x'], code: 2, err: /pass --kubeconfig FILE, or --print/ },
    { name: 'an unknown output format', args: () => ['clusters', '-o', 'xml'], code: 2, err: /use one of table, json, yaml/ },
    { name: 'a freeze without a reason', args: () => ['freeze'], code: 2, err: /--reason/ },
    { name: 'an unknown command', args: () => ['joyn'], code: 2, err: /unknown command[\s\S]*--help/ },
    { name: 'a cluster that is not there', args: () => ['clusters', 'nobody'], code: 1, err: /no cluster nobody/ },
    { name: 'a backend that nobody defines', args: () => ['backends', 'ai/none'], code: 1, err: /no cluster defines the backend ai\/none/ },
    { name: 'to let a cluster leave that joined by token', args: () => ['unjoin', 'edge-1'], code: 1, err: /no way into it[\s\S]*helm uninstall spillway-spoke[\s\S]*unjoin edge-1 --force/ },
    { name: 'to let a cluster leave that is not there', args: () => ['unjoin', 'nobody'], code: 1, err: /no cluster nobody[\s\S]*spillway clusters/ },
    { name: 'a wrong token', args: () => ['--token', 'wrong-wrong-wrong-wrong', 'clusters'], code: 1, err: /does not accept this token/ },
    { name: 'a hub that is not there', args: () => ['--hub', 'http://127.0.0.1:9', 'clusters'], code: 3, err: /cannot reach the hub at http:\/\/127\.0\.0\.1:9/ },
  ])('refuses $name with its own exit code and the next step', ({ args, code, err }) => {
    const result = cli(...args());
    expect(result).toMatchObject({ code, out: '' });
    expect(result.err).toMatch(err);
  });

  it('unjoin --force forgets a cluster at once and says what is left in it', async () => {
    const left = cli('unjoin', 'edge-1', '--force', '--wait');
    expect(left.code).toBe(0);
    expect(left.err).toContain('kubectl delete namespace spillway-system');
    expect(left.err).toContain('finalizer spillway.dev/address-protection');
    expect(cli('clusters').err).toBe('nothing to show\n');
  });
});
