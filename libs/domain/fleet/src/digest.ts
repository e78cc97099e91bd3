/**
 * A 128-bit content hash of a text as 32 hex digits: MurmurHash3 x86_128 (Austin Appleby, public domain algorithm) over
 * the text's UTF-16 code units as little-endian bytes. Not for secrets: it only tells contents apart, the same on every machine.
 */
export function digest(text: string): string {
  const state: State = [0, 0, 0, 0];
  const blocks = Math.floor(text.length / 8);
  for (let block = 0; block < blocks; block += 1) mixBlock(state, text, block * 8);
  mixTail(state, text, blocks * 8);
  return finish(state, text.length * 2).map(toHex8).join('');
}

type State = [number, number, number, number];

const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

const rotl = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));
const wordAt = (text: string, at: number): number => (codeAt(text, at) | (codeAt(text, at + 1) << 16)) | 0;
const codeAt = (text: string, at: number): number => (at < text.length ? text.charCodeAt(at) : 0);
const toHex8 = (value: number): string => (value >>> 0).toString(16).padStart(8, '0');

const scramble1 = (k: number): number => Math.imul(rotl(Math.imul(k, C1), 15), C2);
const scramble2 = (k: number): number => Math.imul(rotl(Math.imul(k, C2), 16), C3);
const scramble3 = (k: number): number => Math.imul(rotl(Math.imul(k, C3), 17), C4);
const scramble4 = (k: number): number => Math.imul(rotl(Math.imul(k, C4), 18), C1);

function mixBlock(state: State, text: string, at: number): void {
  let [h1, h2, h3, h4] = state;
  h1 = (Math.imul(rotl(h1 ^ scramble1(wordAt(text, at)), 19) + h2, 5) + 0x561ccd1b) | 0;
  h2 = (Math.imul(rotl(h2 ^ scramble2(wordAt(text, at + 2)), 17) + h3, 5) + 0x0bcaa747) | 0;
  h3 = (Math.imul(rotl(h3 ^ scramble3(wordAt(text, at + 4)), 15) + h4, 5) + 0x96cd1c35) | 0;
  h4 = (Math.imul(rotl(h4 ^ scramble4(wordAt(text, at + 6)), 13) + h1, 5) + 0x32ac3b17) | 0;
  state[0] = h1;
  state[1] = h2;
  state[2] = h3;
  state[3] = h4;
}

function mixTail(state: State, text: string, at: number): void {
  state[0] ^= scramble1(wordAt(text, at));
  state[1] ^= scramble2(wordAt(text, at + 2));
  state[2] ^= scramble3(wordAt(text, at + 4));
  state[3] ^= scramble4(wordAt(text, at + 6));
}

function finish(state: State, byteCount: number): State {
  let [h1, h2, h3, h4] = state.map((h) => h ^ byteCount) as State;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = avalanche(h1);
  h2 = avalanche(h2);
  h3 = avalanche(h3);
  h4 = avalanche(h4);
  h1 = (h1 + h2 + h3 + h4) | 0;
  return [h1, (h2 + h1) | 0, (h3 + h1) | 0, (h4 + h1) | 0];
}

function avalanche(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
