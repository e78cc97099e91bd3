// Prints the size of files and functions (p50/p90/max) and the share of exported symbols with a doc comment, so that drift shows.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

// A conformance suite is a test, wherever it lies.
const isTest = (file) => /\.(spec|conformance|fixture)\.ts$/.test(file);
const sources = ['apps', 'libs'].flatMap((folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.ts') && !isTest(file) && !file.includes('/generated/') && statSync(file).isFile()),
);
const quantiles = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
  return `${at(0.5)} / ${at(0.9)} / ${sorted.at(-1) ?? 0}`;
};

const fileLines = [];
const functionLines = [];
let exported = 0;
let documented = 0;
for (const file of sources) {
  const text = readFileSync(file, 'utf8');
  fileLines.push(text.split('\n').length);
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position) => tree.getLineAndCharacterOfPosition(position).line;
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body !== undefined) functionLines.push(lineOf(node.end) - lineOf(node.getStart()) + 1);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  for (const statement of tree.statements) {
    if (statement.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword) !== true) continue;
    exported += 1;
    if (ts.getJSDocCommentsAndTags(statement).length > 0) documented += 1;
  }
}
const spec = ['apps', 'libs', 'test'].flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).filter(isTest));
const lines = (files) => files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length, 0);
process.stdout.write(
  [
    `files      ${sources.length}, lines ${lines(sources)}; specs ${spec.length}, lines ${lines(spec)}`,
    `file       ${quantiles(fileLines)} lines (p50 / p90 / max)`,
    `function   ${quantiles(functionLines)} lines (p50 / p90 / max)`,
    `documented ${documented} of ${exported} exported symbols`,
    '',
  ].join('\n'),
);
