import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

/**
 * The walls of docs/architecture.md are only as good as the linters that keep them. Each row plants one violation in a
 * scratch tree that has this project's own lint configuration, and says which rule of which linter must find it.
 */
const planted = [
  {
    name: 'a domain lib that imports a Node module',
    file: 'libs/domain/fleet/src/planted-node.ts',
    code: "import { readFileSync } from 'node:fs';\n/** X. */\nexport const x = readFileSync;\n",
    eslint: 'no-restricted-imports',
    depcruise: 'domain-is-pure',
  },
  {
    name: 'a domain lib that reads the clock',
    file: 'libs/domain/fleet/src/planted-clock.ts',
    code: '/** X. */\nexport const x = (): number => Date.now();\n',
    eslint: 'no-restricted-properties',
    depcruise: undefined,
  },
  {
    name: 'a domain lib that awaits',
    file: 'libs/domain/fleet/src/planted-await.ts',
    code: '/** X. */\nexport const x = async (): Promise<number> => await Promise.resolve(1);\n',
    eslint: 'no-restricted-syntax',
    depcruise: undefined,
  },
  {
    name: 'a domain lib that imports a port',
    file: 'libs/domain/sameness/src/planted-port.ts',
    code: "import type { Clock } from '#ports';\n/** X. */\nexport type X = Clock;\n",
    eslint: 'boundaries/dependencies',
    depcruise: 'domain-is-pure',
  },
  {
    name: 'a port that imports the platform',
    file: 'libs/ports/src/planted.ts',
    code: "import { x } from '#platform';\n/** Y. */\nexport const y = x;\n",
    eslint: 'boundaries/dependencies',
    depcruise: undefined,
  },
  {
    name: 'an adapter that imports another adapter',
    file: 'libs/adapters/kube/src/planted.ts',
    code: "import { x } from '#adapters/netlink';\n/** Y. */\nexport const y = x;\n",
    eslint: 'boundaries/dependencies',
    depcruise: 'adapter-not-to-other-adapter',
  },
  {
    name: 'an app that imports another app',
    file: 'apps/hub/src/planted.ts',
    code: "import { x } from '../../spoke/src/index.js';\n/** Y. */\nexport const y = x;\n",
    eslint: 'boundaries/dependencies',
    depcruise: 'app-not-to-other-app',
  },
  {
    name: 'a lib that imports an app',
    file: 'libs/platform/src/planted.ts',
    code: "import { x } from '../../../apps/spoke/src/index.js';\n/** Y. */\nexport const y = x;\n",
    eslint: 'boundaries/dependencies',
    depcruise: 'libs-not-to-apps',
  },
  {
    name: 'a renderer that reads another renderer',
    file: 'libs/domain/dns-records/src/planted.ts',
    code: "import { x } from '#domain/nft-ruleset';\n/** Y. */\nexport const y = x;\n",
    eslint: undefined,
    depcruise: 'ir-renderers-apart',
  },
  {
    name: 'a lib imported past its front door',
    file: 'libs/platform/src/planted-door.ts',
    code: "import { x } from '../../domain/fleet/src/inner.js';\n/** Y. */\nexport const y = x;\n",
    eslint: undefined,
    depcruise: 'front-door',
  },
  {
    name: 'shipped code that imports test fakes',
    file: 'apps/worker/src/planted.ts',
    code: "import { x } from '#testing';\n/** Y. */\nexport const y = x;\n",
    eslint: 'boundaries/dependencies',
    depcruise: 'testing-only-from-specs',
  },
  {
    name: 'an import cycle',
    file: 'libs/domain/fleet/src/planted-cycle.ts',
    code: "import { x } from './planted-cycle-b.js';\n/** Y. */\nexport const y = (): number => x;\n",
    more: { 'libs/domain/fleet/src/planted-cycle-b.ts': "import { y } from './planted-cycle.js';\n/** X. */\nexport const x = y();\n" },
    eslint: undefined,
    depcruise: 'no-cycles',
  },
  {
    name: 'configuration read outside main.ts',
    file: 'apps/spoke/src/planted-env.ts',
    code: "/** X. */\nexport const x = process.env['HOME'];\n",
    eslint: 'no-restricted-properties',
    depcruise: undefined,
  },
] as const;

const library = 'export const x = 1;\n';
const scaffold: Readonly<Record<string, string>> = {
  'libs/domain/fleet/src/index.ts': library,
  'libs/domain/fleet/src/inner.ts': library,
  'libs/domain/nft-ruleset/src/index.ts': library,
  'libs/ports/src/index.ts': 'export class Clock {}\n',
  'libs/platform/src/index.ts': library,
  'libs/adapters/netlink/src/index.ts': library,
  'libs/testing/src/index.ts': library,
  'apps/spoke/src/index.ts': library,
  'test/unit/x.ts': library,
};

interface EslintFile {
  readonly filePath: string;
  readonly messages: readonly { readonly ruleId: string }[];
}
interface Cruise {
  readonly summary: { readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[] };
}

describe('the import walls', () => {
  const root = process.cwd();
  const scratch = mkdtempSync(join(tmpdir(), 'spillway-walls-'));
  let eslintFiles: readonly EslintFile[] = [];
  let cruise: Cruise = { summary: { violations: [] } };

  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(scratch, file)), { recursive: true });
    writeFileSync(join(scratch, file), text);
  };
  const runJson = <T>(program: string, args: readonly string[]): T => {
    const result = spawnSync(process.execPath, [join(root, 'node_modules', program), ...args], { cwd: scratch, encoding: 'utf8', maxBuffer: 64 << 20 });
    if (!/^[[{]/.test(result.stdout)) throw new Error(`${program}: ${result.stderr}${result.stdout}`);
    return JSON.parse(result.stdout) as T;
  };

  beforeAll(() => {
    for (const file of ['eslint.config.mjs', '.dependency-cruiser.cjs', 'tsconfig.json', 'package.json']) copyFileSync(join(root, file), join(scratch, file));
    symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'));
    for (const [file, text] of Object.entries(scaffold)) write(file, text);
    for (const row of planted) {
      write(row.file, row.code);
      for (const [file, text] of Object.entries('more' in row ? row.more : {})) write(file, text);
    }
    eslintFiles = runJson<EslintFile[]>('eslint/bin/eslint.js', ['apps', 'libs', '--format', 'json']);
    cruise = runJson<Cruise>('dependency-cruiser/bin/dependency-cruise.mjs', ['apps', 'libs', 'test', '--config', '.dependency-cruiser.cjs', '--output-type', 'json']);
  }, 120_000);
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const eslintRules = (file: string): string[] => eslintFiles.filter((one) => one.filePath.endsWith(file)).flatMap((one) => one.messages.map((message) => message.ruleId));
  const cruiseRules = (file: string): string[] => cruise.summary.violations.filter((one) => one.from === file).map((one) => one.rule.name);

  for (const row of planted) {
    if (row.eslint !== undefined) it(`ESLint finds ${row.name}`, () => expect(eslintRules(row.file)).toContain(row.eslint));
    if (row.depcruise === undefined) continue;
    const files = [row.file, ...Object.keys('more' in row ? row.more : {})];
    it(`dependency-cruiser finds ${row.name}`, () => expect(files.flatMap(cruiseRules)).toContain(row.depcruise));
  }

  it('neither finds anything in the scaffold itself', () => {
    const quiet = Object.keys(scaffold).filter((file) => !file.startsWith('test/'));
    expect(quiet.flatMap((file) => [...eslintRules(file), ...cruiseRules(file)].filter((rule) => !rule.startsWith('jsdoc/')))).toEqual([]);
  });
});
