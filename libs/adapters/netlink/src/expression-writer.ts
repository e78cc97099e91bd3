import { LIST_ITEM } from './constants.js';
import type { Mark, MessageWriter } from './message-writer.js';

/** Operators of a comparison. */
export const COMPARE = { EQUAL: 0, NOT_EQUAL: 1 } as const;

// The kernel knows four registers of 16 bytes as 1 to 4, and their sixteen words as 8 to 23; it names a word that begins a
// whole register by the latter.
const WHOLE_REGISTERS = 1;
const WORD_REGISTERS = 8;
const WORDS_PER_REGISTER = 4;

/** The kernel's number of the register that begins at a word. */
export const register = (word: number): number => (word % WORDS_PER_REGISTER === 0 ? WHOLE_REGISTERS + word / WORDS_PER_REGISTER : WORD_REGISTERS + word);

/** Writes a list item that holds an expression's name and its data. */
export function writeExpression(writer: MessageWriter, name: string, attributes: readonly (readonly [type: number, value: number | Buffer])[]): void {
  const expression = beginExpression(writer, name);
  for (const [type, value] of attributes) {
    if (typeof value === 'number') writer.u32(type, value);
    else writer.raw(type, value);
  }
  endExpression(writer, expression);
}

/** Compares the first register with a value. */
export function writeCompare(writer: MessageWriter, operator: number, value: Buffer): void {
  const expression = beginExpression(writer, 'cmp');
  writer.u32(1, register(0));
  writer.u32(2, operator);
  writeData(writer, 3, value);
  endExpression(writer, expression);
}

/** Asks whether the first register has any of the bits. */
export function writeMasked(writer: MessageWriter, bits: number): void {
  const expression = beginExpression(writer, 'bitwise');
  writer.u32(1, register(0));
  writer.u32(2, register(0));
  writer.u32(3, 4);
  writeData(writer, 4, hostOrder(bits));
  writeData(writer, 5, hostOrder(0));
  endExpression(writer, expression);
  writeCompare(writer, COMPARE.NOT_EQUAL, hostOrder(0));
}

function writeData(writer: MessageWriter, type: number, value: Buffer): void {
  const nest = writer.nest(type);
  writer.raw(1, value);
  writer.unnest(nest);
}

/** An expression that was begun and not ended. */
export type OpenExpression = readonly [item: Mark, data: Mark];

/** Begins an expression; what is written next is its data. */
export function beginExpression(writer: MessageWriter, name: string): OpenExpression {
  const item = writer.nest(LIST_ITEM);
  writer.text(1, name);
  return [item, writer.nest(2)];
}

/** Ends an expression. */
export function endExpression(writer: MessageWriter, [item, data]: OpenExpression): void {
  writer.unnest(data);
  writer.unnest(item);
}

/** A text as bytes that end in a zero. */
export const zeroEnded = (text: string): Buffer => Buffer.from(`${text}\0`, 'latin1');

/** A number of four bytes in the machine's order. */
export function hostOrder(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0] = value;
  return bytes;
}
