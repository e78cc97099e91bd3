// C0 and C1 controls, NUL among them: no database or terminal wants them.
const CONTROLS = /\p{Cc}+/gu;

/**
 * A text from a source that is not trusted, fit to be stored and shown: without control characters or halves of surrogate
 * pairs, and no longer than the given number of characters.
 */
export function plainText(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).replace(CONTROLS, ' ').toWellFormed();
}
