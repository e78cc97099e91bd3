import { byKey } from '#domain/fleet';
import type { NftChain, NftOperation, NftRule, NftRuleset, NftSet, NftStatement } from '#domain/nft-ruleset';

/** What the kernel would answer to an operation that it refuses. */
export class SimulatedRefusal extends Error {
  override readonly name = 'SimulatedRefusal';
  readonly errno: 'ENOENT' | 'EEXIST' | 'EBUSY';
  constructor(errno: 'ENOENT' | 'EEXIST' | 'EBUSY', what: string) {
    super(`${errno}: ${what}`);
    this.errno = errno;
  }
}

/** The content of a table, as the ruleset types say it. */
export type TableContent = Pick<NftRuleset, 'counters' | 'sets' | 'chains'>;

/**
 * Runs a transaction on a table by the kernel's rules, and stricter where the kernel is lenient: nothing is added twice,
 * nothing is deleted that is not there or that something still points to, every name is known when it is used. Gives the
 * new content, or throws {@link SimulatedRefusal}; the content given is never changed.
 */
export function runOperations(content: TableContent | undefined, operations: readonly NftOperation[]): TableContent | undefined {
  let table = content === undefined ? undefined : toTable(content);
  for (const operation of operations) {
    if (operation.op === 'add-table') {
      table ??= { counters: new Set(), sets: new Map(), chains: new Map() };
    } else if (operation.op === 'delete-table') {
      must(table !== undefined, 'ENOENT', 'no table');
      table = undefined;
    } else {
      must(table !== undefined, 'ENOENT', 'no table');
      runOperation(table, operation);
    }
  }
  return table === undefined ? undefined : toContent(table);
}

interface Table {
  readonly counters: Set<string>;
  readonly sets: Map<string, NftSet>;
  readonly chains: Map<string, NftChain>;
}

const byName = byKey<{ readonly name: string }>(({ name }) => name);
const toTable = ({ counters, sets, chains }: TableContent): Table => ({
  counters: new Set(counters),
  sets: new Map(sets.map((set) => [set.name, set])),
  chains: new Map(chains.map((chain) => [chain.name, chain])),
});
const toContent = (table: Table): TableContent => ({ counters: [...table.counters].sort(), sets: [...table.sets.values()].sort(byName), chains: [...table.chains.values()].sort(byName) });

function must(condition: boolean, errno: SimulatedRefusal['errno'], what: string): asserts condition {
  if (!condition) throw new SimulatedRefusal(errno, what);
}

type InTable = Exclude<NftOperation, { readonly op: 'add-table' | 'delete-table' }>;

function runOperation(table: Table, operation: InTable): void {
  switch (operation.op) {
    case 'add-counter':
      must(!table.counters.has(operation.name), 'EEXIST', `counter ${operation.name}`);
      table.counters.add(operation.name);
      return;
    case 'delete-counter':
      must(table.counters.has(operation.name), 'ENOENT', `counter ${operation.name}`);
      must(!isReferenced(table, operation.name), 'EBUSY', `counter ${operation.name}`);
      table.counters.delete(operation.name);
      return;
    case 'add-set':
      must(!table.sets.has(operation.set.name), 'EEXIST', `set ${operation.set.name}`);
      table.sets.set(operation.set.name, emptied(operation.set));
      return;
    case 'delete-set':
      must(table.sets.has(operation.set.name), 'ENOENT', `set ${operation.set.name}`);
      must(!isReferenced(table, operation.set.name), 'EBUSY', `set ${operation.set.name}`);
      table.sets.delete(operation.set.name);
      return;
    case 'add-elements':
      addElements(table, operation.set);
      return;
    case 'delete-elements':
      deleteElements(table, operation.set);
      return;
    default:
      runChainOperation(table, operation);
  }
}

function runChainOperation(table: Table, operation: Extract<InTable, { readonly chain: unknown }>): void {
  const name = operation.op === 'add-rule' ? operation.chain : operation.chain.name;
  const known = table.chains.get(name);
  if (operation.op === 'add-chain') {
    must(known === undefined, 'EEXIST', `chain ${name}`);
    table.chains.set(name, { ...operation.chain, rules: [] });
    return;
  }
  must(known !== undefined, 'ENOENT', `chain ${name}`);
  switch (operation.op) {
    case 'flush-chain':
      table.chains.set(name, { ...known, rules: [] });
      return;
    case 'delete-chain':
      must(known.rules.length === 0 && !isTarget(table, name), 'EBUSY', `chain ${name}`);
      table.chains.delete(name);
      return;
    case 'add-rule':
      mustKnowNames(table, operation.rule);
      table.chains.set(name, { ...known, rules: [...known.rules, operation.rule] });
  }
}

function namesOf(statement: NftStatement): readonly string[] {
  if ('set' in statement) return [statement.set];
  if ('map' in statement) return [statement.map];
  return 'counter' in statement ? [statement.counter] : [];
}

function mustKnowNames(table: Table, rule: NftRule): void {
  for (const name of rule.flatMap(namesOf)) must(table.sets.has(name) || table.counters.has(name), 'ENOENT', name);
}

const isReferenced = (table: Table, name: string): boolean => [...table.chains.values()].some((chain) => chain.rules.flat().flatMap(namesOf).includes(name));

const isTarget = (table: Table, chain: string): boolean => [...table.sets.values()].some((set) => set.kind === 'verdicts' && set.elements.some((element) => element.chain === chain));

const emptied = (set: NftSet): NftSet => (set.kind === 'shares' ? { ...set, elements: [], rejectedUnits: set.modulus } : { ...set, elements: [] });

type Element = NftSet['elements'][number];

// What the kernel tells elements apart by: for an interval both of its ends.
const keyOf = (element: Element): string => {
  if (typeof element === 'string') return element;
  return 'from' in element ? `${element.from}-${element.to}` : `${element.address} ${element.protocol} ${element.port}`;
};
const sortKeyOf = (element: Element): string => {
  if (typeof element === 'string') return element;
  return 'from' in element ? String(element.from).padStart(10, '0') : `${element.address}/${String(element.port).padStart(5, '0')}`;
};

function addElements(table: Table, added: NftSet): void {
  const set = table.sets.get(added.name);
  must(set !== undefined, 'ENOENT', `set ${added.name}`);
  const keys = new Set((set.elements as readonly Element[]).map(keyOf));
  for (const element of added.elements) {
    must(!keys.has(keyOf(element)), 'EEXIST', `element ${keyOf(element)} in ${set.name}`);
    if (typeof element !== 'string' && 'chain' in element) must(table.chains.has(element.chain), 'ENOENT', `chain ${element.chain}`);
    keys.add(keyOf(element));
  }
  put(table, set, [...set.elements, ...added.elements]);
  const now = table.sets.get(set.name);
  if (now?.kind === 'shares') mustNotOverlap(now);
}

function mustNotOverlap(map: Extract<NftSet, { readonly kind: 'shares' }>): void {
  map.elements.forEach((element, index) => {
    const before = map.elements[index - 1];
    must(before === undefined || before.to < element.from, 'EEXIST', `interval ${element.from}-${element.to} in ${map.name}`);
  });
}

function deleteElements(table: Table, deleted: NftSet): void {
  const set = table.sets.get(deleted.name);
  must(set !== undefined, 'ENOENT', `set ${deleted.name}`);
  const keys = new Set((set.elements as readonly Element[]).map(keyOf));
  for (const element of deleted.elements) must(keys.has(keyOf(element)), 'ENOENT', `element ${keyOf(element)} in ${set.name}`);
  const gone = new Set((deleted.elements as readonly Element[]).map(keyOf));
  put(table, set, (set.elements as readonly Element[]).filter((element) => !gone.has(keyOf(element))));
}

function put(table: Table, set: NftSet, elements: readonly Element[]): void {
  const sorted = [...elements].sort(byKey(sortKeyOf));
  const next = { ...set, elements: sorted } as NftSet;
  if (next.kind !== 'shares') {
    table.sets.set(set.name, next);
    return;
  }
  const mapped = next.elements.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  table.sets.set(set.name, { ...next, rejectedUnits: next.modulus - mapped });
}
