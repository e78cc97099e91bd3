import { TABLE_NAME, type NftOperation } from '#domain/nft-ruleset';

import { CHAIN_ATTR, COUNTER_ATTR, FAMILY_NUMBERS, HOOK_ATTR, HOOK_NUMBERS, NF_ACCEPT, NFNL, NFT_MSG, NLM, OBJ_ATTR, OBJ_COUNTER, RULE_ATTR, SET_ATTR, TABLE_ATTR } from './constants.js';
import { writeExpressions } from './encode-rule.js';
import { writeElements, writeSetDeclaration } from './encode-set.js';
import { MessageWriter } from './message-writer.js';

/** One transaction as the kernel takes it, and which of its messages belong to which operation. */
export interface EncodedBatch {
  readonly bytes: Buffer;
  /** Sequence number of the last message before the batch's end: its acknowledgement says that all was committed. */
  readonly lastSequence: number;
  /** The operation that a message of this sequence number belongs to. */
  operationOf(sequence: number): NftOperation | undefined;
}

/** Encodes operations as one batch: the kernel does all of it or nothing; nothing too where its rulesets are of another generation. */
export function encodeBatch(operations: readonly NftOperation[], firstSequence: number, generation?: number): EncodedBatch {
  const writer = new MessageWriter();
  const firstSequences: number[] = [];
  writer.border(NFNL.BATCH_BEGIN, firstSequence, generation);
  let sequence = firstSequence + 1;
  for (const operation of operations) {
    firstSequences.push(sequence);
    sequence += writeOperation(writer, operation, sequence);
  }
  writer.flagLastMessage(NLM.ACK);
  writer.border(NFNL.BATCH_END, sequence);
  return { bytes: writer.bytes(), lastSequence: sequence - 1, operationOf: (number) => operations[firstSequences.findLastIndex((first) => first <= number)] };
}

// Returns how many messages the operation took.
function writeOperation(writer: MessageWriter, operation: NftOperation, sequence: number): number {
  const family = FAMILY_NUMBERS[operation.family];
  switch (operation.op) {
    case 'add-table':
      writeTable(writer, NFT_MSG.NEWTABLE, { family, flags: NLM.REQUEST | NLM.CREATE, sequence });
      return 1;
    case 'delete-table':
      writeTable(writer, NFT_MSG.DELTABLE, { family, flags: NLM.REQUEST, sequence });
      return 1;
    case 'add-counter':
    case 'delete-counter':
      writeCounter(writer, operation, sequence);
      return 1;
    case 'add-set':
    case 'delete-set':
      writeSet(writer, operation, sequence);
      return 1;
    case 'add-elements':
      return writeElements(writer, { type: NFT_MSG.NEWSETELEM, family: operation.family, set: operation.set, sequence });
    case 'delete-elements':
      return writeElements(writer, { type: NFT_MSG.DELSETELEM, family: operation.family, set: operation.set, sequence });
    case 'add-rule':
      writeRule(writer, operation, sequence);
      return 1;
    default:
      writeChain(writer, operation, sequence);
      return 1;
  }
}

function writeTable(writer: MessageWriter, type: number, head: { readonly family: number; readonly flags: number; readonly sequence: number }): void {
  const message = writer.begin({ type, ...head });
  writer.text(TABLE_ATTR.NAME, TABLE_NAME);
  writer.end(message);
}

function writeCounter(writer: MessageWriter, operation: Extract<NftOperation, { readonly op: 'add-counter' | 'delete-counter' }>, sequence: number): void {
  const isNew = operation.op === 'add-counter';
  const message = writer.begin({ type: isNew ? NFT_MSG.NEWOBJ : NFT_MSG.DELOBJ, flags: isNew ? NLM.REQUEST | NLM.CREATE : NLM.REQUEST, family: FAMILY_NUMBERS[operation.family], sequence });
  writer.text(OBJ_ATTR.TABLE, TABLE_NAME);
  writer.text(OBJ_ATTR.NAME, operation.name);
  writer.u32(OBJ_ATTR.TYPE, OBJ_COUNTER);
  if (isNew) {
    const data = writer.nest(OBJ_ATTR.DATA);
    writer.raw(COUNTER_ATTR.BYTES, Buffer.alloc(8));
    writer.raw(COUNTER_ATTR.PACKETS, Buffer.alloc(8));
    writer.unnest(data);
  }
  writer.end(message);
}

function writeSet(writer: MessageWriter, operation: Extract<NftOperation, { readonly op: 'add-set' | 'delete-set' }>, sequence: number): void {
  const isNew = operation.op === 'add-set';
  const message = writer.begin({ type: isNew ? NFT_MSG.NEWSET : NFT_MSG.DELSET, flags: isNew ? NLM.REQUEST | NLM.CREATE : NLM.REQUEST, family: FAMILY_NUMBERS[operation.family], sequence });
  if (isNew) {
    writeSetDeclaration(writer, operation.family, operation.set);
    writer.u32(SET_ATTR.ID, sequence);
  } else {
    writer.text(SET_ATTR.TABLE, TABLE_NAME);
    writer.text(SET_ATTR.NAME, operation.set.name);
  }
  writer.end(message);
}

function writeRule(writer: MessageWriter, operation: Extract<NftOperation, { readonly op: 'add-rule' }>, sequence: number): void {
  const message = writer.begin({ type: NFT_MSG.NEWRULE, flags: NLM.REQUEST | NLM.CREATE | NLM.APPEND, family: FAMILY_NUMBERS[operation.family], sequence });
  writer.text(RULE_ATTR.TABLE, TABLE_NAME);
  writer.text(RULE_ATTR.CHAIN, operation.chain);
  const list = writer.nest(RULE_ATTR.EXPRESSIONS);
  writeExpressions(writer, operation.family, operation.rule);
  writer.unnest(list);
  writer.end(message);
}

function writeChain(writer: MessageWriter, operation: Extract<NftOperation, { readonly op: 'add-chain' | 'flush-chain' | 'delete-chain' }>, sequence: number): void {
  const { chain, op } = operation;
  if (op === 'flush-chain') {
    // Deleting rules without naming one empties the chain.
    const message = writer.begin({ type: NFT_MSG.DELRULE, flags: NLM.REQUEST, family: FAMILY_NUMBERS[operation.family], sequence });
    writer.text(RULE_ATTR.TABLE, TABLE_NAME);
    writer.text(RULE_ATTR.CHAIN, chain.name);
    writer.end(message);
    return;
  }
  const isNew = op === 'add-chain';
  const message = writer.begin({ type: isNew ? NFT_MSG.NEWCHAIN : NFT_MSG.DELCHAIN, flags: isNew ? NLM.REQUEST | NLM.CREATE : NLM.REQUEST, family: FAMILY_NUMBERS[operation.family], sequence });
  writer.text(CHAIN_ATTR.TABLE, TABLE_NAME);
  writer.text(CHAIN_ATTR.NAME, chain.name);
  if (isNew && chain.hook !== undefined) {
    writer.text(CHAIN_ATTR.TYPE, chain.hook.type);
    writer.u32(CHAIN_ATTR.POLICY, NF_ACCEPT);
    const hook = writer.nest(CHAIN_ATTR.HOOK);
    writer.u32(HOOK_ATTR.NUMBER, HOOK_NUMBERS[chain.hook.hook]);
    writer.u32(HOOK_ATTR.PRIORITY, chain.hook.priority);
    writer.unnest(hook);
  }
  writer.end(message);
}
