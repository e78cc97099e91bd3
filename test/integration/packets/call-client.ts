// Runs inside a network namespace: reads calls as JSON lines `{host, port, localAddress?, count}` and answers each with one
// line of `{outcome: count}`: who answered, or the error's code, or `timeout`.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

interface Calls {
  readonly host: string;
  readonly port: number;
  readonly localAddress?: string;
  readonly count: number;
  readonly showCaller?: boolean;
}

const AT_ONCE = 64;
const TIMEOUT_MS = 2_000;

function call(calls: Calls): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: calls.host, port: calls.port, ...(calls.localAddress === undefined ? {} : { localAddress: calls.localAddress }) });
    let text = '';
    socket.setTimeout(TIMEOUT_MS, () => {
      resolve('timeout');
      socket.destroy();
    });
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
    socket.on('close', () => {
      if (text === '') return resolve('closed without an answer');
      const answer = JSON.parse(text) as { by: string; from: string };
      resolve(calls.showCaller === true ? `${answer.by} called by ${answer.from}` : answer.by);
    });
  });
}

async function run(calls: Calls): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  let left = calls.count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const outcome = await call(calls);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, calls.count) }, worker));
  return outcomes;
}

let turn = Promise.resolve();
createInterface({ input: process.stdin }).on('line', (line) => {
  turn = turn.then(async () => {
    process.stdout.write(`${JSON.stringify(await run(JSON.parse(line) as Calls))}\n`);
  });
});
// Whoever started this has ended, however it ended.
process.stdin.on('close', () => process.exit(0));
process.stdout.write('ready\n');
