/**
 * Constant traffic from inside a pod: one new connection per request, at a fixed rate, for a bounded time. Prints one JSON
 * line per answer or failure when `--each` is given, and always one closing JSON line, a TrafficReport.
 *
 *   node traffic.js URL --rate 50 --seconds 10 [--each]
 */
import { request } from 'node:http';
import { parseArgs } from 'node:util';

/** What one run of traffic saw. */
export interface TrafficReport {
  readonly sent: number;
  readonly failed: number;
  /** Answers by the cluster that gave them. */
  readonly byCluster: Readonly<Record<string, number>>;
  /** Answers by the pod that gave them. */
  readonly byPod: Readonly<Record<string, number>>;
  /** Failures by their error code. */
  readonly errors: Readonly<Record<string, number>>;
  /** Slowest answer. */
  readonly latencyMsMax: number;
}

/** One request's outcome. */
export interface TrafficAnswer {
  readonly atMs: number;
  readonly cluster?: string;
  readonly pod?: string;
  readonly error?: string;
  readonly latencyMs: number;
}

const REQUEST_TIMEOUT_MS = 5_000;

async function ask(url: string): Promise<TrafficAnswer> {
  const atMs = Date.now();
  try {
    const body = await get(url);
    const { cluster, pod } = JSON.parse(body) as { readonly cluster: string; readonly pod: string };
    return { atMs, cluster, pod, latencyMs: Date.now() - atMs };
  } catch (error) {
    const code = (error as { readonly code?: string }).code ?? (error instanceof Error ? error.message : String(error));
    return { atMs, error: code, latencyMs: Date.now() - atMs };
  }
}

function get(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent: false, timeout: REQUEST_TIMEOUT_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve(body));
      response.on('error', reject);
    });
    call.on('timeout', () => call.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    call.on('error', reject);
    call.end();
  });
}

function summarise(answers: readonly TrafficAnswer[]): TrafficReport {
  const failures = answers.filter((answer) => answer.cluster === undefined);
  const byCluster = countBy(answers, (answer) => answer.cluster);
  const byPod = countBy(answers, (answer) => answer.pod);
  const errors = countBy(failures, (answer) => answer.error ?? 'unknown');
  return { sent: answers.length, failed: failures.length, byCluster, byPod, errors, latencyMsMax: answers.reduce((most, answer) => Math.max(most, answer.latencyMs), 0) };
}

function countBy(answers: readonly TrafficAnswer[], keyOf: (answer: TrafficAnswer) => string | undefined): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const key = keyOf(answer);
    if (key !== undefined) counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

async function run(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rate: { type: 'string', default: '20' }, seconds: { type: 'string', default: '5' }, each: { type: 'boolean', default: false } },
  });
  const url = positionals[0];
  if (url === undefined) throw new Error('usage: traffic URL [--rate N] [--seconds N] [--each]');
  const intervalMs = 1000 / Number(values.rate);
  const total = Math.ceil(Number(values.rate) * Number(values.seconds));
  const pending: Promise<TrafficAnswer>[] = [];
  let stopped = false;
  const stop = (): void => {
    stopped = true;
  };
  process.on('SIGTERM', stop);
  // Whoever started it is gone.
  process.stdin.on('end', stop).on('error', stop).resume();
  const startMs = performance.now();
  for (let sent = 0; sent < total && !stopped; sent += 1) {
    const waitMs = startMs + sent * intervalMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const answer = ask(url);
    pending.push(answer);
    if (values.each) void answer.then((one) => process.stdout.write(`${JSON.stringify(one)}\n`));
  }
  process.stdout.write(`${JSON.stringify(summarise(await Promise.all(pending)))}\n`);
  process.stdin.destroy();
}

await run();
