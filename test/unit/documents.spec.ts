import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

const documents = ['README.md', 'CONTRIBUTING.md', ...markdownUnder('docs'), ...markdownUnder('apps'), ...markdownUnder('libs'), ...markdownUnder('test')];

function markdownUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md')).map((name) => join(folder, name));
}

const holdsFiles = (folder: string): boolean => readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name)).filter(holdsFiles);

describe('the documents', () => {
  it('the map names every app, lib, contract and kind of test', () => {
    const map = readFileSync('docs/architecture.md', 'utf8');
    const folders = ['apps', 'libs/domain', 'libs/adapters', 'libs/contracts/src', 'test'].flatMap(foldersIn);
    expect(folders.filter((folder) => !map.includes(`\`${folder}\``))).toEqual([]);
  });

  it('every domain lib says what question it settles', () => {
    expect(foldersIn('libs/domain').filter((folder) => !existsSync(join(folder, 'README.md')))).toEqual([]);
  });

  it('every relative link leads somewhere', () => {
    const links = documents.flatMap((document) => [...readFileSync(document, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(([, target = '']) => ({ document, target })));
    expect(links.filter(({ document, target }) => !existsSync(join(dirname(document), target)))).toEqual([]);
  });
});
