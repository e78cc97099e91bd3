// Generates code from schemas: our spoke API and the part of xDS that we speak into
// libs/contracts/src/*/generated, and the Prisma client into libs/adapters/postgres/src/generated. Nothing of it is committed.
// Skips what is newer than its inputs.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';

const bin = (name) => join('node_modules', '.bin', name);

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8', ...options });
  if (result.status !== 0) {
    process.stderr.write(`${command} ${args.join(' ')} failed\n${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}\n`);
    process.exit(1);
  }
}

function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  if (statSync(folder).isFile()) return [folder];
  return readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).filter((file) => statSync(file).isFile()).sort();
}

/** Runs `make` unless `output` already carries the digest of these inputs. */
function generate(output, inputs, make) {
  const hash = createHash('sha256');
  for (const file of inputs.flatMap(filesUnder)) hash.update(file).update(readFileSync(file));
  const want = hash.digest('hex');
  const stamp = join(output, '.inputs');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === want) return;
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  make(output);
  writeFileSync(stamp, want);
}

const template = (out) =>
  JSON.stringify({ version: 'v2', plugins: [{ local: bin('protoc-gen-es'), out, opt: ['target=ts', 'import_extension=js'], include_imports: true }] });

generate('libs/contracts/src/spoke-api/generated', ['libs/contracts/proto', 'tools/gen.mjs'], (out) => {
  run(bin('buf'), ['generate', 'libs/contracts/proto', '--template', template(out)]);
});

generate('libs/contracts/src/envoy/generated', ['libs/contracts/proto-xds', 'tools/gen.mjs'], (out) => {
  run(bin('buf'), ['generate', 'libs/contracts/proto-xds', '--template', template(out)]);
});

if (existsSync('prisma/schema.prisma')) {
  generate('libs/adapters/postgres/src/generated', ['prisma/schema.prisma', 'prisma/models', 'prisma.config.ts', 'tools/gen.mjs'], () => {
    // `prisma generate` looks for a schema engine that it does not use here; any existing file satisfies it.
    run(bin('prisma'), ['generate'], { env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: join(process.cwd(), 'package.json'), CHECKPOINT_DISABLE: '1', PRISMA_HIDE_UPDATE_MESSAGE: '1' } });
  });
}
