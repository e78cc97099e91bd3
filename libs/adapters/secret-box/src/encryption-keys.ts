import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';

import { FleetError } from '#domain/fleet';

import { AesSecretBox } from './aes-secret-box.js';

const KEY_BYTES = 32;

/**
 * A secret box from configured keys: 32 random bytes each, in base64 or hex, separated by commas or lines; the first seals.
 * Throws ENCRYPTION_KEY_INVALID (`user`).
 */
export function createSecretBox(keys: string): AesSecretBox {
  const [first, ...older] = keys.split(/[\s,]+/).filter((text) => text !== '').map(parseKey);
  if (first === undefined) throw invalid('no key is configured');
  return new AesSecretBox([first, ...older]);
}

/** The same from a file. Throws ENCRYPTION_KEY_INVALID where it cannot be read. */
export function createSecretBoxFromFile(file: string): AesSecretBox {
  return createSecretBox(readKeyFile(file));
}

/** A file's keys; makes the file with one new key where there is none. For the embedded default only. */
export function loadOrCreateKeyFile(file: string): AesSecretBox {
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    chmodSync(file, 0o600);
  }
  return createSecretBoxFromFile(file);
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw invalid(`the key file ${file} cannot be read`, error);
  }
}

function parseKey(text: string): Buffer {
  const bytes = /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  if (bytes.length !== KEY_BYTES) throw invalid(`a key has ${bytes.length} bytes`);
  return bytes;
}

const invalid = (what: string, cause?: unknown): FleetError =>
  new FleetError('ENCRYPTION_KEY_INVALID', 'user', `${what}; give 32 random bytes in base64 (openssl rand -base64 32)`, { cause });
