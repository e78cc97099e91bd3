import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { lastWill } from './last-will.js';

/**
 * A new temporary folder that other users may pass through: PostgreSQL never runs as root, but as a user of its own. It goes
 * with this process, however that ends, should nobody remove it before.
 */
export function openFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  chmodSync(folder, 0o711);
  lastWill().removeFolder(folder);
  return folder;
}
