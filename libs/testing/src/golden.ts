import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The names of the cases in a folder: every `NAME.in.*` file. */
export function goldenCases(folder: string): string[] {
  return readdirSync(folder)
    .flatMap((file) => /^(.+)\.in\.[a-z]+$/.exec(file)?.[1] ?? [])
    .sort();
}

/**
 * The text that a golden file wants, or the given text after writing it when `npm run golden` asked for that. A missing
 * golden is an error, so that a new case cannot pass unread.
 */
export function goldenText(file: string, got: string): string {
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, got);
  if (!existsSync(file)) throw new Error(`golden ${file} is missing: write it by hand, or run npm run golden and read it`);
  return readFileSync(file, 'utf8');
}

/** Outputs in a folder that no input produces any more. */
export function orphanGoldens(folder: string): string[] {
  const cases = new Set(goldenCases(folder));
  return readdirSync(folder).filter((file) => /\.out\.[a-z]+$/.test(file) && !cases.has(file.replace(/\.out\.[a-z]+$/, '')));
}

/** Joins a spec's own folder and its testdata. */
export const testdata = (specDirname: string): string => join(specDirname, '..', 'testdata');
