import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

import { findProcess } from '../testbed/machine-room/process-identity.js';

/** What is done once the pipe's other end is gone: processes are killed if they are still the same ones, folders removed. */
const SCRIPT = `
newline='
'
processes= folders=
while read -r word rest; do
  case $word in
    process) processes="$processes$newline$rest" ;;
    folder) folders="$folders$newline$rest" ;;
  esac
done
IFS=$newline
for process in $processes; do
  pid=\${process% *}
  [ "$(cut -d ' ' -f 22 "/proc/$pid/stat" 2>/dev/null)" = "\${process#* }" ] && kill -9 "$pid"
done
for folder in $folders; do
  tries=0
  # A database that is still ending writes into its folder.
  until rm -rf "$folder" 2>/dev/null || [ "$tries" -ge 100 ]; do tries=$((tries + 1)); sleep 0.1; done
done
`;

/**
 * What becomes of a process's children and folders when it is gone, however it went: a shell of its own session waits on a
 * pipe that closes with this process, and clears up. What is gone by then costs it nothing.
 */
export class LastWill {
  readonly #pipe: Writable;

  constructor() {
    const child = spawn('sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], cwd: '/' });
    child.on('error', () => undefined);
    child.stdin.on('error', () => undefined);
    child.unref();
    (child.stdin as unknown as { unref(): void }).unref();
    this.#pipe = child.stdin;
  }

  /** Has a folder removed. */
  removeFolder(path: string): void {
    this.#pipe.write(`folder ${path}\n`);
  }

  /** Has a process killed. */
  endProcess(pid: number): void {
    const identity = findProcess(pid);
    if (identity !== undefined) this.#pipe.write(`process ${identity.pid} ${identity.startTicks}\n`);
  }

  /** As if this process were gone. */
  execute(): void {
    this.#pipe.end();
  }
}

let ours: LastWill | undefined;

/** The will of this process. */
export function lastWill(): LastWill {
  ours ??= new LastWill();
  return ours;
}
