import { TABLE_NAME, type NftHook, type NftSet, type NftShareElement } from '#domain/nft-ruleset';

import {
  CHAIN_ATTR,
  DATA_ATTR,
  DATA_TYPE_VERDICT,
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
  SET_FLAG,
  TABLE_ATTR,
  VERDICT_ATTR,
} from './constants.js';
import type { KernelSession } from './kernel-session.js';
import { attributesOf, findAttribute, nestedOf, parseAttributes, textOf, u32Of, type Attribute, type Message } from './parse-messages.js';

/** Our table as the kernel holds it. */
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

/** Reads our table out of the kernel; undefined where there is none. */
export async function readTable(session: KernelSession): Promise<KernelTable | undefined> {
  const table = session.get(NFT_MSG.GETTABLE, (writer) => writer.text(TABLE_ATTR.NAME, TABLE_NAME));
  if (table === 'none') return undefined;
  const rules = groupRules(await list(session, NFT_MSG.GETRULE, RULE_ATTR.TABLE));
  const chains = (await list(session, NFT_MSG.GETCHAIN, CHAIN_ATTR.TABLE)).map((message) => readChain(attributesOf(message), rules));
  const counters = (await list(session, NFT_MSG.GETOBJ, OBJ_ATTR.TABLE)).map(attributesOf).filter((attributes) => u32Of(attributes, OBJ_ATTR.TYPE) === OBJ_COUNTER);
  const sets: KernelSet[] = [];
  for (const message of await list(session, NFT_MSG.GETSET, SET_ATTR.TABLE)) sets.push(await readSet(session, attributesOf(message)));
  return { counters: counters.map((attributes) => textOf(attributes, OBJ_ATTR.NAME)), sets, chains };
}

// Some lists ignore the asked table and hold other people's too. In all of them the table's name is attribute 1.
async function list(session: KernelSession, type: number, tableAttribute: number): Promise<readonly Message[]> {
  const messages = await session.dump(type, (writer) => writer.text(tableAttribute, TABLE_NAME));
  return messages === 'none' ? [] : messages.filter((message) => textOf(attributesOf(message), tableAttribute) === TABLE_NAME);
}

function groupRules(messages: readonly Message[]): ReadonlyMap<string, readonly (readonly Attribute[])[]> {
  const rules = new Map<string, (readonly Attribute[])[]>();
  for (const attributes of messages.map(attributesOf)) {
    const chain = textOf(attributes, RULE_ATTR.CHAIN);
    const known = rules.get(chain) ?? [];
    known.push(nestedOf(attributes, RULE_ATTR.EXPRESSIONS));
    rules.set(chain, known);
  }
  return rules;
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

async function readSet(session: KernelSession, declaration: readonly Attribute[]): Promise<KernelSet> {
  const name = textOf(declaration, SET_ATTR.NAME);
  const messages = await session.dump(NFT_MSG.GETSETELEM, (writer) => {
    writer.text(ELEMENTS_ATTR.TABLE, TABLE_NAME);
    writer.text(ELEMENTS_ATTR.SET, name);
  });
  const elements = (messages === 'none' ? [] : messages).flatMap((message) => nestedOf(attributesOf(message), ELEMENTS_ATTR.LIST)).map((item) => parseAttributes(item.value));
  return { name, declaration, content: readContent(name, declaration, elements) };
}

function readContent(name: string, declaration: readonly Attribute[], elements: readonly (readonly Attribute[])[]): NftSet | undefined {
  const flags = u32Of(declaration, SET_ATTR.FLAGS);
  const keyLength = u32Of(declaration, SET_ATTR.KEY_LENGTH);
  if ((flags & SET_FLAG.INTERVAL) !== 0) return { kind: 'shares', name, modulus: 0, rejectedUnits: 0, elements: readIntervals(elements) };
  if (u32Of(declaration, SET_ATTR.DATA_TYPE) === DATA_TYPE_VERDICT) {
    return { kind: 'verdicts', name, elements: elements.map(readVerdict) };
  }
  const addresses = elements.map((element) => addressAt(keyOf(element), 0));
  if (keyLength === 4) return { kind: 'addresses', name, elements: addresses };
  return keyLength === 8 ? { kind: 'pairs', name, elements: addresses } : undefined;
}

const keyOf = (element: readonly Attribute[]): Buffer => findAttribute(nestedOf(element, ELEMENT_ATTR.KEY), DATA_ATTR.VALUE) ?? Buffer.alloc(12);
const addressAt = (bytes: Buffer, at: number): string => bytes.subarray(at, at + 4).join('.');

function readVerdict(element: readonly Attribute[]): { address: string; protocol: 'tcp'; port: number; chain: string } {
  const key = keyOf(element);
  const verdict = nestedOf(nestedOf(element, ELEMENT_ATTR.DATA), DATA_ATTR.VERDICT);
  return { address: addressAt(key, 0), protocol: 'tcp', port: key.readUInt16BE(8), chain: textOf(verdict, VERDICT_ATTR.CHAIN) };
}

// The kernel keeps the two ends of an interval as two elements, in no promised order.
function readIntervals(elements: readonly (readonly Attribute[])[]): readonly NftShareElement[] {
  const isEnd = (element: readonly Attribute[]): boolean => (u32Of(element, ELEMENT_ATTR.FLAGS) & INTERVAL_END) !== 0;
  const unitOf = (element: readonly Attribute[]): number => keyOf(element).readUInt32BE(0);
  const ends = elements.filter(isEnd).map(unitOf).sort((a, b) => a - b);
  const starts = elements.filter((element) => !isEnd(element)).sort((a, b) => unitOf(a) - unitOf(b));
  let next = 0;
  return starts.map((element) => {
    const from = unitOf(element);
    while (next < ends.length && (ends[next] ?? 0) <= from) next += 1;
    const data = findAttribute(nestedOf(element, ELEMENT_ATTR.DATA), DATA_ATTR.VALUE) ?? Buffer.alloc(8);
    return { from, to: (ends[next] ?? 0x1_0000_0000) - 1, address: addressAt(data, 0), port: data.readUInt16BE(4) };
  });
}
