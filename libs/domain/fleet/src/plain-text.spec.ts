import { describe, expect, it } from '@jest/globals';

import { plainText } from './index.js';

describe('plainText', () => {
  it.each([
    { says: 'a plain text stays', text: 'v1.37.2 Ünï 😀', want: 'v1.37.2 Ünï 😀' },
    { says: 'NUL and line breaks become a space', text: 'a\0b\r\nc\u009b', want: 'a b c ' },
    { says: 'half of a surrogate pair is replaced', text: 'a\ud800', want: 'a\ufffd' },
    { says: 'a text that is cut within a pair is still whole', text: `${'x'.repeat(19)}😀`, want: `${'x'.repeat(19)}\ufffd` },
    { says: 'what is too long is cut', text: 'x'.repeat(50), want: 'x'.repeat(20) },
  ])('$says', ({ text, want }) => {
    expect(plainText(text, 20)).toBe(want);
  });
});
