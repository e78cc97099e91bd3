import { GraphQLScalarType } from 'graphql';

/** Plain JSON of no fixed shape; read only. */
export const JsonValue = new GraphQLScalarType({
  name: 'JSON',
  description: 'Plain JSON of no fixed shape.',
  serialize: (value) => value,
});
