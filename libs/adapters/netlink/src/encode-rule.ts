import { assertNever } from '#domain/fleet';
import { AFFINITY_MAP, CALLER_FIELDS, FLOW_FIELDS, FLOWS_SET, HASH_SEED, HASHED_FIELDS, type NftAction, type NftFamily, type NftMatch, type NftPacketField, type NftRule, type NftStatement, type NftUnit } from '#domain/nft-ruleset';

import { OBJ_COUNTER } from './constants.js';
import { writeGotoVerdict } from './encode-set.js';
import { beginExpression, endExpression, hostOrder, register, writeExpression, writeMasked, writeCompare, zeroEnded, COMPARE } from './expression-writer.js';
import { fieldWords, protocolNumber } from './fields.js';
import type { MessageWriter } from './message-writer.js';

/** Writes a rule's expressions as items of a list: the kernel's small instructions over registers. */
export function writeExpressions(writer: MessageWriter, family: NftFamily, rule: NftRule): void {
  for (const statement of rule) writeStatement({ writer, family }, statement);
}

/** Where a rule is written, and of which family its table is. */
interface Target {
  readonly writer: MessageWriter;
  readonly family: NftFamily;
}

const META = { PRIORITY: 2, L4PROTO: 16 } as const;
const CT = { STATE: 0, STATUS: 2, PROTO_DST: 12, SRC_IP: 19, DST_IP: 20, SRC_IP6: 21, DST_IP6: 22 } as const;
const CT_STATE_NEW = 8;
const CT_STATUS_DNAT = 32;
const DIRECTION_ORIGINAL = 0;
const NETWORK_HEADER = 1;
const TRANSPORT_HEADER = 2;
const TRANSPORT_DESTINATION_PORT = 2;
const ADDRESS_OFFSETS = { ip: { source: 12, destination: 16 }, ip6: { source: 8, destination: 24 } } as const;
const FIB_RESULT_ADDRESS_TYPE = 3;
const FIB = { SOURCE: 1, DESTINATION: 2 } as const;
const ADDRESS_TYPE_LOCAL = 2;
const NUMGEN_RANDOM = 1;
const BYTEORDER_HOST_TO_NETWORK = 1;
const NAT_DESTINATION = 1;
const NFPROTO = { ip: 2, ip6: 10 } as const;
const REJECT = { ICMP: 0, TCP_RESET: 1 } as const;
const PORT_UNREACHABLE = { ip: 3, ip6: 4 } as const;
const LOOKUP_INVERTED = 1;
const DYNSET_UPDATE = 1;
const VERDICT_REGISTER = 0;
// Registers are counted in words of four bytes, sixteen of them; what is read beside a key begins at one of these.
const BEHIND_KEY = { ip: 4, ip6: 12 } as const;
const BEHIND_DATA = 8;
const HASH_SOURCE = 4;

const isMatch = (statement: NftStatement): statement is NftMatch => !['dispatch', 'goto', 'remember', 'take-unit', 'dnat-by-share', 'count-flow', 'named-counter', 'reject', 'masquerade'].includes(statement.kind);

function writeStatement(target: Target, statement: NftStatement): void {
  if (isMatch(statement)) writeMatch(target, statement);
  else writeAction(target, statement);
}

function writeMatch(target: Target, match: NftMatch): void {
  const { writer } = target;
  switch (match.kind) {
    case 'protocol':
      writeMeta(writer, 0);
      writeCompare(writer, COMPARE.EQUAL, Buffer.of(protocolNumber(match.is)));
      return;
    case 'connection-new':
      writeCt(writer, { key: CT.STATE, at: 0 });
      writeMasked(writer, CT_STATE_NEW);
      return;
    case 'connection-translated':
      writeCt(writer, { key: CT.STATUS, at: 0 });
      writeMasked(writer, CT_STATUS_DNAT);
      return;
    case 'in-set':
    case 'not-in-set':
      writeFields(target, match.fields, 0);
      writeLookup(writer, { set: match.set, isInverted: match.kind === 'not-in-set' });
      return;
    case 'source-is-local':
      writeFib(writer, FIB.SOURCE);
      return;
    case 'destination-is-local':
      writeFib(writer, FIB.DESTINATION);
      return;
    case 'unit-of-owner':
      writeUnit(target, match.unit, match.modulus);
      writeNetworkOrder(writer);
      writeLookup(writer, { set: match.map, into: register(0) });
      writeCompare(writer, COMPARE.EQUAL, hostOrder(match.owner));
      if (match.unit === 'taken') writeGiveBack(writer);
      return;
    default:
      assertNever(match);
  }
}

function writeAction(target: Target, action: NftAction): void {
  const { writer, family } = target;
  switch (action.kind) {
    case 'dispatch':
      writeFields(target, action.fields, 0);
      writeLookup(writer, { set: action.map, into: VERDICT_REGISTER });
      return;
    case 'goto':
      writeGoto(writer, action.chain);
      return;
    case 'remember':
      writeRemember(target, action);
      return;
    case 'take-unit':
      if (action.from === 'hash') writeUnit(target, 'hashed', action.modulus);
      else writeRecall(target);
      writeSetPriority(writer, 0);
      return;
    case 'dnat-by-share':
      writeUnit(target, action.unit, action.modulus);
      writeDnat(target, action);
      return;
    case 'count-flow':
      writeCountFlow(target);
      return;
    case 'named-counter':
      writeExpression(writer, 'objref', [
        [1, OBJ_COUNTER],
        [2, zeroEnded(action.counter)],
      ]);
      return;
    case 'reject':
      writeExpression(writer, 'reject', action.with === 'tcp reset' ? [[1, REJECT.TCP_RESET]] : [[1, REJECT.ICMP], [2, Buffer.of(PORT_UNREACHABLE[family])]]);
      return;
    case 'masquerade':
      writeExpression(writer, 'masq', []);
      return;
    default:
      assertNever(action);
  }
}

// Where a unit comes from, into the first register, in the machine's byte order.
function writeUnit(target: Target, unit: NftUnit, modulus: number): void {
  const { writer, family } = target;
  switch (unit) {
    case 'random':
      writeNumgen(writer, modulus, 0);
      return;
    case 'hashed':
      writeFields(target, HASHED_FIELDS, HASH_SOURCE);
      writeExpression(writer, 'hash', [
        [1, register(HASH_SOURCE)],
        [2, register(0)],
        [3, 4 * HASHED_FIELDS.length * fieldWords(family, 'address')],
        [4, modulus],
        [5, HASH_SEED],
        [7, 0],
      ]);
      return;
    case 'taken':
      writeExpression(writer, 'meta', [
        [2, META.PRIORITY],
        [1, register(0)],
      ]);
      return;
    default:
      assertNever(unit);
  }
}

const writeNumgen = (writer: MessageWriter, modulus: number, at: number): void =>
  writeExpression(writer, 'numgen', [
    [1, register(at)],
    [2, modulus],
    [3, NUMGEN_RANDOM],
  ]);

// A map's keys are intervals and must be in the network's byte order.
const writeNetworkOrder = (writer: MessageWriter): void =>
  writeExpression(writer, 'byteorder', [
    [1, register(0)],
    [2, register(0)],
    [3, BYTEORDER_HOST_TO_NETWORK],
    [4, 4],
    [5, 4],
  ]);

function writeDnat({ writer, family }: Target, { map, unit }: Extract<NftAction, { readonly kind: 'dnat-by-share' }>): void {
  writeNetworkOrder(writer);
  writeLookup(writer, { set: map, into: register(0) });
  if (unit === 'taken') writeGiveBack(writer);
  writeExpression(writer, 'nat', [
    [1, NAT_DESTINATION],
    [2, NFPROTO[family]],
    [3, register(0)],
    [5, register(fieldWords(family, 'address'))],
  ]);
}

function writeRecall(target: Target): void {
  writeFields(target, CALLER_FIELDS, 0);
  writeLookup(target.writer, { set: AFFINITY_MAP, into: register(0) });
}

const writeSetPriority = (writer: MessageWriter, from: number): void =>
  writeExpression(writer, 'meta', [
    [2, META.PRIORITY],
    [3, register(from)],
  ]);

// What carried the unit here is as it was before.
function writeGiveBack(writer: MessageWriter): void {
  writeImmediate(writer, BEHIND_DATA, hostOrder(0));
  writeSetPriority(writer, BEHIND_DATA);
}

function writeImmediate(writer: MessageWriter, at: number, value: Buffer): void {
  const expression = beginExpression(writer, 'immediate');
  writer.u32(1, register(at));
  const data = writer.nest(2);
  writer.raw(1, value);
  writer.unnest(data);
  endExpression(writer, expression);
}

// Gives a caller that has none a unit of its own; of one that has, only the time begins anew.
function writeRemember(target: Target, action: Extract<NftAction, { readonly kind: 'remember' }>): void {
  const { writer, family } = target;
  writeFields(target, CALLER_FIELDS, 0);
  writeNumgen(writer, action.modulus, BEHIND_KEY[family]);
  const expression = beginExpression(writer, 'dynset');
  writer.text(1, AFFINITY_MAP);
  writer.u32(3, DYNSET_UPDATE);
  writer.u32(4, register(0));
  writer.u32(5, register(BEHIND_KEY[family]));
  writer.u64(6, action.timeoutSeconds * 1_000);
  endExpression(writer, expression);
}

function writeCountFlow(target: Target): void {
  const { writer } = target;
  writeFields(target, FLOW_FIELDS, 0);
  const expression = beginExpression(writer, 'dynset');
  writer.text(1, FLOWS_SET);
  writer.u32(3, DYNSET_UPDATE);
  writer.u32(4, register(0));
  const counter = writer.nest(7);
  writer.text(1, 'counter');
  writer.unnest(counter);
  endExpression(writer, expression);
}

function writeGoto(writer: MessageWriter, chain: string): void {
  const expression = beginExpression(writer, 'immediate');
  writer.u32(1, VERDICT_REGISTER);
  const data = writer.nest(2);
  writeGotoVerdict(writer, chain);
  writer.unnest(data);
  endExpression(writer, expression);
}

// Parts of a packet one behind the other, from a register on.
function writeFields({ writer, family }: Target, fields: readonly NftPacketField[], from: number): void {
  let at = from;
  for (const field of fields) {
    writeField({ writer, family }, field, at);
    at += field === 'protocol' || field.endsWith('port') ? 1 : fieldWords(family, 'address');
  }
}

function writeField({ writer, family }: Target, field: NftPacketField, at: number): void {
  const address = (offset: number): void => writePayload(writer, { base: NETWORK_HEADER, offset, length: 4 * fieldWords(family, 'address') }, at);
  switch (field) {
    case 'source':
    case 'destination':
      address(ADDRESS_OFFSETS[family][field]);
      return;
    case 'protocol':
      writeMeta(writer, at);
      return;
    case 'destination-port':
      writePayload(writer, { base: TRANSPORT_HEADER, offset: TRANSPORT_DESTINATION_PORT, length: 2 }, at);
      return;
    case 'original-source':
      writeCt(writer, { key: family === 'ip' ? CT.SRC_IP : CT.SRC_IP6, at, isOriginal: true });
      return;
    case 'original-destination':
      writeCt(writer, { key: family === 'ip' ? CT.DST_IP : CT.DST_IP6, at, isOriginal: true });
      return;
    case 'original-destination-port':
      writeCt(writer, { key: CT.PROTO_DST, at, isOriginal: true });
      return;
    default:
      assertNever(field);
  }
}

const writeMeta = (writer: MessageWriter, at: number): void =>
  writeExpression(writer, 'meta', [
    [2, META.L4PROTO],
    [1, register(at)],
  ]);

const writeCt = (writer: MessageWriter, { key, at, isOriginal }: { readonly key: number; readonly at: number; readonly isOriginal?: boolean }): void =>
  writeExpression(writer, 'ct', [[2, key], [1, register(at)], ...(isOriginal === true ? [[3, Buffer.of(DIRECTION_ORIGINAL)] as const] : [])]);

const writePayload = (writer: MessageWriter, field: { readonly base: number; readonly offset: number; readonly length: number }, at: number): void =>
  writeExpression(writer, 'payload', [
    [1, register(at)],
    [2, field.base],
    [3, field.offset],
    [4, field.length],
  ]);

function writeFib(writer: MessageWriter, flag: number): void {
  writeExpression(writer, 'fib', [
    [3, flag],
    [2, FIB_RESULT_ADDRESS_TYPE],
    [1, register(0)],
  ]);
  writeCompare(writer, COMPARE.EQUAL, hostOrder(ADDRESS_TYPE_LOCAL));
}

const writeLookup = (writer: MessageWriter, { set, into, isInverted }: { readonly set: string; readonly into?: number; readonly isInverted?: boolean }): void =>
  writeExpression(writer, 'lookup', [[2, register(0)], ...(into === undefined ? [] : [[3, into] as const]), [1, zeroEnded(set)], ...(isInverted === true ? [[5, LOOKUP_INVERTED] as const] : [])]);
