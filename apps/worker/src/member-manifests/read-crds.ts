import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { parse } from 'yaml';

import { KUBE_KINDS } from '#contracts/kube-objects';
import type { KubeObject } from '#ports';

import type { Manifest } from './manifest.js';

const FOLDER = fileURLToPath(new URL('../../../../helm/spoke/crds', import.meta.url));

/** The CustomResourceDefinitions that came with this program, sorted by file name. */
export function readCrds(folder: string = FOLDER): readonly Manifest[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => ({ kind: KUBE_KINDS.customResourceDefinition, object: parse(readFileSync(join(folder, file), 'utf8')) as KubeObject }));
}
