import { createHash } from 'node:crypto';
import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { runCommand } from '../machine-room/run-command.js';
import type { ReleaseFile } from './binary-catalog.js';

const CONNECT_MS_MAX = 5_000;
const TRANSFER_MS_MAX = 10 * 60_000;

/** Downloads a released program into `directory`, checks its published SHA-256, and returns the program's path. */
export async function downloadRelease(release: ReleaseFile, directory: string, name: string): Promise<string> {
  // The small file first: it is also the quick answer to "is there a way out at all".
  const want = checksumIn(new TextDecoder().decode(await fetchBytes(release.checksumUrl, CONNECT_MS_MAX)), release.url);
  const bytes = await fetchBytes(release.url, TRANSFER_MS_MAX);
  const got = createHash('sha256').update(bytes).digest('hex');
  if (got !== want) throw new Error(`${release.url} has SHA-256 ${got}, but ${want} is published`);
  const path = join(directory, name);
  if (release.member === undefined) {
    writeFileSync(path, bytes);
  } else {
    const archive = join(directory, `${name}.tar.gz`);
    writeFileSync(archive, bytes);
    await runCommand('tar', ['-xzf', archive, '-C', directory, release.member]);
    renameSync(join(directory, release.member), path);
  }
  chmodSync(path, 0o755);
  return path;
}

/** Finds the SHA-256 of the file behind `url` in a checksum file: a bare digest, or lines of `digest  name`. */
export function checksumIn(text: string, url: string): string {
  const name = url.slice(url.lastIndexOf('/') + 1);
  const lines = text.trim().split('\n');
  const line = lines.length === 1 ? lines[0] : lines.find((candidate) => candidate.trim().endsWith(name));
  const digest = /^[0-9a-f]{64}\b/.exec((line ?? '').trim().toLowerCase())?.[0];
  if (digest === undefined) throw new Error(`the checksum file of ${url} has no SHA-256 for ${name}`);
  return digest;
}

async function fetchBytes(url: string, timeoutMs: number): Promise<Uint8Array> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}
