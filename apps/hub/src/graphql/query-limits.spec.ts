import { describe, expect, it } from '@jest/globals';
import { buildSchema, parse, validate } from 'graphql';

import { limitQueries, QUERY_DEPTH_MAX } from './query-limits.js';

const schema = buildSchema(`
  type Query { node: Node  page(first: Int! = 50): [Node!]! }
  type Node { name: String  next: Node  all: [Node!]!  page(first: Int! = 50): [Node!]! }
`);
const codesOf = (query: string, variables: Record<string, unknown> = {}): unknown[] => validate(schema, parse(query), [limitQueries(variables)]).map((error) => error.extensions['code']);
const chain = (depth: number): string => `${'next { '.repeat(depth - 2)} name ${'} '.repeat(depth - 2)}`;

describe('limitQueries', () => {
  it.each([
    { says: 'the deepest nesting is allowed', query: `{ node { ${chain(QUERY_DEPTH_MAX)} } }`, want: [] },
    { says: 'one level more is not', query: `{ node { ${chain(QUERY_DEPTH_MAX + 1)} } }`, want: ['QUERY_TOO_DEEP'] },
    { says: 'depth hidden in fragments counts', query: `{ node { ...A } } fragment A on Node { ... on Node { ${chain(QUERY_DEPTH_MAX + 1)} } }`, want: ['QUERY_TOO_DEEP'] },
    { says: 'depth of the second operation counts', query: `query A { node { name } } query B { node { ${chain(QUERY_DEPTH_MAX + 1)} } }`, want: ['QUERY_TOO_DEEP'] },
    { says: 'page sizes multiply', query: '{ page(first: 200) { page(first: 200) { page(first: 2) { name } } } }', want: ['QUERY_TOO_COSTLY'] },
    { says: 'a page that says no size counts by its default', query: '{ page { page { page { name } } } }', want: ['QUERY_TOO_COSTLY'] },
    { says: 'small pages are cheap', query: '{ page(first: 5) { page(first: 5) { page(first: 5) { name } } } }', want: [] },
    { says: 'lists without pages count as well', query: '{ node { all { all { all { all { all { name } } } } } } }', want: ['QUERY_TOO_COSTLY'] },
    { says: 'a size below one makes nothing cheaper', query: '{ page(first: -5) { page { page { name } } } }', want: ['QUERY_TOO_COSTLY'] },
    { says: 'pages cannot be repeated by aliases at no price', query: `{ ${Array.from({ length: 600 }, (_, n) => `a${n}: page(first: 1) { name }`).join(' ')} }`, want: ['QUERY_TOO_COSTLY'] },
    { says: 'the schema may be asked for', query: '{ __schema { types { name } } }', want: [] },
    { says: 'the schema cannot be repeated by aliases at no price', query: `{ ${Array.from({ length: 11 }, (_, n) => `a${n}: __schema { types { name } }`).join(' ')} }`, want: ['QUERY_TOO_COSTLY'] },
    { says: 'fragments that spread each other end', query: '{ node { ...A } } fragment A on Node { next { ...B } } fragment B on Node { next { ...A } }', want: [] },
  ])('$says', ({ query, want }) => {
    expect(codesOf(query)).toEqual(want);
  });

  it('takes page sizes from variables', () => {
    const query = 'query ($size: Int!) { page(first: $size) { page(first: $size) { page(first: $size) { name } } } }';
    expect(codesOf(query, { size: 5 })).toEqual([]);
    expect(codesOf(query, { size: 100 })).toEqual(['QUERY_TOO_COSTLY']);
    expect(codesOf(query.replace('Int!', 'Int! = 100'))).toEqual(['QUERY_TOO_COSTLY']);
  });

  it('measures a fragment once, however often it is spread', () => {
    const fragments = Array.from({ length: 40 }, (_, index) => `fragment F${index} on Node { a: next { ...F${index + 1} } b: next { ...F${index + 1} } }`).join(' ');
    expect(codesOf(`{ node { ...F0 } } ${fragments} fragment F40 on Node { name }`)).toEqual(['QUERY_TOO_DEEP', 'QUERY_TOO_COSTLY']);
  });
});
