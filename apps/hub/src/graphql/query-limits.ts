import {
  GraphQLError,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';

/** The deepest nesting of fields that an operation may have. */
export const QUERY_DEPTH_MAX = 12;

/** The most fields that an operation may make the hub compute, by its page sizes. */
const QUERY_COST_MAX = 50_000;

/** The longest operation text, in characters; variables are beside it. */
export const QUERY_LENGTH_MAX = 32_768;

/** What one look at the schema costs: it walks all of it. */
const INTROSPECTION_COST = 5_000;

/** What a page of the query itself costs beside its items: the whole list is read from the store to find them. */
const ROOT_PAGE_COST = 100;

/** How many items a list without pages is counted as. */
const PLAIN_LIST_COUNT = 10;

/**
 * A validation rule that refuses operations which nest too deep or would compute too many fields. A field costs one, times
 * the page sizes (`first`) of all fields around it; a page of the query itself and a look at the schema cost something themselves, so that
 * aliases cannot repeat them at no price. How deep introspection nests is limited by graphql-js.
 */
export const limitQueries =
  (variables: Readonly<Record<string, unknown>> | undefined): ValidationRule =>
  (context) => ({
    Document(document: DocumentNode): void {
      for (const definition of document.definitions) {
        if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
        const measure = new Measure(context, { ...defaultsOf(definition), ...variables });
        const root = context.getSchema().getRootType(definition.operation);
        if (root === undefined || root === null) continue;
        const { depth, cost } = measure.ofSelections(definition.selectionSet, root);
        if (depth > QUERY_DEPTH_MAX) report(context, 'QUERY_TOO_DEEP', `The operation nests ${depth} fields deep; at most ${QUERY_DEPTH_MAX} are allowed. Ask for less at once.`);
        if (cost > QUERY_COST_MAX) report(context, 'QUERY_TOO_COSTLY', `The operation would compute about ${Math.round(cost)} fields; at most ${QUERY_COST_MAX} are allowed. Ask for smaller pages with "first".`);
      }
    },
  });

// Page sizes that the operation itself gives its variables.
const defaultsOf = ({ variableDefinitions = [] }: OperationDefinitionNode): Record<string, unknown> =>
  Object.fromEntries(variableDefinitions.flatMap(({ variable, defaultValue }) => (defaultValue?.kind === Kind.INT ? [[variable.name.value, Number(defaultValue.value)]] : [])));

function report(context: ValidationContext, code: string, message: string): void {
  context.reportError(new GraphQLError(message, { extensions: { code } }));
}

interface Size {
  readonly depth: number;
  readonly cost: number;
}

const NOTHING: Size = { depth: 0, cost: 0 };

class Measure {
  readonly #context: ValidationContext;
  readonly #variables: Readonly<Record<string, unknown>>;
  // A fragment is measured once, however often it is spread; while it is being measured it counts as nothing (cycles are reported elsewhere).
  readonly #fragments = new Map<string, Size>();

  constructor(context: ValidationContext, variables: Readonly<Record<string, unknown>>) {
    this.#context = context;
    this.#variables = variables;
  }

  ofSelections(selections: SelectionSetNode, parent: GraphQLObjectType): Size {
    return selections.selections.map((selection) => {
      switch (selection.kind) {
        case Kind.FIELD:
          return this.#ofField(selection, parent);
        case Kind.INLINE_FRAGMENT:
          return this.ofSelections(selection.selectionSet, parent);
        case Kind.FRAGMENT_SPREAD:
          return this.#ofFragment(this.#context.getFragment(selection.name.value), parent);
      }
    }).reduce((sum, { depth, cost }) => ({ depth: Math.max(sum.depth, depth), cost: sum.cost + cost }), NOTHING);
  }

  #ofFragment(fragment: FragmentDefinitionNode | null | undefined, parent: GraphQLObjectType): Size {
    if (fragment === null || fragment === undefined) return NOTHING;
    const name = fragment.name.value;
    const known = this.#fragments.get(name);
    if (known !== undefined) return known;
    this.#fragments.set(name, NOTHING);
    const size = this.ofSelections(fragment.selectionSet, parent);
    this.#fragments.set(name, size);
    return size;
  }

  #ofField(node: FieldNode, parent: GraphQLObjectType): Size {
    const field = parent.getFields()[node.name.value];
    if (field === undefined) return node.name.value === '__schema' || node.name.value === '__type' ? { depth: 1, cost: INTROSPECTION_COST } : NOTHING;
    const type = namedObject(field.type);
    const inner = node.selectionSet === undefined || type === undefined ? NOTHING : this.ofSelections(node.selectionSet, type);
    const own = parent === this.#context.getSchema().getQueryType() && field.args.some(isPageSize) ? ROOT_PAGE_COST : 1;
    return { depth: inner.depth + 1, cost: own + inner.cost * this.#itemsOf(node, field) };
  }

  #itemsOf(node: FieldNode, field: GraphQLField<unknown, unknown>): number {
    const paged = field.args.find(isPageSize);
    if (paged === undefined) return isPlainList(field) ? PLAIN_LIST_COUNT : 1;
    const said = node.arguments?.find(({ name }) => name.value === 'first')?.value;
    const value = said?.kind === Kind.VARIABLE ? this.#variables[said.name.value] : said?.kind === Kind.INT ? Number(said.value) : undefined;
    return typeof value === 'number' && value > 0 ? value : Number(paged.defaultValue ?? 1);
  }
}

const isPageSize = ({ name }: { readonly name: string }): boolean => name === 'first';

// The lists of a connection have as many items as its page, which is counted already.
const isPlainList = ({ name, type }: GraphQLField<unknown, unknown>): boolean => isListType(isNonNullType(type) ? type.ofType : type) && name !== 'edges' && name !== 'nodes';

function namedObject(type: GraphQLOutputType): GraphQLObjectType | undefined {
  let inner = type;
  while (isListType(inner) || isNonNullType(inner)) inner = inner.ofType as GraphQLOutputType;
  return isObjectType(inner) ? inner : undefined;
}
