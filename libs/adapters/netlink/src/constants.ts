import type { NftFamily } from '#domain/nft-ruleset';

// Numbers of the kernel's interface: linux/netlink.h, linux/netfilter/nfnetlink.h, linux/netfilter/nf_tables.h.

/** Flags of a netlink message. */
export const NLM = { REQUEST: 0x01, ACK: 0x04, DUMP_INTERRUPTED: 0x10, DUMP: 0x300, CREATE: 0x400, APPEND: 0x800 } as const;

/** Types of netlink's own messages. */
export const NLMSG = { ERROR: 2, DONE: 3 } as const;

/** Bits of an attribute's type that are not part of it. */
export const NLA = { NESTED: 0x8000, TYPE_MASK: 0x3fff } as const;

/** Batch borders of nfnetlink; the messages between them are one transaction. */
export const NFNL = { BATCH_BEGIN: 0x10, BATCH_END: 0x11, SUBSYSTEM: 10, GROUP: 7 } as const;

/** Message types of nf_tables (low byte of the netlink type). */
export const NFT_MSG = {
  NEWTABLE: 0,
  GETTABLE: 1,
  DELTABLE: 2,
  NEWCHAIN: 3,
  GETCHAIN: 4,
  DELCHAIN: 5,
  NEWRULE: 6,
  GETRULE: 7,
  DELRULE: 8,
  NEWSET: 9,
  GETSET: 10,
  DELSET: 11,
  NEWSETELEM: 12,
  GETSETELEM: 13,
  DELSETELEM: 14,
  NEWGEN: 15,
  GETGEN: 16,
  NEWOBJ: 18,
  GETOBJ: 19,
  DELOBJ: 20,
} as const;

/** Address families, by nf_tables' names. */
export const FAMILY_NUMBERS: Readonly<Record<NftFamily, number>> = { ip: 2, ip6: 10 };

/** For messages about no family. */
export const AF_UNSPEC = 0;

/** The attribute of a batch's beginning that says which generation of the rulesets it was made for. */
export const BATCH_ATTR = { GENERATION: 1 } as const;
/** Attributes of a generation. */
export const GENERATION_ATTR = { ID: 1 } as const;

/** Attributes of a table. */
export const TABLE_ATTR = { NAME: 1, HANDLE: 4 } as const;
/** Attributes of a chain. */
export const CHAIN_ATTR = { TABLE: 1, NAME: 3, HOOK: 4, POLICY: 5, TYPE: 7 } as const;
/** Attributes of a base chain's hook. */
export const HOOK_ATTR = { NUMBER: 1, PRIORITY: 2 } as const;
/** Attributes of a rule. */
export const RULE_ATTR = { TABLE: 1, CHAIN: 2, EXPRESSIONS: 4 } as const;
/** Attributes of a named object. */
export const OBJ_ATTR = { TABLE: 1, NAME: 2, TYPE: 3, DATA: 4 } as const;
/** Attributes of a counter. */
export const COUNTER_ATTR = { BYTES: 1, PACKETS: 2 } as const;

/** Attributes of a set. */
export const SET_ATTR = { TABLE: 1, NAME: 2, FLAGS: 3, KEY_TYPE: 4, KEY_LENGTH: 5, DATA_TYPE: 6, DATA_LENGTH: 7, DESCRIPTION: 9, ID: 10, TIMEOUT: 11, USERDATA: 13 } as const;
/** Attributes of a set's description. */
export const DESCRIPTION_ATTR = { SIZE: 1 } as const;
/** Attributes of a message about elements. */
export const ELEMENTS_ATTR = { TABLE: 1, SET: 2, LIST: 3 } as const;
/** Attributes of one element. */
export const ELEMENT_ATTR = { KEY: 1, DATA: 2, FLAGS: 3, EXPRESSION: 7 } as const;
/** Attributes of a value in an element or expression. */
export const DATA_ATTR = { VALUE: 1, VERDICT: 2 } as const;
/** Attributes of a verdict. */
export const VERDICT_ATTR = { CODE: 1, CHAIN: 2 } as const;

/** The type of every item in a list of attributes. */
export const LIST_ITEM = 1;

/** Flags of a set. */
export const SET_FLAG = { INTERVAL: 0x04, MAP: 0x08, TIMEOUT: 0x10, DYNAMIC: 0x20 } as const;

/** The flag of an element that closes an interval. */
export const INTERVAL_END = 1;

/** Verdict code of goto, as an unsigned number. */
export const VERDICT_GOTO = 0xffff_fffc;

/** A data type that stands for a verdict. */
export const DATA_TYPE_VERDICT = 0xffff_ff00;

/** Numbers of the netfilter hooks. */
export const HOOK_NUMBERS = { prerouting: 0, forward: 2, output: 3, postrouting: 4 } as const;

/** Policy accept of a base chain. */
export const NF_ACCEPT = 1;

/** The object type of a named counter. */
export const OBJ_COUNTER = 1;
