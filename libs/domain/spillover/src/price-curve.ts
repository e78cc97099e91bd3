/**
 * What one more unit of work costs at a provider of a given utilisation: continuous, never falling, piecewise linear.
 * `knots[0].utilisation` is 0; beyond the last knot the price rises by `overloadSlope`.
 */
export interface PriceCurve {
  readonly knots: readonly PriceKnot[];
  readonly overloadSlope: number;
}

/** One point of a price curve: a utilisation, and the price there in milliseconds per unit of work. */
export interface PriceKnot {
  readonly utilisation: number;
  readonly price: number;
}

/** A curve in flat arrays, with the cost up to each knot: what the solver's inner loop reads. */
export interface CompiledCurve {
  readonly at: Float64Array;
  readonly price: Float64Array;
  readonly slope: Float64Array;
  readonly cost: Float64Array;
}

/** Lays a curve out for the solver. */
export function compileCurve({ knots, overloadSlope }: PriceCurve): CompiledCurve {
  const count = knots.length;
  const compiled = { at: new Float64Array(count), price: new Float64Array(count), slope: new Float64Array(count), cost: new Float64Array(count) };
  knots.forEach(({ utilisation, price }, index) => {
    const next = knots[index + 1];
    const before = knots[index - 1];
    compiled.at[index] = utilisation;
    compiled.price[index] = price;
    compiled.slope[index] = next === undefined ? overloadSlope : (next.price - price) / (next.utilisation - utilisation);
    compiled.cost[index] = before === undefined ? 0 : (compiled.cost[index - 1] ?? 0) + ((before.price + price) / 2) * (utilisation - before.utilisation);
  });
  return compiled;
}

/** The price at a utilisation of at least 0. */
export function priceAt(curve: CompiledCurve, utilisation: number): number {
  const piece = pieceAt(curve, utilisation);
  return (curve.price[piece] as number) + (curve.slope[piece] as number) * (utilisation - (curve.at[piece] as number));
}

/** How fast the price rises just above a utilisation. */
export function slopeAt(curve: CompiledCurve, utilisation: number): number {
  return curve.slope[pieceAt(curve, utilisation)] as number;
}

/** The price summed from 0 to a utilisation: convex, in milliseconds per unit of capacity. */
export function costAt(curve: CompiledCurve, utilisation: number): number {
  const piece = pieceAt(curve, utilisation);
  const over = utilisation - (curve.at[piece] as number);
  return (curve.cost[piece] as number) + over * ((curve.price[piece] as number) + ((curve.slope[piece] as number) * over) / 2);
}

function pieceAt({ at }: CompiledCurve, utilisation: number): number {
  let piece = at.length - 1;
  while (piece > 0 && utilisation < (at[piece] as number)) piece -= 1;
  return piece;
}
