import { isDeepStrictEqual } from 'node:util';

import { byKey, type ChangeTarget, FleetError, type Freeze, type SamenessPolicy } from '#domain/fleet';
import { type Fence, type FreezeRequest, PolicyStore } from '#ports';

import { appendChanges, checkFence, type Database, sqlOf, type Tx, writeAudit } from './database.js';
import { parseFreeze, renderFreeze } from './freeze-column.js';
import { Prisma } from './generated/client.js';
import { toPolicy } from './policy-row.js';
import { guarded } from './store-errors.js';

/** Policies and the freeze in PostgreSQL. */
export class PostgresPolicyStore extends PolicyStore {
  readonly #db: Database;
  constructor(db: Database) {
    super();
    this.#db = db;
  }

  async save(policy: SamenessPolicy, by: string): Promise<void> {
    const { name } = policy;
    await this.#db.logged(async (tx) => {
      const before = await findPolicy(tx, name);
      if (isDeepStrictEqual(before, { ...policy })) return;
      const columns = { namespaces: [...policy.namespaces], mayExport: selectorJson(policy.mayExport), mayImport: selectorJson(policy.mayImport), owner: policy.owner };
      await tx.samenessPolicy.upsert({ where: { name }, create: { name, ...columns }, update: columns });
      await appendChanges(sqlOf(tx), [policyTarget(name, before, policy)]);
      await writeAudit(tx, this.#db.now(), { by, action: 'setSamenessPolicy', target: `samenessPolicy/${name}`, before: before ?? null, after: policy });
    });
  }

  async remove(name: string, by: string): Promise<void> {
    await this.#db.logged(async (tx) => {
      const before = await findPolicy(tx, name);
      if (before === undefined) throw new FleetError('POLICY_NOT_FOUND', 'user', `there is no sameness policy ${name}`);
      await tx.samenessPolicy.delete({ where: { name } });
      await appendChanges(sqlOf(tx), [policyTarget(name, before)]);
      await writeAudit(tx, this.#db.now(), { by, action: 'deletePolicy', target: `samenessPolicy/${name}`, before, after: null });
    });
  }

  async find(name: string): Promise<SamenessPolicy | undefined> {
    return guarded(() => findPolicy(this.#db.prisma, name));
  }

  async list(): Promise<readonly SamenessPolicy[]> {
    const rows = await guarded(() => this.#db.prisma.samenessPolicy.findMany());
    return rows.map(toPolicy).sort(byKey((policy) => policy.name));
  }

  async freeze(request: FreezeRequest, by: string, fence?: Fence): Promise<Freeze> {
    return this.#db.logged(async (tx) => {
      await checkFence(sqlOf(tx), fence);
      const current = await readFreeze(tx);
      if (current !== undefined) return current;
      const freeze: Freeze = { reason: request.reason, sinceMs: this.#db.clock.nowMs(), capacities: request.capacities };
      await tx.hubState.update({ where: { id: 1 }, data: { frozen: renderFreeze(freeze) } });
      await appendChanges(sqlOf(tx), [{ kind: 'freeze' }]);
      await writeAudit(tx, this.#db.now(), { by, action: 'freezeAutomation', target: 'fleet', before: null, after: { reason: freeze.reason } });
      return freeze;
    });
  }

  async resume(by: string, fence?: Fence): Promise<void> {
    await this.#db.logged(async (tx) => {
      await checkFence(sqlOf(tx), fence);
      const current = await readFreeze(tx);
      if (current === undefined) return;
      await tx.hubState.update({ where: { id: 1 }, data: { frozen: Prisma.DbNull } });
      await appendChanges(sqlOf(tx), [{ kind: 'freeze' }]);
      await writeAudit(tx, this.#db.now(), { by, action: 'resumeAutomation', target: 'fleet', before: { reason: current.reason }, after: null });
    });
  }
}

async function findPolicy(tx: Tx, name: string): Promise<SamenessPolicy | undefined> {
  const row = await tx.samenessPolicy.findUnique({ where: { name } });
  return row === null ? undefined : toPolicy(row);
}

async function readFreeze(tx: Tx): Promise<Freeze | undefined> {
  const row = await tx.hubState.findUnique({ where: { id: 1 }, select: { frozen: true } });
  return parseFreeze(row?.frozen);
}

function policyTarget(name: string, ...versions: readonly (SamenessPolicy | undefined)[]): ChangeTarget {
  return { kind: 'policy', name, namespaces: [...new Set(versions.flatMap((version) => version?.namespaces ?? []))].sort() };
}

const selectorJson = ({ names, matchLabels, all }: SamenessPolicy['mayExport']): Prisma.InputJsonObject => ({ names: [...names], matchLabels: { ...matchLabels }, all });
