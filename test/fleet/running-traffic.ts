import type { ChildProcess } from 'node:child_process';

import type { TrafficReport } from './traffic.js';

/** Constant traffic that runs until it is stopped. */
export class RunningTraffic {
  readonly #from: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #out = '';
  #err = '';

  constructor(from: string, child: ChildProcess) {
    this.#from = from;
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#out += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#err += text));
    this.#ended = new Promise((resolve) => child.once('close', () => resolve()));
  }

  /** Ends it, waits for the answers under way, and returns what it saw. */
  async stop(): Promise<TrafficReport> {
    this.#child.kill('SIGTERM');
    await this.#ended;
    const line = this.#out.trim().split('\n').at(-1) ?? '';
    if (!line.startsWith('{')) throw new Error(`traffic in ${this.#from} failed: ${this.#err}`);
    return JSON.parse(line) as TrafficReport;
  }
}

/** What several runs of traffic saw together. */
export function sumTraffic(reports: readonly TrafficReport[]): TrafficReport {
  const count = (pick: (report: TrafficReport) => Readonly<Record<string, number>>): Record<string, number> => {
    const sum: Record<string, number> = {};
    for (const report of reports) for (const [key, value] of Object.entries(pick(report))) sum[key] = (sum[key] ?? 0) + value;
    return sum;
  };
  return {
    sent: reports.reduce((sum, report) => sum + report.sent, 0),
    failed: reports.reduce((sum, report) => sum + report.failed, 0),
    byCluster: count((report) => report.byCluster),
    byPod: count((report) => report.byPod),
    errors: count((report) => report.errors),
    latencyMsMax: Math.max(0, ...reports.map((report) => report.latencyMsMax)),
  };
}
