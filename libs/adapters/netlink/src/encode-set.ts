import { elementParts, SET_LAYOUTS, TABLE_NAME, type NftElementParts, type NftFamily, type NftFieldKind, type NftSet, type NftSetLayout } from '#domain/nft-ruleset';

import type { NFT_MSG } from './constants.js';
import { DATA_ATTR, DATA_TYPE_VERDICT, DESCRIPTION_ATTR, ELEMENT_ATTR, ELEMENTS_ATTR, FAMILY_NUMBERS, INTERVAL_END, LIST_ITEM, NLM, SET_ATTR, SET_FLAG, VERDICT_ATTR, VERDICT_GOTO } from './constants.js';
import { fieldsLength, pushField } from './fields.js';
import type { Mark, MessageWriter } from './message-writer.js';
import { userdataOf } from './set-userdata.js';

/** How the kernel is told what a set or map holds. */
export interface SetDeclaration {
  readonly flags: number;
  readonly keyType: number;
  readonly keyLength: number;
  readonly dataType: number | undefined;
  readonly dataLength: number | undefined;
}

// nft's own numbers for types, six bits each in a concatenation; a unit is what nft calls an integer.
const TYPE_UNIT = 4;
const typeNumber = (family: NftFamily, field: NftFieldKind): number => ({ unit: TYPE_UNIT, address: family === 'ip' ? 7 : 8, protocol: 12, port: 13, mark: 19 })[field];
const typeOf = (family: NftFamily, fields: readonly NftFieldKind[]): number => fields.reduce((all, field) => (all << 6) | typeNumber(family, field), 0);

/** The declaration of a kind of set in a family. */
export function declarationOf(family: NftFamily, { key, data, isInterval, dynamic }: NftSetLayout): SetDeclaration {
  return {
    flags: (data === undefined ? 0 : SET_FLAG.MAP) | (isInterval ? SET_FLAG.INTERVAL : 0) | (dynamic === undefined ? 0 : SET_FLAG.DYNAMIC | SET_FLAG.TIMEOUT),
    keyType: typeOf(family, key),
    keyLength: fieldsLength(family, key),
    dataType: data === undefined ? undefined : data === 'verdict' ? DATA_TYPE_VERDICT : typeOf(family, data),
    dataLength: data === undefined || data === 'verdict' ? undefined : fieldsLength(family, data),
  };
}

/** Writes the declaration of a set, but for the number that a batch knows it by. */
export function writeSetDeclaration(writer: MessageWriter, family: NftFamily, set: NftSet): void {
  const { dynamic } = SET_LAYOUTS[set.kind];
  const declaration = declarationOf(family, SET_LAYOUTS[set.kind]);
  writer.text(SET_ATTR.TABLE, TABLE_NAME);
  writer.text(SET_ATTR.NAME, set.name);
  // The kernel leaves out what is 0, and so do we: declarations are compared when a table is adopted.
  if (declaration.flags !== 0) writer.u32(SET_ATTR.FLAGS, declaration.flags);
  writer.u32(SET_ATTR.KEY_TYPE, declaration.keyType);
  writer.u32(SET_ATTR.KEY_LENGTH, declaration.keyLength);
  if (declaration.dataType !== undefined) writer.u32(SET_ATTR.DATA_TYPE, declaration.dataType);
  if (declaration.dataLength !== undefined) writer.u32(SET_ATTR.DATA_LENGTH, declaration.dataLength);
  if (dynamic !== undefined) {
    const description = writer.nest(SET_ATTR.DESCRIPTION);
    writer.u32(DESCRIPTION_ATTR.SIZE, dynamic.size);
    writer.unnest(description);
    writer.u64(SET_ATTR.TIMEOUT, dynamic.timeoutSeconds * 1_000);
  }
  writer.raw(SET_ATTR.USERDATA, userdataOf(family, set));
}

// A nested attribute's length has 16 bits; a list of elements stays well below.
const LIST_LENGTH_MAX = 32 * 1024;

/** A change of a set's elements. */
export interface ElementsChange {
  readonly type: typeof NFT_MSG.NEWSETELEM | typeof NFT_MSG.DELSETELEM;
  readonly family: NftFamily;
  readonly set: NftSet;
  readonly sequence: number;
}

/** Writes messages that add or delete elements, as many as their number needs. Returns how many messages that were. */
export function writeElements(writer: MessageWriter, { type, family, set, sequence }: ElementsChange): number {
  const layout = SET_LAYOUTS[set.kind];
  let messageCount = 0;
  let open: { readonly message: Mark; readonly list: Mark } | undefined;
  const close = (): void => {
    if (open === undefined) return;
    writer.unnest(open.list);
    writer.end(open.message);
    open = undefined;
  };
  for (const element of elementParts(set)) {
    if (open === undefined) {
      const message = writer.begin({ type, flags: NLM.REQUEST | NLM.CREATE, family: FAMILY_NUMBERS[family], sequence: sequence + messageCount });
      writer.text(ELEMENTS_ATTR.TABLE, TABLE_NAME);
      writer.text(ELEMENTS_ATTR.SET, set.name);
      open = { message, list: writer.nest(ELEMENTS_ATTR.LIST) };
      messageCount += 1;
    }
    writeElement(writer, layout, element);
    if (writer.length - open.list > LIST_LENGTH_MAX) close();
  }
  close();
  return messageCount;
}

function writeElement(writer: MessageWriter, { key, data }: NftSetLayout, element: NftElementParts): void {
  const item = writer.nest(LIST_ITEM);
  writeValue(writer, ELEMENT_ATTR.KEY, wordsOf(key, element.key));
  if (element.goto !== undefined) writeGoto(writer, element.goto);
  else if (element.data !== undefined && data !== undefined && data !== 'verdict') writeValue(writer, ELEMENT_ATTR.DATA, wordsOf(data, element.data));
  writer.unnest(item);
  if (element.to === undefined) return;
  // The kernel keeps the end of an interval as an element of its own.
  const end = writer.nest(LIST_ITEM);
  writer.u32(ELEMENT_ATTR.FLAGS, INTERVAL_END);
  writeValue(writer, ELEMENT_ATTR.KEY, [element.to + 1]);
  writer.unnest(end);
}

function wordsOf(fields: readonly NftFieldKind[], values: readonly (string | number)[]): readonly number[] {
  const words: number[] = [];
  for (let index = 0; index < fields.length; index += 1) pushField(words, fields[index] ?? 'unit', values[index] ?? 0);
  return words;
}

function writeValue(writer: MessageWriter, type: number, words: readonly number[]): void {
  const nest = writer.nest(type);
  writer.words(DATA_ATTR.VALUE, words);
  writer.unnest(nest);
}

function writeGoto(writer: MessageWriter, chain: string): void {
  const data = writer.nest(ELEMENT_ATTR.DATA);
  writeGotoVerdict(writer, chain);
  writer.unnest(data);
}

/** Writes the verdict that leads to a chain. */
export function writeGotoVerdict(writer: MessageWriter, chain: string): void {
  const verdict = writer.nest(DATA_ATTR.VERDICT);
  writer.u32(VERDICT_ATTR.CODE, VERDICT_GOTO);
  writer.text(VERDICT_ATTR.CHAIN, chain);
  writer.unnest(verdict);
}
