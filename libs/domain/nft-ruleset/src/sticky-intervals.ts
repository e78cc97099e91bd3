/** An interval of units, both ends included, and whose it is. */
export interface OwnedInterval<Owner> {
  readonly from: number;
  readonly to: number;
  readonly owner: Owner;
}

/** How many units an owner shall have. */
export interface OwnerUnits<Owner> {
  readonly owner: Owner;
  readonly units: number;
}

/** Intervals beside each other in the order of the owners: as few as can be, for clients that nobody has to find again. */
export function contiguousIntervals<Owner>(wanted: readonly OwnerUnits<Owner>[]): readonly OwnedInterval<Owner>[] {
  let from = 0;
  return wanted.map(({ owner, units }) => {
    const interval = { from, to: from + units - 1, owner };
    from += units;
    return interval;
  });
}

/**
 * Takes just the units that must move from owners who have too many and gives them to those who have too few, so that a
 * remembered unit changes its owner only where it has to: as many as the shares differ by, where contiguous intervals would
 * shift every border behind the first that moves. Moves make intervals; where they are many, all are put side by side once.
 */
export function movedIntervals<Owner>(before: readonly OwnedInterval<Owner>[], wanted: readonly OwnerUnits<Owner>[], options: { readonly modulus: number; readonly keyOf: (owner: Owner) => string }): readonly OwnedInterval<Owner>[] {
  const { modulus, keyOf } = options;
  const owners = merged(wanted, keyOf);
  const kept: OwnedInterval<Owner>[] = [];
  const free: Span[] = [];
  const missing = new Map([...owners].map(([key, { units }]) => [key, units]));
  // An owner keeps its largest intervals and gives up its smallest, so that what was moved last moves back whole.
  for (const interval of [...before].sort((a, b) => b.to - b.from - (a.to - a.from) || a.from - b.from)) {
    const key = keyOf(interval.owner);
    const owner = owners.get(key)?.owner;
    const staying = Math.min(missing.get(key) ?? 0, interval.to - interval.from + 1);
    missing.set(key, (missing.get(key) ?? 0) - staying);
    if (staying > 0 && owner !== undefined) kept.push({ from: interval.from, to: interval.from + staying - 1, owner });
    if (interval.from + staying <= interval.to) free.push({ from: interval.from + staying, to: interval.to });
  }
  // What was refused before goes on being refused as long as others have given up enough.
  const filled = [...kept, ...fill([...free.sort((a, b) => a.from - b.from), ...gaps(before, modulus)], [...owners].map(([key, { owner }]) => ({ owner, units: missing.get(key) ?? 0 })))];
  const intervals = joined(filled.sort((a, b) => a.from - b.from), keyOf);
  return intervals.length > INTERVALS_MAX + INTERVALS_PER_OWNER_MAX * owners.size ? contiguousIntervals([...owners.values()]) : intervals;
}

// Beyond this a listener's map costs more than the clients that are moved when it is put in order.
const INTERVALS_MAX = 64;
const INTERVALS_PER_OWNER_MAX = 8;

interface Span {
  readonly from: number;
  readonly to: number;
}

// An endpoint that two parts of a listener lead to is one owner.
function merged<Owner>(wanted: readonly OwnerUnits<Owner>[], keyOf: (owner: Owner) => string): Map<string, OwnerUnits<Owner>> {
  const owners = new Map<string, OwnerUnits<Owner>>();
  for (const { owner, units } of wanted) {
    const key = keyOf(owner);
    owners.set(key, { owner, units: units + (owners.get(key)?.units ?? 0) });
  }
  return owners;
}

function gaps(before: readonly OwnedInterval<unknown>[], modulus: number): readonly Span[] {
  const spans: Span[] = [];
  let next = 0;
  for (const { from, to } of before) {
    if (from > next) spans.push({ from: next, to: from - 1 });
    next = to + 1;
  }
  return next < modulus ? [...spans, { from: next, to: modulus - 1 }] : spans;
}

function fill<Owner>(free: readonly Span[], missing: readonly OwnerUnits<Owner>[]): readonly OwnedInterval<Owner>[] {
  const filled: OwnedInterval<Owner>[] = [];
  const spans = [...free];
  for (const { owner, units } of missing) {
    for (let left = units; left > 0; ) {
      const span = spans.shift();
      if (span === undefined) return filled;
      const taken = Math.min(left, span.to - span.from + 1);
      filled.push({ from: span.from, to: span.from + taken - 1, owner });
      if (span.from + taken <= span.to) spans.unshift({ from: span.from + taken, to: span.to });
      left -= taken;
    }
  }
  return filled;
}

function joined<Owner>(intervals: readonly OwnedInterval<Owner>[], keyOf: (owner: Owner) => string): readonly OwnedInterval<Owner>[] {
  const result: OwnedInterval<Owner>[] = [];
  for (const interval of intervals) {
    const last = result.at(-1);
    if (last !== undefined && last.to + 1 === interval.from && keyOf(last.owner) === keyOf(interval.owner)) result[result.length - 1] = { ...last, to: interval.to };
    else result.push(interval);
  }
  return result;
}
