import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { testSeed } from '#testing';

import { deriveTable, keepSame, outdated, tableOf, type DerivedTable, type ListTable, type Lookups } from './index.js';

interface Person {
  readonly name: string;
  readonly friends: readonly string[];
}

interface Worlds {
  readonly cities: { readonly zip: number };
  readonly moods: string;
}

interface Card {
  readonly text: string;
  readonly friends: readonly string[];
}

const nameOf = ({ name }: Person): string => name;

/** What a person's card says; one look-up leads to another, and some are made only sometimes. */
function card({ name, friends }: Person, { cities, moods }: Lookups<Worlds>, before: Card | undefined): Card {
  const zip = cities.get(name)?.zip;
  return keepSame<Card>(before, { text: `${name} ${zip ?? '-'} ${zip === 1 ? (moods.get(name) ?? '') : ''}`, friends: friends.map((friend) => `${friend} ${moods.get(friend) ?? '?'}`) });
}

const name = fc.constantFrom('a', 'b', 'c', 'd');
const step = fc.record({
  people: fc.uniqueArray(fc.record({ name, friends: fc.array(name, { maxLength: 2 }) }), { maxLength: 4, selector: nameOf }),
  cities: fc.uniqueArray(fc.tuple(name, fc.record({ zip: fc.integer({ min: 1, max: 2 }) })), { selector: ([key]) => key }),
  moods: fc.uniqueArray(fc.tuple(name, fc.constantFrom('glad', 'sad')), { selector: ([key]) => key }),
  keeps: fc.record({ people: fc.boolean(), cities: fc.boolean(), moods: fc.boolean() }),
});
const seed = testSeed();

describe(`derived tables (seed ${seed})`, () => {
  it('hold what is made from nothing, whatever sources and look-ups were before', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 12 }), (steps) => {
        let people: ListTable<Person> | undefined;
        let lookups: Lookups<Worlds> | undefined;
        let cards: DerivedTable<Person, Card, Worlds> | undefined;
        for (const next of steps) {
          // Objects that stay are the same objects, as in a store that watches.
          const list = next.people.map((person) => keepSame(people?.get(person.name), person));
          people = next.keeps.people && people !== undefined ? people : tableOf(list, nameOf, people);
          lookups = {
            cities: next.keeps.cities && lookups !== undefined ? lookups.cities : new Map(next.cities),
            moods: next.keeps.moods && lookups !== undefined ? lookups.moods : new Map(next.moods),
          };
          const before = cards;
          cards = deriveTable(people, lookups, card, before);
          const fresh = deriveTable(tableOf(people.list, nameOf), lookups, card);
          expect([cards.keys, cards.values, cards.keys.map((key) => cards?.get(key))]).toEqual([fresh.keys, fresh.values, fresh.values]);
          expect(cards.keys).toEqual(people.list.map(nameOf).sort());
          const same = cards.values.filter((value, at) => JSON.stringify(before?.get(cards?.keys[at] ?? '')) === JSON.stringify(value));
          expect(same.every((value) => before?.values.includes(value))).toBe(true);
        }
      }),
      { seed, numRuns: 300 },
    );
  });

  it('make again only what read something that is another object now', () => {
    const made: string[] = [];
    const make = (person: Person, worlds: Lookups<Worlds>, before: Card | undefined): Card => {
      made.push(person.name);
      return card(person, worlds, before);
    };
    const people = tableOf<Person>([{ name: 'a', friends: ['b'] }, { name: 'b', friends: [] }, { name: 'c', friends: ['a'] }], nameOf);
    const moods = new Map([['a', 'glad'], ['b', 'glad']]);
    const first = deriveTable(people, { cities: new Map(), moods }, make);
    expect(made.splice(0)).toEqual(['a', 'b', 'c']);
    const sadB = deriveTable(people, { cities: new Map(), moods: new Map([['a', 'glad'], ['b', 'sad']]) }, make, first);
    expect(made.splice(0)).toEqual(['a']);
    expect(sadB.values[2]).toBe(first.values[2]);
    expect(deriveTable(people, sadB.lookups, make, sadB)).toBe(sadB);
    expect(deriveTable(people, sadB.lookups, make, outdated(sadB)).values).toBe(sadB.values);
    expect(made).toEqual(['a', 'b', 'c']);
  });
});

describe('keepSame', () => {
  it.each([
    { name: 'equal values are the older one', before: { a: [1, { b: 2 }] }, fresh: { a: [1, { b: 2 }] }, isKept: true },
    { name: 'a value of fewer fields is new', before: { a: 1, b: 2 }, fresh: { a: 1 }, isKept: false },
    { name: 'a value of more fields is new', before: { a: 1 }, fresh: { a: 1, b: undefined }, isKept: false },
    { name: 'a shorter list is new', before: [1, 2], fresh: [1], isKept: false },
    { name: 'a list is no record', before: [], fresh: {}, isKept: false },
    { name: 'nothing before: new', before: undefined, fresh: { a: 1 }, isKept: false },
  ])('$name', ({ before, fresh, isKept }) => {
    const kept: unknown = keepSame<unknown>(before, fresh);
    expect(kept).toStrictEqual(fresh);
    expect(kept === before).toBe(isKept);
  });

  it('parts that say the same are the older ones', () => {
    const before = { one: { a: 1 }, list: [{ b: 1 }, { b: 2 }] };
    const kept = keepSame(before, { one: { a: 1 }, list: [{ b: 1 }, { b: 3 }] });
    expect(kept).toEqual({ one: { a: 1 }, list: [{ b: 1 }, { b: 3 }] });
    expect([kept.one === before.one, kept.list[0] === before.list[0]]).toEqual([true, true]);
  });
});
