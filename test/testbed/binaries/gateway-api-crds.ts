import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { downloadGoModule } from './build-with-go.js';
import { withLock } from './cache-lock.js';
import { withProgress } from './progress.js';
import { binaryCacheDirectory } from './resolve-binary.js';

/** The Gateway API release whose definitions members have. */
export const GATEWAY_API_VERSION = 'v1.6.3';

/**
 * The YAML of every custom resource definition of Gateway API's experimental channel: from the cache, else from its Go module.
 * Its policy that guards upgrades between channels is left out; a testbed cluster never upgrades.
 */
export async function gatewayApiCrds(env: NodeJS.ProcessEnv = process.env): Promise<readonly string[]> {
  const folder = join(binaryCacheDirectory(env), 'gateway-api-crds', GATEWAY_API_VERSION, 'experimental');
  if (!existsSync(folder)) {
    const waiting = (): void => {
      process.stderr.write('testbed: another run is getting the Gateway API definitions; waiting\n');
    };
    await withLock(`${folder}.lock`, waiting, () => fillFolder(folder));
  }
  return readdirSync(folder)
    .filter((name) => name.startsWith('gateway.') && !name.includes('_vap_'))
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

async function fillFolder(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  const parent = join(folder, '..');
  mkdirSync(parent, { recursive: true });
  const module = await withProgress(`Gateway API ${GATEWAY_API_VERSION} definitions: downloading the Go module`, () => downloadGoModule('sigs.k8s.io/gateway-api', GATEWAY_API_VERSION));
  const scratch = mkdtempSync(join(parent, '.getting-'));
  try {
    cpSync(join(module.Dir, 'config', 'crd', 'experimental'), join(scratch, 'experimental'), { recursive: true });
    renameSync(join(scratch, 'experimental'), folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
