/** Randomness, seeded in tests. */
export abstract class Random {
  /** A number in 0..1, 1 excluded. */
  abstract next(): number;
}
