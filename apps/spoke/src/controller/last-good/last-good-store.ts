import { KUBE_KINDS } from '#contracts/kube-objects';
import { isFleetError } from '#domain/fleet';
import type { Kube } from '#ports';

import type { ImportState } from '../hub/import-state.js';
import { applyBinaryConfigMap, applyTextConfigMap, configMapEntries } from '../own/own-data.js';
import { corrupt, indexSchema, isPackedAs, packState, unpackState, type LastGoodIndex } from './last-good-format.js';

const INDEX_KEY = 'index.json';
const CHUNK_KEY = 'state.gz';
/** Chunks go to one of two ranges of names in turn, so that an index never names a chunk that is half-way to another state. */
const RANGES = [1, 101] as const;
/** The most chunks that one state may have. */
const CHUNKS_MAX = 99;

/** Keeps the last full state of the hub in ConfigMaps `spillway-last-good-N` of our own cluster, not on a pod's disk. */
export class LastGoodStore {
  constructor(
    private readonly kube: Kube,
    private readonly namespace: string,
    private readonly prefix = 'spillway-last-good-',
  ) {}

  /**
   * The saved state; undefined where none was saved. Throws LAST_GOOD_CORRUPT where it is not what was saved: never half of
   * it. Throws what the API server's absence throws.
   */
  async load(): Promise<ImportState | undefined> {
    const index = await this.#readIndex();
    return index === undefined ? undefined : unpackState(index, await this.#readChunks(index));
  }

  /** Whether what was saved last is there, to the byte. */
  async isWhole(): Promise<boolean> {
    try {
      const index = await this.#readIndex();
      return index !== undefined && isPackedAs(index, await this.#readChunks(index));
    } catch (error) {
      return ignoreCorrupt(error) ?? false;
    }
  }

  /** Saves a state: first its chunks, then the index that makes them one, then the previous chunks go. */
  async save(state: ImportState, savedAtMs: number): Promise<void> {
    const before = await this.#readIndex().catch(ignoreCorrupt);
    const packed = await packState(state);
    if (packed.sha256 === before?.sha256 && (await this.isWhole())) return;
    if (packed.chunks.length > CHUNKS_MAX) throw corrupt(`it would take ${packed.chunks.length} parts, and at most ${CHUNKS_MAX} are allowed`);
    const first = before?.chunks.includes(this.#name(RANGES[0])) === true ? RANGES[1] : RANGES[0];
    const chunks = packed.chunks.map((_, at) => this.#name(first + at));
    for (const [at, bytes] of packed.chunks.entries()) {
      await applyBinaryConfigMap(this.kube, { namespace: this.namespace, name: this.#name(first + at) }, new Map([[CHUNK_KEY, bytes]]));
    }
    const index: LastGoodIndex = { format: 1, sha256: packed.sha256, savedAtMs, chunks };
    await applyTextConfigMap(this.kube, { namespace: this.namespace, name: this.#name(0) }, { [INDEX_KEY]: JSON.stringify(index) });
    for (const name of before?.chunks ?? []) await this.kube.remove(KUBE_KINDS.configMap, { namespace: this.namespace, name });
  }

  #name(n: number): string {
    return `${this.prefix}${n}`;
  }

  async #readChunks(index: LastGoodIndex): Promise<readonly Buffer[]> {
    const chunks: Buffer[] = [];
    for (const name of index.chunks) {
      const found = await this.kube.find(KUBE_KINDS.configMap, { namespace: this.namespace, name });
      const bytes = found === undefined ? undefined : configMapEntries(found).get(CHUNK_KEY);
      if (bytes === undefined) throw corrupt(`its part ${name} is missing`);
      chunks.push(bytes);
    }
    return chunks;
  }

  async #readIndex(): Promise<LastGoodIndex | undefined> {
    const found = await this.kube.find(KUBE_KINDS.configMap, { namespace: this.namespace, name: this.#name(0) });
    if (found === undefined) return undefined;
    const text = configMapEntries(found).get(INDEX_KEY)?.toString('utf8');
    try {
      return indexSchema.parse(JSON.parse(text ?? ''));
    } catch (error) {
      throw corrupt('its index does not read', error);
    }
  }
}

function ignoreCorrupt(error: unknown): undefined {
  if (isFleetError(error) && error.code === 'LAST_GOOD_CORRUPT') return undefined;
  throw error;
}
