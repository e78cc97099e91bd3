import { byKey } from '#domain/fleet';
import { elementKey, NFT_FAMILIES, SET_LAYOUTS, setNamesOf, withElements, type NftChain, type NftElement, type NftFamily, type NftOperation, type NftRule, type NftRuleset, type NftSet, type NftTable } from '#domain/nft-ruleset';

/** What the kernel would answer to an operation that it refuses. */
export class SimulatedRefusal extends Error {
  override readonly name = 'SimulatedRefusal';
  readonly errno: 'ENOENT' | 'EEXIST' | 'EBUSY';
  constructor(errno: 'ENOENT' | 'EEXIST' | 'EBUSY', what: string) {
    super(`${errno}: ${what}`);
    this.errno = errno;
  }
}

/** Our tables as a kernel holds them; none where there is none. */
export type TableContent = NftRuleset['tables'];

/**
 * Runs a transaction on tables by the kernel's rules, and stricter where the kernel is lenient: nothing is added twice,
 * nothing is deleted that is not there or that something still points to, every name is known when it is used. Gives the
 * new content, or throws {@link SimulatedRefusal}; the content given is never changed.
 */
export function runOperations(content: TableContent, operations: readonly NftOperation[]): TableContent {
  const tables = new Map<NftFamily, Table>(content.map((table) => [table.family, toTable(table)]));
  for (const operation of operations) {
    const table = tables.get(operation.family);
    if (operation.op === 'add-table') {
      if (table === undefined) tables.set(operation.family, { counters: new Set(), sets: new Map(), chains: new Map() });
    } else if (operation.op === 'delete-table') {
      must(table !== undefined, 'ENOENT', 'no table');
      tables.delete(operation.family);
    } else {
      must(table !== undefined, 'ENOENT', 'no table');
      runOperation(table, operation);
    }
  }
  return NFT_FAMILIES.flatMap((family) => toContent(family, tables.get(family)));
}

interface Table {
  readonly counters: Set<string>;
  readonly sets: Map<string, NftSet>;
  readonly chains: Map<string, NftChain>;
}

const byName = byKey<{ readonly name: string }>(({ name }) => name);
const toTable = ({ counters, sets, chains }: NftTable): Table => ({
  counters: new Set(counters),
  sets: new Map(sets.map((set) => [set.name, set])),
  chains: new Map(chains.map((chain) => [chain.name, chain])),
});
const toContent = (family: NftFamily, table: Table | undefined): readonly NftTable[] =>
  table === undefined ? [] : [{ family, counters: [...table.counters].sort(), sets: [...table.sets.values()].sort(byName), chains: [...table.chains.values()].sort(byName) }];

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
      put(table, operation.set, []);
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

const namesOf = (rule: NftRule): readonly string[] => rule.flatMap((statement) => [...setNamesOf(statement), ...('counter' in statement ? [statement.counter] : [])]);

function mustKnowNames(table: Table, rule: NftRule): void {
  for (const name of namesOf(rule)) must(table.sets.has(name) || table.counters.has(name), 'ENOENT', name);
  for (const statement of rule) if ('chain' in statement) must(table.chains.has(statement.chain), 'ENOENT', `chain ${statement.chain}`);
}

const isReferenced = (table: Table, name: string): boolean => [...table.chains.values()].some((chain) => chain.rules.flatMap(namesOf).includes(name));

const isTarget = (table: Table, name: string): boolean =>
  [...table.sets.values()].some((set) => (set.kind === 'verdicts' || set.kind === 'port-verdicts') && set.elements.some(({ chain }) => chain === name)) ||
  [...table.chains.values()].some(({ rules }) => rules.flat().some((statement) => 'chain' in statement && statement.chain === name));

const elementsOf = (set: NftSet): readonly NftElement[] => set.elements;

function addElements(table: Table, added: NftSet): void {
  const set = table.sets.get(added.name);
  must(set !== undefined, 'ENOENT', `set ${added.name}`);
  const keys = new Set(elementsOf(set).map(elementKey));
  for (const element of elementsOf(added)) {
    must(!keys.has(elementKey(element)), 'EEXIST', `element ${elementKey(element)} in ${set.name}`);
    if (typeof element !== 'string' && 'chain' in element) must(table.chains.has(element.chain), 'ENOENT', `chain ${element.chain}`);
    keys.add(elementKey(element));
  }
  put(table, set, [...elementsOf(set), ...elementsOf(added)]);
  const now = table.sets.get(set.name);
  if (now !== undefined && SET_LAYOUTS[now.kind].isInterval) mustNotOverlap(now);
}

function mustNotOverlap(map: NftSet): void {
  let next = 0;
  for (const element of elementsOf(map)) {
    if (typeof element === 'string' || !('from' in element)) continue;
    must(element.from >= next, 'EEXIST', `interval ${element.from}-${element.to} in ${map.name}`);
    next = element.to + 1;
  }
}

function deleteElements(table: Table, deleted: NftSet): void {
  const set = table.sets.get(deleted.name);
  must(set !== undefined, 'ENOENT', `set ${deleted.name}`);
  const keys = new Set(elementsOf(set).map(elementKey));
  for (const element of elementsOf(deleted)) must(keys.has(elementKey(element)), 'ENOENT', `element ${elementKey(element)} in ${set.name}`);
  const gone = new Set(elementsOf(deleted).map(elementKey));
  put(table, set, elementsOf(set).filter((element) => !gone.has(elementKey(element))));
}

const sortKeyOf = (element: NftElement): string => (typeof element !== 'string' && 'from' in element ? String(element.from).padStart(10, '0') : elementKey(element));

function put(table: Table, set: NftSet, elements: readonly NftElement[]): void {
  const next = withElements(set, [...elements].sort(byKey(sortKeyOf)));
  if (next.kind !== 'shares' && next.kind !== 'owners') {
    table.sets.set(set.name, next);
    return;
  }
  let mapped = 0;
  for (const { from, to } of next.elements) mapped += to - from + 1;
  table.sets.set(set.name, { ...next, rejectedUnits: next.modulus - mapped });
}
