import { mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Files of a volume by relative path. */
export type VolumeFiles = ReadonlyMap<string, Buffer>;

/**
 * Makes a directory show exactly these files, all at once: names are links through `..data`, which is swapped atomically, as
 * on a real node. A reader sees the old set or the new one, never a mixture.
 */
export function writeVolume(directory: string, files: VolumeFiles, version: number): void {
  const fresh = `..v${version}`;
  for (const [path, bytes] of files) {
    const target = join(directory, fresh, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, bytes);
  }
  mkdirSync(join(directory, fresh), { recursive: true });
  const old = currentVersion(directory);
  symlinkSync(fresh, join(directory, '..data.new'));
  renameSync(join(directory, '..data.new'), join(directory, '..data'));
  linkTopNames(directory, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)));
  if (old !== undefined && old !== fresh) rmSync(join(directory, old), { recursive: true, force: true });
}

function linkTopNames(directory: string, wanted: ReadonlySet<string>): void {
  const present = new Set(readdirSync(directory).filter((name) => !name.startsWith('..')));
  for (const name of present) if (!wanted.has(name)) rmSync(join(directory, name), { recursive: true, force: true });
  for (const name of wanted) if (!present.has(name)) symlinkSync(join('..data', name), join(directory, name));
}

function currentVersion(directory: string): string | undefined {
  try {
    return readlinkSync(join(directory, '..data'));
  } catch {
    return undefined;
  }
}
