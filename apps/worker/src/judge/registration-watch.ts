import type { ClusterRecord } from '#ports';

/** Finds clusters that a person registered or changed since the last look. */
export class RegistrationWatch {
  #known: ReadonlyMap<string, string> | undefined;

  /** Forgets what was seen: the next look is a first one. */
  reset(): void {
    this.#known = undefined;
  }

  /** Ids of clusters whose registration is new or different. A first look tells of all: nobody knows since when they wait. */
  changedKeys(records: readonly ClusterRecord[]): readonly string[] {
    return records.filter((record) => this.#known?.get(record.cluster.id) !== registrationOf(record)).map((record) => record.cluster.id);
  }

  /** These have been told of. */
  saw(records: readonly ClusterRecord[]): void {
    this.#known = new Map(records.map((record) => [record.cluster.id, registrationOf(record)]));
  }
}

const registrationOf = ({ serverUrl, hasKubeconfig, removal, registeredAtMs }: ClusterRecord): string => JSON.stringify([registeredAtMs, serverUrl, hasKubeconfig, removal?.requestedAtMs ?? null, removal?.force ?? null]);
