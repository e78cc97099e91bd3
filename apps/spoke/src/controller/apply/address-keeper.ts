import { ipAddressManifest, KUBE_KINDS, parseIpAddress } from '#contracts/kube-objects';
import type { AddressPlan, IpAddress, NewIpAddress } from '#domain/addresses';
import { isFleetError } from '#domain/fleet';
import type { Logger } from '#platform';
import type { Clock, Kube } from '#ports';

import { setAddressFinalizer } from './finalizers.js';

/** How long our own memory of an address counts before the watch must have told of it. */
export const MEMORY_MS = 30_000;

/** Carries out address plans, and remembers what it did until the watch tells of it, so that nothing is claimed twice. */
export class AddressKeeper {
  readonly #created = new Map<string, { readonly object: IpAddress; readonly atMs: number }>();
  readonly #taken = new Map<string, number>();

  constructor(
    private readonly kube: Kube,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** The IPAddresses there are: those of the watch, and those that we created and it has not told of yet. */
  known(watched: readonly IpAddress[]): readonly IpAddress[] {
    const seen = new Set(watched.map((address) => address.name));
    const horizonMs = this.clock.monotonicMs() - MEMORY_MS;
    for (const [name, { atMs }] of this.#created) if (seen.has(name) || atMs < horizonMs) this.#created.delete(name);
    return this.#created.size === 0 ? watched : [...watched, ...[...this.#created.values()].map(({ object }) => object)];
  }

  /** Addresses that were taken when we tried, and that the watch may not have told of yet. */
  taken(): ReadonlySet<string> {
    const horizonMs = this.clock.monotonicMs() - MEMORY_MS;
    for (const [name, atMs] of this.#taken) if (atMs < horizonMs) this.#taken.delete(name);
    return new Set(this.#taken.keys());
  }

  /**
   * Does what a plan says, in its order; `mayWrite` is asked before each step. True where something was taken, so that the
   * plan must be made anew with the next candidate.
   */
  async apply(plan: AddressPlan, mayWrite: () => boolean): Promise<boolean> {
    let raced = false;
    const groups: readonly (readonly (() => Promise<void>)[])[] = [
      plan.protectCidrs.map((name) => () => setAddressFinalizer(this.kube, KUBE_KINDS.serviceCidr, { name }, true)),
      plan.addFinalizers.map((gateway) => () => setAddressFinalizer(this.kube, KUBE_KINDS.gateway, gateway, true)),
      plan.create.map((wanted) => async () => {
        raced = !(await this.#claim(wanted)) || raced;
      }),
      plan.remove.map(({ name, uid }) => () => this.#release(name, uid)),
      plan.removeFinalizers.map((gateway) => () => setAddressFinalizer(this.kube, KUBE_KINDS.gateway, gateway, false)),
      plan.unprotectCidrs.map((name) => () => setAddressFinalizer(this.kube, KUBE_KINDS.serviceCidr, { name }, false)),
    ];
    for (const group of groups) await runGroup(group, mayWrite);
    return raced;
  }

  // R3: the create is the claim; whoever is second moves on.
  async #claim(wanted: NewIpAddress): Promise<boolean> {
    const { namespace, name } = wanted.gateway;
    try {
      const parsed = parseIpAddress(await this.kube.create(KUBE_KINDS.ipAddress, ipAddressManifest(wanted)));
      if (parsed.ok) this.#created.set(parsed.value.name, { object: parsed.value, atMs: this.clock.monotonicMs() });
      this.logger.info({ namespace, gateway: name, address: wanted.address }, 'claimed an address');
      return true;
    } catch (error) {
      if (!isFleetError(error) || error.code !== 'KUBE_ALREADY_EXISTS') throw error;
      this.#taken.set(wanted.address, this.clock.monotonicMs());
      this.logger.info({ namespace, gateway: name, address: wanted.address }, 'address was taken by another a moment ago');
      return false;
    }
  }

  async #release(name: string, uid: string): Promise<void> {
    try {
      await this.kube.remove(KUBE_KINDS.ipAddress, { name }, { uid });
      this.logger.info({ address: name }, 'gave an address back');
    } catch (error) {
      // Another object of that name is not ours to remove.
      if (!isFleetError(error) || error.code !== 'KUBE_CONFLICT') throw error;
    }
    this.#created.delete(name);
  }
}

// One object's trouble does not stop the others of its group, but the next group builds on this one.
async function runGroup(steps: readonly (() => Promise<void>)[], mayWrite: () => boolean): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    if (mayWrite()) await step().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
