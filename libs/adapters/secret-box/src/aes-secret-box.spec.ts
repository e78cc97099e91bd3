import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { Secret } from '#platform';

import { AesSecretBox } from './aes-secret-box.js';
import { createSecretBox, openSecretBox } from './encryption-keys.js';

const KEY_A = Buffer.alloc(32, 1);
const KEY_B = Buffer.alloc(32, 2);

describe('AesSecretBox', () => {
  it('a sealed text opens in its own context only, and never looks the same twice', () => {
    const box = new AesSecretBox([KEY_A]);
    const sealed = box.seal('a kubeconfig ✓', 'kubeconfig/east-1');
    expect(box.open(sealed, 'kubeconfig/east-1')).toBe('a kubeconfig ✓');
    expect(() => box.open(sealed, 'kubeconfig/west-1')).toThrow(expect.objectContaining({ code: 'SECRET_BROKEN' }));
    expect(Buffer.from(box.seal('a kubeconfig ✓', 'kubeconfig/east-1'))).not.toEqual(Buffer.from(sealed));
    expect(Buffer.from(sealed).toString('latin1')).not.toContain('kubeconfig');
  });

  it('every altered byte is noticed', () => {
    const box = new AesSecretBox([KEY_A]);
    const sealed = Buffer.from(box.seal('secret', 'c'));
    for (let at = 0; at < sealed.length; at += 1) {
      const altered = Buffer.from(sealed);
      altered[at] = altered[at]! ^ 1;
      expect(() => box.open(altered, 'c')).toThrow(expect.objectContaining({ code: expect.stringMatching(/^SECRET_(BROKEN|KEY_UNKNOWN)$/) }));
    }
    expect(() => box.open(sealed.subarray(0, 10), 'c')).toThrow(expect.objectContaining({ code: 'SECRET_BROKEN' }));
  });

  it('an older key opens what it sealed, and an unknown one is named as such', () => {
    const sealed = new AesSecretBox([KEY_A]).seal('secret', 'c');
    expect(new AesSecretBox([KEY_B, KEY_A]).open(sealed, 'c')).toBe('secret');
    expect(() => new AesSecretBox([KEY_B]).open(sealed, 'c')).toThrow(expect.objectContaining({ code: 'SECRET_KEY_UNKNOWN', kind: 'user' }));
  });

  it.each([
    { name: 'an empty key', keys: '' },
    { name: 'a short key', keys: Buffer.alloc(16).toString('base64') },
    { name: 'a password', keys: 'correct horse battery staple' },
  ])('$name is refused', ({ keys }) => {
    expect(() => createSecretBox(keys)).toThrow(expect.objectContaining({ code: 'ENCRYPTION_KEY_INVALID' }));
  });

  it('a key in a file opens what the same key in a variable sealed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-key-'));
    try {
      const file = join(folder, 'encryption.key');
      writeFileSync(file, `${KEY_A.toString('base64')}\n`);
      const sealed = openSecretBox({ keys: new Secret(KEY_A.toString('base64')) }).seal('secret', 'c');
      expect(openSecretBox({ file }).open(sealed, 'c')).toBe('secret');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('a key file that is not there is named', () => {
    expect(() => openSecretBox({ file: '/nowhere/encryption.key' })).toThrow(expect.objectContaining({ code: 'ENCRYPTION_KEY_INVALID', message: expect.stringContaining('/nowhere/encryption.key') }));
  });
});
