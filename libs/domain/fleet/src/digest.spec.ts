import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { byKey, digest, isRfc1123Label } from './index.js';

describe('digest', () => {
  // Reference values of MurmurHash3 x86_128 (seed 0) over UTF-16LE bytes, each 32-bit word in big-endian hex.
  it.each([
    { text: '', want: '00000000000000000000000000000000' },
    { text: 'a', want: '033bb196ccef4fe1ccef4fe1ccef4fe1' },
    { text: 'ai/model', want: 'e6a594e638672ff287b9c1ade2a0d13d' },
    { text: '0123456789abcdef0', want: 'a0f7b221e77410edfa5375cee07f2a03' },
    { text: 'spillway fleet manager', want: '4dadfb204d7cc1c5783c1500926a9520' },
  ])('of "$text" is the published value', ({ text, want }) => expect(digest(text)).toBe(want));

  it('tells apart any two texts that differ in one character', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 64 }), fc.nat(), fc.integer({ min: 1, max: 0xfffe }), (text, at, step) => {
        const index = at % text.length;
        const other = text.slice(0, index) + String.fromCharCode((text.charCodeAt(index) + step) % 0x10000) + text.slice(index + 1);
        expect(digest(other) === digest(text)).toBe(other === text);
      }),
      { numRuns: 500 },
    );
  });

  it('gives 20,000 short keys 20,000 values', () => {
    const values = new Set(Array.from({ length: 20_000 }, (_, index) => digest(`ai/model-${index}`)));
    expect(values.size).toBe(20_000);
  });
});

describe('byKey', () => {
  it('orders by code unit, not by locale', () => expect(['b', 'a', 'B', 'ä'].sort(byKey((text) => text))).toEqual(['B', 'a', 'b', 'ä']));
});

describe('a cluster id', () => {
  it.each([
    { name: 'letters, digits and dashes', id: 'eu-1', want: true },
    { name: '63 characters', id: 'a'.repeat(63), want: true },
    { name: '64 characters', id: 'a'.repeat(64), want: false },
    { name: 'upper case', id: 'EU', want: false },
    { name: 'a dot', id: 'a.b', want: false },
    { name: 'a leading dash', id: '-a', want: false },
    { name: 'nothing', id: '', want: false },
  ])('$name: $want', ({ id, want }) => expect(isRfc1123Label(id)).toBe(want));
});
