import { assertNever } from '#domain/fleet';
import type { NftAction, NftRule, NftStatement } from '#domain/nft-ruleset';

import { LIST_ITEM, OBJ_COUNTER } from './constants.js';
import type { MessageWriter } from './message-writer.js';

/** Writes a rule's expressions as items of a list: the kernel's small instructions over registers. */
export function writeExpressions(writer: MessageWriter, rule: NftRule): void {
  for (const statement of rule) writeStatement(writer, statement);
}

// Register 1 is 16 bytes wide; 9 and 10 are the second and third of its 4-byte parts, where concatenated keys continue.
const REG_1 = 1;
const REG_1_PART_2 = 9;
const REG_1_PART_3 = 10;

const META_L4PROTO = 16;
const IPPROTO_TCP = 6;
const CT_STATE = 0;
const CT_DESTINATION_IP = 20;
const CT_STATE_NEW = 8;
const DIRECTION_ORIGINAL = 0;
const NETWORK_HEADER = 1;
const TRANSPORT_HEADER = 2;
const IP_SOURCE = 12;
const IP_DESTINATION = 16;
const TRANSPORT_DESTINATION_PORT = 2;
const CMP = { EQUAL: 0, NOT_EQUAL: 1 } as const;
const FIB_RESULT_ADDRESS_TYPE = 3;
const FIB_SOURCE_ADDRESS = 1;
const ADDRESS_TYPE_LOCAL = 2;
const NUMGEN_RANDOM = 1;
const BYTEORDER_HOST_TO_NETWORK = 1;
const NAT_DESTINATION = 1;
const NFPROTO_IPV4 = 2;
const REJECT = { ICMP: 0, TCP_RESET: 1 } as const;
const ICMP_PORT_UNREACHABLE = 3;

function writeStatement(writer: MessageWriter, statement: NftStatement): void {
  switch (statement.kind) {
    case 'protocol-tcp':
      writeMeta(writer, META_L4PROTO, REG_1);
      writeCompare(writer, CMP.EQUAL, Buffer.of(IPPROTO_TCP));
      return;
    case 'connection-new':
      writeConnectionNew(writer);
      return;
    case 'destination-in':
      writeIpAddress(writer, IP_DESTINATION, REG_1);
      writeLookup(writer, statement.set);
      return;
    case 'original-destination-in':
      writeExpression(writer, 'ct', [
        [2, CT_DESTINATION_IP],
        [1, REG_1],
        [3, Buffer.of(DIRECTION_ORIGINAL)],
      ]);
      writeLookup(writer, statement.set);
      return;
    case 'source-and-destination-in':
      writeIpAddress(writer, IP_SOURCE, REG_1);
      writeIpAddress(writer, IP_DESTINATION, REG_1_PART_2);
      writeLookup(writer, statement.set);
      return;
    case 'source-is-local':
      writeExpression(writer, 'fib', [
        [3, FIB_SOURCE_ADDRESS],
        [2, FIB_RESULT_ADDRESS_TYPE],
        [1, REG_1],
      ]);
      writeCompare(writer, CMP.EQUAL, hostOrder(ADDRESS_TYPE_LOCAL));
      return;
    default:
      writeAction(writer, statement);
  }
}

function writeAction(writer: MessageWriter, action: NftAction): void {
  switch (action.kind) {
    case 'dispatch':
      writeIpAddress(writer, IP_DESTINATION, REG_1);
      writeMeta(writer, META_L4PROTO, REG_1_PART_2);
      writePayload(writer, { base: TRANSPORT_HEADER, offset: TRANSPORT_DESTINATION_PORT, length: 2 }, REG_1_PART_3);
      // Destination register 0 is the verdict.
      writeLookup(writer, action.map, 0);
      return;
    case 'dnat-by-share':
      writeDnat(writer, action.map, action.modulus);
      return;
    case 'counter':
      writeExpression(writer, 'counter', []);
      return;
    case 'named-counter':
      writeExpression(writer, 'objref', [
        [1, OBJ_COUNTER],
        [2, zeroEnded(action.counter)],
      ]);
      return;
    case 'reject':
      writeExpression(writer, 'reject', action.with === 'tcp reset' ? [[1, REJECT.TCP_RESET]] : [[1, REJECT.ICMP], [2, Buffer.of(ICMP_PORT_UNREACHABLE)]]);
      return;
    case 'masquerade':
      writeExpression(writer, 'masq', []);
      return;
    default:
      assertNever(action);
  }
}

// numgen draws in the machine's byte order; the map's keys are intervals and must be in the network's.
function writeDnat(writer: MessageWriter, map: string, modulus: number): void {
  writeExpression(writer, 'numgen', [
    [1, REG_1],
    [2, modulus],
    [3, NUMGEN_RANDOM],
  ]);
  writeExpression(writer, 'byteorder', [
    [1, REG_1],
    [2, REG_1],
    [3, BYTEORDER_HOST_TO_NETWORK],
    [4, 4],
    [5, 4],
  ]);
  writeLookup(writer, map, REG_1);
  writeExpression(writer, 'nat', [
    [1, NAT_DESTINATION],
    [2, NFPROTO_IPV4],
    [3, REG_1],
    [5, REG_1_PART_2],
  ]);
}

function writeConnectionNew(writer: MessageWriter): void {
  writeExpression(writer, 'ct', [
    [2, CT_STATE],
    [1, REG_1],
  ]);
  const expression = beginExpression(writer, 'bitwise');
  writer.u32(1, REG_1);
  writer.u32(2, REG_1);
  writer.u32(3, 4);
  writeData(writer, 4, hostOrder(CT_STATE_NEW));
  writeData(writer, 5, hostOrder(0));
  endExpression(writer, expression);
  writeCompare(writer, CMP.NOT_EQUAL, hostOrder(0));
}

const writeMeta = (writer: MessageWriter, key: number, register: number): void =>
  writeExpression(writer, 'meta', [
    [2, key],
    [1, register],
  ]);

const writeIpAddress = (writer: MessageWriter, offset: number, register: number): void => writePayload(writer, { base: NETWORK_HEADER, offset, length: 4 }, register);

const writePayload = (writer: MessageWriter, field: { readonly base: number; readonly offset: number; readonly length: number }, register: number): void =>
  writeExpression(writer, 'payload', [
    [1, register],
    [2, field.base],
    [3, field.offset],
    [4, field.length],
  ]);

function writeLookup(writer: MessageWriter, set: string, destinationRegister?: number): void {
  writeExpression(writer, 'lookup', [
    [2, REG_1],
    ...(destinationRegister === undefined ? [] : [[3, destinationRegister] as const]),
    [1, zeroEnded(set)],
  ]);
}

function writeCompare(writer: MessageWriter, operator: number, value: Buffer): void {
  const expression = beginExpression(writer, 'cmp');
  writer.u32(1, REG_1);
  writer.u32(2, operator);
  writeData(writer, 3, value);
  endExpression(writer, expression);
}

function writeData(writer: MessageWriter, type: number, value: Buffer): void {
  const nest = writer.nest(type);
  writer.raw(1, value);
  writer.unnest(nest);
}

// A list item that holds the expression's name and its data.
function writeExpression(writer: MessageWriter, name: string, attributes: readonly (readonly [type: number, value: number | Buffer])[]): void {
  const expression = beginExpression(writer, name);
  for (const [type, value] of attributes) {
    if (typeof value === 'number') writer.u32(type, value);
    else writer.raw(type, value);
  }
  endExpression(writer, expression);
}

type Marks = readonly [item: ReturnType<MessageWriter['nest']>, data: ReturnType<MessageWriter['nest']>];

function beginExpression(writer: MessageWriter, name: string): Marks {
  const item = writer.nest(LIST_ITEM);
  writer.text(1, name);
  return [item, writer.nest(2)];
}

function endExpression(writer: MessageWriter, [item, data]: Marks): void {
  writer.unnest(data);
  writer.unnest(item);
}

const zeroEnded = (text: string): Buffer => Buffer.from(`${text}\0`, 'latin1');

function hostOrder(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0] = value;
  return bytes;
}
