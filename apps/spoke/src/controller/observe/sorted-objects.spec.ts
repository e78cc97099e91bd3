import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { testSeed } from '#testing';

import { SortedObjects } from './sorted-objects.js';

const seed = testSeed();

describe(`sorted objects (seed ${seed})`, () => {
  it('a reading is every object in the order of keys, whatever came and went since the last', () => {
    const key = fc.constantFrom('a/1', 'a/2', 'a-b/1', 'b/1', 'b/10', 'b/2', '/n');
    const step = fc.oneof(fc.record({ key, value: fc.nat(9) }), fc.record({ key, value: fc.constant(undefined) }), fc.constant('read' as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const [objects, want] = [new SortedObjects<number>(), new Map<string, number>()];
        const check = (): void => expect(objects.values()).toEqual([...want].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value));
        for (const one of steps) {
          if (one === 'read') check();
          else if (one.value === undefined) expect(objects.delete(one.key)).toBe(want.delete(one.key));
          else {
            objects.set(one.key, one.value);
            want.set(one.key, one.value);
          }
        }
        check();
        expect(objects.size).toBe(want.size);
      }),
      { seed, numRuns: 300 },
    );
  });

  it('is the same list until something changes', () => {
    const objects = new SortedObjects<number>();
    objects.set('a', 1);
    const before = objects.values();
    expect(objects.delete('b')).toBe(false);
    expect(objects.values()).toBe(before);
    objects.set('a', 2);
    expect(objects.values()).toEqual([2]);
    expect(before).toEqual([1]);
  });
});
