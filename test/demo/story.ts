import type { TrafficReport } from '../fleet/traffic.js';

/** Says what happens, line by line, with the seconds since the start. */
export class Story {
  readonly #startMs = performance.now();
  readonly #failures: string[] = [];

  say(text: string): void {
    const seconds = ((performance.now() - this.#startMs) / 1000).toFixed(1).padStart(6);
    process.stdout.write(`${seconds} s  ${text}\n`);
  }

  chapter(title: string): void {
    process.stdout.write(`\n${title}\n`);
  }

  /** Says a finding, and keeps it as a failure where it is not so. */
  expect(isSo: boolean, text: string): void {
    this.say(`${isSo ? '✔' : '✖'} ${text}`);
    if (!isSo) this.#failures.push(text);
  }

  /** Draws who answered as bars, one line per cluster. */
  answers(from: string, report: TrafficReport): void {
    this.say(`${report.sent} requests from a pod in ${from}: ${report.failed} failed, slowest ${report.latencyMsMax} ms`);
    for (const [cluster, count] of Object.entries(report.byCluster).sort(([a], [b]) => (a < b ? -1 : 1))) {
      const share = count / report.sent;
      process.stdout.write(`          ${cluster.padEnd(9)} ${'█'.repeat(Math.round(share * 40)).padEnd(40)} ${(share * 100).toFixed(0).padStart(3)} %\n`);
    }
    for (const [error, count] of Object.entries(report.errors)) process.stdout.write(`          ${error}: ${count}\n`);
  }

  /** 0 when everything held, else 1 after naming what did not. */
  exitCode(): number {
    if (this.#failures.length === 0) return 0;
    process.stdout.write(`\nnot as it should be:\n${this.#failures.map((failure) => `  ✖ ${failure}`).join('\n')}\n`);
    return 1;
  }
}
