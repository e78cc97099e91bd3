import { assertNever } from '#domain/fleet';
import { TABLE_NAME, type NftSet } from '#domain/nft-ruleset';

import type { NFT_MSG} from './constants.js';
import { AF_INET, DATA_ATTR, DATA_TYPE_VERDICT, ELEMENT_ATTR, ELEMENTS_ATTR, INTERVAL_END, LIST_ITEM, NLM, SET_ATTR, SET_FLAG, VERDICT_ATTR, VERDICT_GOTO } from './constants.js';
import type { Mark, MessageWriter } from './message-writer.js';

/** How the kernel is told what a set or map holds. */
export interface SetDeclaration {
  readonly flags: number;
  readonly keyType: number;
  readonly keyLength: number;
  readonly dataType?: number;
  readonly dataLength?: number;
  /** What the nft program wants to know to print the set as it was meant; the kernel only keeps it. */
  readonly userdata: Buffer;
}

// nft's own numbers for types, six bits each in a concatenation.
const TYPE = { INTEGER: 4, IP_ADDRESS: 7, PROTOCOL: 12, PORT: 13 } as const;
const concatenated = (...types: readonly number[]): number => types.reduce((all, type) => (all << 6) | type, 0);

/** The declaration of each kind of set. */
export function declarationOf(set: NftSet): SetDeclaration {
  switch (set.kind) {
    case 'addresses':
      return { flags: 0, keyType: TYPE.IP_ADDRESS, keyLength: 4, userdata: keyOrder(ORDER_BIG) };
    case 'pairs':
      return { flags: 0, keyType: concatenated(TYPE.IP_ADDRESS, TYPE.IP_ADDRESS), keyLength: 8, userdata: Buffer.concat([keyOrder(ORDER_NONE), CONCATENATED_KEY]) };
    case 'verdicts':
      return {
        flags: SET_FLAG.MAP,
        keyType: concatenated(TYPE.IP_ADDRESS, TYPE.PROTOCOL, TYPE.PORT),
        keyLength: 12,
        dataType: DATA_TYPE_VERDICT,
        userdata: Buffer.concat([keyOrder(ORDER_NONE), dataOrder(ORDER_NONE), CONCATENATED_KEY, dataIsInterval(0)]),
      };
    case 'shares':
      return {
        flags: SET_FLAG.MAP | SET_FLAG.INTERVAL,
        keyType: TYPE.INTEGER,
        keyLength: 4,
        dataType: concatenated(TYPE.IP_ADDRESS, TYPE.PORT),
        dataLength: 8,
        userdata: shareMapUserdata(set.modulus),
      };
    default:
      return assertNever(set);
  }
}

// Entries of nft's userdata: type, length, value; numbers in host order (little-endian on every machine we run on).
const ORDER_NONE = 0;
const ORDER_HOST = 1;
const ORDER_BIG = 2;
const entry = (type: number, ...value: readonly Buffer[]): Buffer => {
  const bytes = Buffer.concat(value);
  return Buffer.concat([Buffer.of(type, bytes.length), bytes]);
};

function u32Entry(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return entry(type, bytes);
}

const keyOrder = (order: number): Buffer => u32Entry(0, order);
const dataOrder = (order: number): Buffer => u32Entry(1, order);
const keyTypeof = (...expression: readonly Buffer[]): Buffer => entry(3, ...expression);
const dataTypeof = (...expression: readonly Buffer[]): Buffer => entry(4, ...expression);
const dataIsInterval = (flag: number): Buffer => u32Entry(6, flag);

const EXPRESSION = { PAYLOAD: 7, CONCATENATION: 13, NUMGEN: 23 } as const;
const expression = (kind: number, ...details: readonly Buffer[]): readonly Buffer[] => [u32Entry(0, kind), entry(1, ...details)];

const CONCATENATED_KEY = keyTypeof(...expression(EXPRESSION.CONCATENATION));

// nft's numbers for the protocols and fields of "ip daddr" and "tcp dport".
const IP_DADDR = expression(EXPRESSION.PAYLOAD, u32Entry(0, 12), u32Entry(1, 12));
const TCP_DPORT = expression(EXPRESSION.PAYLOAD, u32Entry(0, 8), u32Entry(1, 2));

// `typeof numgen random mod M : ip daddr . tcp dport`
function shareMapUserdata(modulus: number): Buffer {
  return Buffer.concat([
    keyOrder(ORDER_HOST),
    dataOrder(ORDER_NONE),
    keyTypeof(...expression(EXPRESSION.NUMGEN, u32Entry(0, 1), u32Entry(1, modulus), u32Entry(2, 0))),
    dataTypeof(...expression(EXPRESSION.CONCATENATION, entry(0, ...IP_DADDR), entry(1, ...TCP_DPORT))),
    dataIsInterval(0),
  ]);
}

/** Writes the declaration of a set, but for the number that a batch knows it by. */
export function writeSetDeclaration(writer: MessageWriter, set: NftSet): void {
  const declaration = declarationOf(set);
  writer.text(SET_ATTR.TABLE, TABLE_NAME);
  writer.text(SET_ATTR.NAME, set.name);
  // The kernel leaves out what is 0, and so do we: declarations are compared when a table is adopted.
  if (declaration.flags !== 0) writer.u32(SET_ATTR.FLAGS, declaration.flags);
  writer.u32(SET_ATTR.KEY_TYPE, declaration.keyType);
  writer.u32(SET_ATTR.KEY_LENGTH, declaration.keyLength);
  if (declaration.dataType !== undefined) writer.u32(SET_ATTR.DATA_TYPE, declaration.dataType);
  if (declaration.dataLength !== undefined) writer.u32(SET_ATTR.DATA_LENGTH, declaration.dataLength);
  writer.raw(SET_ATTR.USERDATA, declaration.userdata);
}

// A nested attribute's length has 16 bits; a list of elements stays well below.
const LIST_LENGTH_MAX = 32 * 1024;

/** Writes messages that add or delete elements, as many as their number needs. Returns how many messages that were. */
export function writeElements(writer: MessageWriter, change: { readonly type: typeof NFT_MSG.NEWSETELEM | typeof NFT_MSG.DELSETELEM; readonly set: NftSet; readonly sequence: number }): number {
  const { type, set } = change;
  let messageCount = 0;
  let open: { readonly message: Mark; readonly list: Mark } | undefined;
  const close = (): void => {
    if (open === undefined) return;
    writer.unnest(open.list);
    writer.end(open.message);
    open = undefined;
  };
  for (const element of rawElements(set)) {
    if (open === undefined) {
      const message = writer.begin({ type, flags: NLM.REQUEST | NLM.CREATE, family: AF_INET, sequence: change.sequence + messageCount });
      writer.text(ELEMENTS_ATTR.TABLE, TABLE_NAME);
      writer.text(ELEMENTS_ATTR.SET, set.name);
      open = { message, list: writer.nest(ELEMENTS_ATTR.LIST) };
      messageCount += 1;
    }
    writeElement(writer, element);
    if (writer.length - open.list > LIST_LENGTH_MAX) close();
  }
  close();
  return messageCount;
}

type Words = readonly [number, number?, number?];

interface RawElement {
  readonly key: Words;
  readonly data?: Words;
  readonly goto?: string;
  readonly isIntervalEnd?: boolean;
}

const TCP = 6;

// Each part of a concatenation takes four bytes, small ones at their beginning.
function* rawElements(set: NftSet): Generator<RawElement> {
  switch (set.kind) {
    case 'addresses':
      for (const address of set.elements) yield { key: [addressWord(address)] };
      return;
    case 'pairs':
      for (const address of set.elements) yield { key: [addressWord(address), addressWord(address)] };
      return;
    case 'verdicts':
      for (const { address, port, chain } of set.elements) yield { key: [addressWord(address), TCP << 24, port << 16], goto: chain };
      return;
    case 'shares':
      for (const { from, to, address, port } of set.elements) {
        yield { key: [from], data: [addressWord(address), port << 16] };
        yield { key: [to + 1], isIntervalEnd: true };
      }
      return;
    default:
      assertNever(set);
  }
}

function writeElement(writer: MessageWriter, element: RawElement): void {
  const item = writer.nest(LIST_ITEM);
  if (element.isIntervalEnd === true) writer.u32(ELEMENT_ATTR.FLAGS, INTERVAL_END);
  const key = writer.nest(ELEMENT_ATTR.KEY);
  writer.words(DATA_ATTR.VALUE, element.key);
  writer.unnest(key);
  if (element.data !== undefined) {
    const data = writer.nest(ELEMENT_ATTR.DATA);
    writer.words(DATA_ATTR.VALUE, element.data);
    writer.unnest(data);
  }
  if (element.goto !== undefined) {
    const data = writer.nest(ELEMENT_ATTR.DATA);
    const verdict = writer.nest(DATA_ATTR.VERDICT);
    writer.u32(VERDICT_ATTR.CODE, VERDICT_GOTO);
    writer.text(VERDICT_ATTR.CHAIN, element.goto);
    writer.unnest(verdict);
    writer.unnest(data);
  }
  writer.unnest(item);
}

const ZERO = '0'.charCodeAt(0);
const DOT = '.'.charCodeAt(0);

function addressWord(address: string): number {
  let word = 0;
  let octet = 0;
  for (let at = 0; at < address.length; at += 1) {
    const code = address.charCodeAt(at);
    if (code === DOT) {
      word = (word << 8) | octet;
      octet = 0;
    } else {
      octet = octet * 10 + code - ZERO;
    }
  }
  return (word << 8) | octet;
}
