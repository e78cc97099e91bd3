import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

import { FleetError } from '#domain/fleet';
import { SecretBox } from '#ports';

const FORMAT = 1;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + KEY_ID_BYTES;

interface BoxKey {
  readonly id: Buffer;
  readonly key: Buffer;
}

/**
 * AES-256-GCM. Sealed bytes are: format, key id, nonce, ciphertext, tag. Format, key id and context are authenticated, so a
 * sealed text opens in its own context only. Nonces are random: with one key, up to 2^32 seals are safe (NIST SP 800-38D).
 */
export class AesSecretBox extends SecretBox {
  readonly #current: BoxKey;
  readonly #keys: ReadonlyMap<string, BoxKey>;

  /** The first key seals; the others only open, so that a key can be replaced step by step. */
  constructor(keys: readonly [Buffer, ...Buffer[]]) {
    super();
    const derived = keys.map(toBoxKey);
    this.#keys = new Map(derived.map((key) => [key.id.toString('hex'), key]));
    this.#current = toBoxKey(keys[0]);
  }

  seal(plainText: string, context: string): Uint8Array {
    const { id, key } = this.#current;
    const header = Buffer.concat([Buffer.from([FORMAT]), id]);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(aadOf(header, context));
    return Buffer.concat([header, nonce, cipher.update(plainText, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  open(sealed: Uint8Array, context: string): string {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    if (bytes.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES || bytes[0] !== FORMAT) throw broken();
    const header = bytes.subarray(0, HEADER_BYTES);
    const key = this.#keys.get(header.subarray(1).toString('hex'));
    if (key === undefined) throw new FleetError('SECRET_KEY_UNKNOWN', 'user', 'a secret in the database is sealed with another key; configure the encryption key that this database was made with');
    const decipher = createDecipheriv('aes-256-gcm', key.key, bytes.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(aadOf(header, context));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return decipher.update(bytes.subarray(HEADER_BYTES + NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch (error) {
      throw broken(error);
    }
  }
}

const broken = (cause?: unknown): FleetError => new FleetError('SECRET_BROKEN', 'user', 'a secret in the database was altered or belongs elsewhere; store it again', { cause });

const aadOf = (header: Buffer, context: string): Buffer => Buffer.concat([header, Buffer.from(context, 'utf8')]);

// The id tells keys apart without telling anything of the key: it comes from another derivation than the key that seals.
function toBoxKey(material: Buffer): BoxKey {
  const derive = (info: string, length: number): Buffer => Buffer.from(hkdfSync('sha256', material, Buffer.alloc(0), info, length));
  return { key: derive('spillway secret box key', 32), id: createHash('sha256').update(derive('spillway secret box key id', 32)).digest().subarray(0, KEY_ID_BYTES) };
}
