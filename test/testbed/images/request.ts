import { lookup } from 'node:dns/promises';
import { Agent, request } from 'node:http';

/**
 * Sends requests and prints one line of JSON for each: `{"ms":3,"status":200,"body":…}` or `{"ms":3,"error":"ECONNREFUSED"}`.
 * Usage: request URL [COUNT [INTERVAL_MS]]. Each request takes a connection of its own and looks the name up anew.
 */
const [url = '', count = '1', intervalMs = '0'] = process.argv.slice(2);
const TIMEOUT_MS = 5_000;

for (let sent = 0; sent < Number(count); sent++) {
  process.stdout.write(`${JSON.stringify(await requestOnce(new URL(url)))}\n`);
  if (Number(intervalMs) > 0) await new Promise((resolve) => setTimeout(resolve, Number(intervalMs)));
}

async function requestOnce(target: URL): Promise<Record<string, unknown>> {
  const startedMs = performance.now();
  const elapsed = (): number => Math.round(performance.now() - startedMs);
  try {
    const { address } = await lookup(target.hostname, { family: 4 });
    const answer = await send(target, address);
    return { ms: elapsed(), address, ...answer };
  } catch (error) {
    return { ms: elapsed(), error: (error as NodeJS.ErrnoException).code ?? String(error) };
  }
}

function send(target: URL, address: string): Promise<{ status: number | undefined; body: unknown }> {
  return new Promise((resolve, reject) => {
    const options = { host: address, port: target.port === '' ? 80 : Number(target.port), path: `${target.pathname}${target.search}`, headers: { host: target.host }, agent: new Agent({ keepAlive: false }), timeout: TIMEOUT_MS };
    const outgoing = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, body: parsed(text) }));
      response.on('error', reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })));
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
