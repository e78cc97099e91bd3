import { SET_LAYOUTS, setOfParts, SHARE_MODULUS, TABLE_NAME, type NftElementParts, type NftFamily, type NftFieldKind, type NftHook, type NftSet, type NftSetLayout } from '#domain/nft-ruleset';

import {
  CHAIN_ATTR,
  COUNTER_ATTR,
  DATA_ATTR,
  ELEMENT_ATTR,
  ELEMENTS_ATTR,
  HOOK_ATTR,
  HOOK_NUMBERS,
  INTERVAL_END,
  NF_ACCEPT,
  NFT_MSG,
  OBJ_ATTR,
  OBJ_COUNTER,
  RULE_ATTR,
  SET_ATTR,
  TABLE_ATTR,
  VERDICT_ATTR,
} from './constants.js';
import { declarationOf } from './encode-set.js';
import { fieldWords, readField } from './fields.js';
import type { KernelSession } from './kernel-session.js';
import { attributesOf, findAttribute, nestedOf, parseAttributes, textOf, u32Of, type Attribute, type Message } from './parse-messages.js';

/** Our table of one family as the kernel holds it. */
export interface KernelTable {
  readonly counters: readonly string[];
  readonly sets: readonly KernelSet[];
  readonly chains: readonly KernelChain[];
}

/** A set with its declaration as attributes. `content` is undefined where the set is of no kind that we make. */
export interface KernelSet {
  readonly name: string;
  readonly declaration: readonly Attribute[];
  readonly content: NftSet | undefined;
}

/** A chain; each rule as its list of expressions. `hook` is undefined for a chain that hangs on none that we use. */
export interface KernelChain {
  readonly name: string;
  readonly isBase: boolean;
  readonly hook: NftHook | undefined;
  readonly rules: readonly (readonly Attribute[])[];
}

/** Which of our tables a question is about. */
interface Reading {
  readonly session: KernelSession;
  readonly family: NftFamily;
}

/** Reads our table of a family out of the kernel; undefined where there is none. */
export async function readTable(session: KernelSession, family: NftFamily): Promise<KernelTable | undefined> {
  const reading = { session, family };
  const table = session.get({ type: NFT_MSG.GETTABLE, family, write: (writer) => writer.text(TABLE_ATTR.NAME, TABLE_NAME) });
  if (table === 'none') return undefined;
  const rules = groupRules(await list(reading, NFT_MSG.GETRULE, RULE_ATTR.TABLE));
  const chains = (await list(reading, NFT_MSG.GETCHAIN, CHAIN_ATTR.TABLE)).map((message) => readChain(attributesOf(message), rules));
  const counters = (await list(reading, NFT_MSG.GETOBJ, OBJ_ATTR.TABLE)).map(attributesOf).filter((attributes) => u32Of(attributes, OBJ_ATTR.TYPE) === OBJ_COUNTER);
  const sets: KernelSet[] = [];
  for (const message of await list(reading, NFT_MSG.GETSET, SET_ATTR.TABLE)) sets.push(await readSet(reading, attributesOf(message)));
  return { counters: counters.map((attributes) => textOf(attributes, OBJ_ATTR.NAME)), sets, chains };
}

// Some lists ignore the asked table and hold other people's too. In all of them the table's name is attribute 1.
async function list({ session, family }: Reading, type: number, tableAttribute: number): Promise<readonly Message[]> {
  const messages = await session.dump({ type, family, write: (writer) => writer.text(tableAttribute, TABLE_NAME) });
  return messages === 'none' ? [] : messages.filter((message) => textOf(attributesOf(message), tableAttribute) === TABLE_NAME);
}

function groupRules(messages: readonly Message[]): ReadonlyMap<string, readonly (readonly Attribute[])[]> {
  const byChain = new Map<string, (readonly Attribute[])[]>();
  for (const message of messages) {
    const attributes = attributesOf(message);
    const chain = textOf(attributes, RULE_ATTR.CHAIN);
    const expressions = nestedOf(attributes, RULE_ATTR.EXPRESSIONS);
    const known = byChain.get(chain);
    if (known === undefined) byChain.set(chain, [expressions]);
    else known.push(expressions);
  }
  return byChain;
}

function readChain(attributes: readonly Attribute[], rules: ReadonlyMap<string, readonly (readonly Attribute[])[]>): KernelChain {
  const name = textOf(attributes, CHAIN_ATTR.NAME);
  const isBase = findAttribute(attributes, CHAIN_ATTR.HOOK) !== undefined;
  return { name, isBase, hook: isBase ? readHook(attributes) : undefined, rules: rules.get(name) ?? [] };
}

const HOOKS_BY_NUMBER = new Map<number, NftHook['hook']>(Object.entries(HOOK_NUMBERS).map(([hook, number]) => [number, hook as NftHook['hook']]));

function readHook(attributes: readonly Attribute[]): NftHook | undefined {
  const nested = nestedOf(attributes, CHAIN_ATTR.HOOK);
  const hook = HOOKS_BY_NUMBER.get(u32Of(nested, HOOK_ATTR.NUMBER));
  const type = textOf(attributes, CHAIN_ATTR.TYPE);
  if (hook === undefined || (type !== 'nat' && type !== 'filter') || u32Of(attributes, CHAIN_ATTR.POLICY) !== NF_ACCEPT) return undefined;
  return { type, hook, priority: u32Of(nested, HOOK_ATTR.PRIORITY) | 0 };
}

async function readSet(reading: Reading, declaration: readonly Attribute[]): Promise<KernelSet> {
  const name = textOf(declaration, SET_ATTR.NAME);
  const kind = kindOf(reading.family, declaration);
  if (kind === undefined) return { name, declaration, content: undefined };
  const layout = SET_LAYOUTS[kind];
  const elements = layout.dynamic === undefined ? await readElements(reading, name) : [];
  const parts = layout.isInterval ? intervalsOf(elements, reading.family, layout) : elements.map((element) => partsOf(element, reading.family, layout));
  return { name, declaration, content: setOfParts(kind, name, { parts, modulus: SHARE_MODULUS, protocol: 'tcp' }) };
}

const KINDS = Object.keys(SET_LAYOUTS) as readonly NftSet['kind'][];

// A set is of the kind whose declaration it has.
const kindOf = (family: NftFamily, declaration: readonly Attribute[]): NftSet['kind'] | undefined =>
  KINDS.find((kind) => {
    const { flags, keyType, keyLength, dataType, dataLength } = declarationOf(family, SET_LAYOUTS[kind]);
    return (
      u32Of(declaration, SET_ATTR.FLAGS) === flags &&
      u32Of(declaration, SET_ATTR.KEY_TYPE) === keyType &&
      u32Of(declaration, SET_ATTR.KEY_LENGTH) === keyLength &&
      u32Of(declaration, SET_ATTR.DATA_TYPE) === (dataType ?? 0) &&
      (dataLength === undefined || u32Of(declaration, SET_ATTR.DATA_LENGTH) === dataLength)
    );
  });

type Element = readonly Attribute[];

/** The elements of a set of ours as the kernel holds them; none where there is no such set. */
export async function readElements({ session, family }: Reading, name: string): Promise<readonly Element[]> {
  const messages = await session.dump({
    type: NFT_MSG.GETSETELEM,
    family,
    write: (writer) => {
      writer.text(ELEMENTS_ATTR.TABLE, TABLE_NAME);
      writer.text(ELEMENTS_ATTR.SET, name);
    },
  });
  return messages === 'none' ? [] : messages.flatMap((message) => nestedOf(attributesOf(message), ELEMENTS_ATTR.LIST)).map((item) => parseAttributes(item.value));
}

/** The key of an element by its fields. */
export const keyFields = (element: Element, family: NftFamily, key: readonly NftFieldKind[]): readonly (string | number)[] => readFields(keyOf(element), family, key);

/** How many packets the counter of an element has seen. */
export const packetsOf = (element: Element): number => Number(findAttribute(nestedOf(nestedOf(element, ELEMENT_ATTR.EXPRESSION), 2), COUNTER_ATTR.PACKETS)?.readBigUInt64BE(0) ?? 0n);

function readFields(bytes: Buffer, family: NftFamily, fields: readonly NftFieldKind[]): readonly (string | number)[] {
  let at = 0;
  return fields.map((field) => {
    const value = readField(bytes, at, family, field);
    at += 4 * fieldWords(family, field);
    return value;
  });
}

const LONGEST_KEY = 64;
const keyOf = (element: Element): Buffer => findAttribute(nestedOf(element, ELEMENT_ATTR.KEY), DATA_ATTR.VALUE) ?? Buffer.alloc(LONGEST_KEY);

function partsOf(element: Element, family: NftFamily, { key, data }: NftSetLayout): NftElementParts {
  const fields = readFields(keyOf(element), family, key);
  if (data === undefined) return { key: fields };
  const nested = nestedOf(element, ELEMENT_ATTR.DATA);
  if (data === 'verdict') return { key: fields, goto: textOf(nestedOf(nested, DATA_ATTR.VERDICT), VERDICT_ATTR.CHAIN) };
  return { key: fields, data: readFields(findAttribute(nested, DATA_ATTR.VALUE) ?? Buffer.alloc(LONGEST_KEY), family, data) };
}

// The kernel keeps the two ends of an interval as two elements, in no promised order.
function intervalsOf(elements: readonly Element[], family: NftFamily, layout: NftSetLayout): readonly NftElementParts[] {
  const isEnd = (element: Element): boolean => (u32Of(element, ELEMENT_ATTR.FLAGS) & INTERVAL_END) !== 0;
  const unitOf = (element: Element): number => keyOf(element).readUInt32BE(0);
  const ends = elements.filter(isEnd).map(unitOf).sort((a, b) => a - b);
  const starts = elements.filter((element) => !isEnd(element)).sort((a, b) => unitOf(a) - unitOf(b));
  let next = 0;
  return starts.map((element) => {
    const from = unitOf(element);
    while (next < ends.length && (ends[next] ?? 0) <= from) next += 1;
    return { ...partsOf(element, family, layout), to: (ends[next] ?? 0x1_0000_0000) - 1 };
  });
}
