import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The full path of a program on PATH, or undefined where there is none. */
export function programOnPath(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return (env.PATH ?? '')
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
