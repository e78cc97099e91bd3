/**
 * Factorises a symmetric positive definite matrix in place into L D Lᵀ (row by row, unit diagonal of L left out, D on the
 * diagonal). No square root is taken, so the bits are the same on every machine. False where a pivot is not above 0.
 */
export function factorise(matrix: Float64Array, size: number): boolean {
  const scaled = new Float64Array(size);
  for (let i = 0; i < size; i += 1) {
    let pivot = matrix[i * size + i] as number;
    for (let j = 0; j < i; j += 1) {
      let value = matrix[i * size + j] as number;
      for (let k = 0; k < j; k += 1) value -= (scaled[k] as number) * (matrix[j * size + k] as number);
      scaled[j] = value;
      const factor = value / (matrix[j * size + j] as number);
      matrix[i * size + j] = factor;
      pivot -= factor * value;
    }
    if (!(pivot > 0)) return false;
    matrix[i * size + i] = pivot;
  }
  return true;
}

/** Solves for one right side, in place. */
export function solveFactored(matrix: Float64Array, size: number, right: Float64Array): void {
  for (let i = 0; i < size; i += 1) {
    let value = right[i] as number;
    for (let k = 0; k < i; k += 1) value -= (matrix[i * size + k] as number) * (right[k] as number);
    right[i] = value;
  }
  for (let i = 0; i < size; i += 1) right[i] = (right[i] as number) / (matrix[i * size + i] as number);
  for (let i = size - 1; i >= 0; i -= 1) {
    let value = right[i] as number;
    for (let k = i + 1; k < size; k += 1) value -= (matrix[k * size + i] as number) * (right[k] as number);
    right[i] = value;
  }
}
