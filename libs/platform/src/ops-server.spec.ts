import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createRegistry, startOpsServer, type OpsServer } from './index.js';

describe('the operations door', () => {
  let reason: string | undefined;
  let server: OpsServer;
  beforeEach(async () => {
    reason = undefined;
    server = await startOpsServer({ host: '127.0.0.1', port: 0, registry: createRegistry('test'), readiness: { store: () => reason } });
  });
  afterEach(() => server.close());

  const get = async (path: string): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await fetch(`${server.url}${path}`);
    return { status: response.status, text: await response.text() };
  };

  it('says that the process runs', async () => expect(await get('/healthz')).toEqual({ status: 200, text: 'ok\n' }));

  it('says ready, and every reason when not', async () => {
    expect(await get('/readyz')).toEqual({ status: 200, text: 'ok\n' });
    reason = 'not connected';
    expect(await get('/readyz')).toEqual({ status: 503, text: 'store: not connected\n' });
  });

  it('serves metrics with the app label', async () => expect((await get('/metrics')).text).toContain('process_resident_memory_bytes{app="test"}'));

  it('names its doors on any other path', async () => expect((await get('/')).status).toBe(404));
});
