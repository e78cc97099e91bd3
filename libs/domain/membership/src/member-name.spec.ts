import { describe, expect, it } from '@jest/globals';

import { memberNameProblems } from './index.js';

describe('memberNameProblems', () => {
  it.each([
    { name: 'east-1', want: [] },
    { name: 'a'.repeat(63), want: [] },
    { name: '', want: ['MEMBER_NAME_EMPTY'] },
    { name: 'a'.repeat(64), want: ['MEMBER_NAME_TOO_LONG'] },
    { name: 'East', want: ['MEMBER_NAME_INVALID'] },
    { name: 'a.b', want: ['MEMBER_NAME_INVALID'] },
    { name: '-a', want: ['MEMBER_NAME_INVALID'] },
    { name: 'a-', want: ['MEMBER_NAME_INVALID'] },
    { name: 'a\n', want: ['MEMBER_NAME_INVALID'] },
  ])('"$name" has problems $want', ({ name, want }) => {
    expect(memberNameProblems(name).map((problem) => problem.code)).toEqual(want);
  });
});
