import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

import { testbedProgram } from './project-paths.js';

/**
 * Starts a tiny watcher that ends the run when this process is gone, however it went: it waits for the end of a pipe whose
 * other end only this process holds. Returns how to call it off. Where the testbed is not built there is none; the next
 * start cleans up instead.
 */
export function startReaper(runId: string): () => void {
  const program = testbedProgram('main.js');
  if (!existsSync(program)) return () => undefined;
  const script = 'read -r word; [ "$word" = done ] || exec "$@" >/dev/null 2>&1';
  const child = spawn('sh', ['-c', script, 'spillway-testbed-reaper', process.execPath, program, 'down', '--run', runId], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  child.stdin.on('error', () => undefined);
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return () => {
    child.stdin.end('done\n');
  };
}
