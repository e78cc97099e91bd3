import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's top folder, from sources and from dist alike. */
export function projectRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error('the testbed does not find the package.json of its project');
    directory = parent;
  }
  return directory;
}

/** The path of one of the testbed's own built programs, such as `kubelet/main.js`. */
export const testbedProgram = (name: string): string => join(projectRoot(), 'dist', 'test', 'testbed', name);
