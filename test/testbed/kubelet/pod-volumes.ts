import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import type { KubeApi } from '../kube-api/kube-api.js';
import { fieldValue, type PodFacts } from './field-refs.js';
import { dataBytes, type DataKind, type ObjectSource } from './object-source.js';
import type { KeyToPath, Pod, Volume, VolumeSource } from './pod-types.js';
import { keepTokenFresh } from './service-account-tokens.js';
import { writeVolume, type VolumeFiles } from './write-volume.js';

/** What volumes are made from. */
export interface VolumeSurroundings {
  readonly api: KubeApi;
  readonly objects: ObjectSource;
  readonly facts: PodFacts;
  /** The pod's own directory on the node. */
  readonly podDirectory: string;
  /** The node's directory that stands for the node's file system in hostPath volumes. */
  readonly hostDirectory: string;
}

/** The volumes of one pod as directories, kept up to date until closed. */
export class PodVolumes {
  readonly #pod: Pod;
  readonly #around: VolumeSurroundings;
  readonly #tokens = new Map<VolumeSource, string>();
  readonly #versions = new Map<string, number>();
  readonly #closers: (() => void)[] = [];
  readonly #missing = new Map<string, string>();
  #onReady: (() => void) | undefined;

  constructor(pod: Pod, around: VolumeSurroundings) {
    this.#pod = pod;
    this.#around = around;
  }

  /** Makes all volumes; resolves once each has everything it needs. Until then {@link missing} says what is waited for. */
  async prepare(): Promise<void> {
    const volumes = this.#pod.spec.volumes ?? [];
    for (const volume of volumes) mkdirSync(this.path(volume.name), { recursive: true });
    const files = volumes.filter((volume) => sourcesOf(volume) !== undefined);
    const ready = new Promise<void>((resolve) => {
      this.#onReady = resolve;
    });
    for (const volume of files) this.#missing.set(volume.name, 'its contents are not known yet');
    for (const volume of files) this.#follow(volume);
    for (const volume of files) this.#write(volume);
    if (this.#missing.size === 0) return;
    await ready;
  }

  /** The directory of a volume on the node. */
  path(name: string): string {
    const hostPath = this.#pod.spec.volumes?.find((volume) => volume.name === name)?.hostPath;
    return hostPath === undefined ? join(this.#around.podDirectory, 'volumes', name) : join(this.#around.hostDirectory, hostPath.path);
  }

  /** What is still missing, in words; undefined once all is there. */
  get missing(): string | undefined {
    const [first] = this.#missing;
    return first === undefined ? undefined : `volume ${first[0]}: ${first[1]}`;
  }

  close(): void {
    for (const close of this.#closers.splice(0)) close();
  }

  #follow(volume: Volume): void {
    const rewrite = (): void => this.#write(volume);
    for (const source of sourcesOf(volume) ?? []) {
      const object = objectOf(source);
      if (object !== undefined) this.#closers.push(this.#around.objects.follow(object.kind, this.#pod.metadata.namespace ?? '', object.name, rewrite));
      const token = source.serviceAccountToken;
      if (token === undefined) continue;
      const use = {
        audience: token.audience,
        expirationSeconds: token.expirationSeconds ?? 3607,
        onToken: (text: string) => {
          this.#tokens.set(source, text);
          rewrite();
        },
      };
      this.#closers.push(keepTokenFresh(this.#around.api, this.#pod, use));
    }
  }

  #write(volume: Volume): void {
    const files = this.#project(volume);
    if (typeof files === 'string') {
      // A volume that was complete once keeps its last contents, as on a real node.
      if (!this.#versions.has(volume.name)) this.#missing.set(volume.name, files);
      return;
    }
    const version = (this.#versions.get(volume.name) ?? 0) + 1;
    this.#versions.set(volume.name, version);
    writeVolume(this.path(volume.name), files, version);
    this.#missing.delete(volume.name);
    if (this.#missing.size === 0) this.#onReady?.();
  }

  /** The files of a volume, or what is missing. */
  #project(volume: Volume): VolumeFiles | string {
    const files = new Map<string, Buffer>();
    for (const source of sourcesOf(volume) ?? []) {
      const part = this.#projectSource(source);
      if (typeof part === 'string') return part;
      for (const [path, bytes] of part) files.set(path, bytes);
    }
    return files;
  }

  #projectSource(source: VolumeSource): VolumeFiles | string {
    if (source.serviceAccountToken !== undefined) {
      const token = this.#tokens.get(source);
      return token === undefined ? 'its ServiceAccount token is not issued yet' : new Map([[source.serviceAccountToken.path, Buffer.from(token)]]);
    }
    if (source.downwardAPI !== undefined) {
      return new Map((source.downwardAPI.items ?? []).map((item) => [item.path, Buffer.from(fieldValue(this.#pod, item.fieldRef?.fieldPath ?? '', this.#around.facts) ?? '')]));
    }
    const wanted = objectOf(source);
    if (wanted === undefined) return 'the testbed does not know this kind of volume source';
    const object = this.#around.objects.current(wanted.kind, this.#pod.metadata.namespace ?? '', wanted.name);
    if (object === undefined) return wanted.optional ? new Map<string, Buffer>() : `${wanted.kind} "${wanted.name}" not found`;
    return pickKeys(dataBytes(wanted.kind, object), wanted.items, wanted.optional);
  }
}

function pickKeys(data: ReadonlyMap<string, Buffer>, items: readonly KeyToPath[] | undefined, optional: boolean): VolumeFiles | string {
  if (items === undefined) return data;
  const absent = items.find((item) => !data.has(item.key));
  if (absent !== undefined && !optional) return `key "${absent.key}" not found`;
  return new Map(items.flatMap((item) => {
    const bytes = data.get(item.key);
    return bytes === undefined ? [] : [[item.path, bytes] as const];
  }));
}

interface WantedObject {
  readonly kind: DataKind;
  readonly name: string;
  readonly items: readonly KeyToPath[] | undefined;
  readonly optional: boolean;
}

function objectOf(source: VolumeSource): WantedObject | undefined {
  const { secret, configMap } = source;
  if (secret !== undefined) return { kind: 'secrets', name: secret.secretName ?? secret.name ?? '', items: secret.items, optional: secret.optional === true };
  if (configMap !== undefined) return { kind: 'configmaps', name: configMap.name, items: configMap.items, optional: configMap.optional === true };
  return undefined;
}

/** The sources of a volume that consists of files; undefined for an emptyDir or a hostPath. */
function sourcesOf(volume: Volume): readonly VolumeSource[] | undefined {
  if (volume.projected !== undefined) return volume.projected.sources ?? [];
  return volume.secret !== undefined || volume.configMap !== undefined || volume.downwardAPI !== undefined ? [volume] : undefined;
}
