import { readFileSync } from 'node:fs';

import { FleetError } from '#domain/fleet';
import type { EncryptionKey } from '#platform';

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

/** The secret box of a process's configuration. Throws ENCRYPTION_KEY_INVALID (`user`), also where the file cannot be read. */
export function openSecretBox(key: EncryptionKey): AesSecretBox {
  return createSecretBox('keys' in key ? key.keys.reveal() : readKeyFile(key.file));
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
