import { Field, ObjectType } from '@nestjs/graphql';

import { isFleetError, type Problem } from '#domain/fleet';

/** One thing wrong with an input: nothing was changed. */
@ObjectType({ description: 'One thing wrong with an input: nothing was changed.' })
export abstract class UserError implements Problem {
  @Field(() => String, { description: 'Path into the input, such as `kubeconfig.users[0].user.exec`; empty for the whole input.' }) abstract readonly path: string;
  @Field(() => String, { description: 'A constant `AREA_REASON`.' }) abstract readonly code: string;
  @Field(() => String, { description: 'A sentence that says what to do.' }) abstract readonly message: string;
}

/** What a mutation answers: its object, or why nothing was changed. */
export interface MutationAnswer<T> {
  readonly value: T | undefined;
  readonly userErrors: readonly Problem[];
}

const PATH_BY_CODE: Readonly<Record<string, string>> = {
  CLUSTER_NAME_TAKEN: 'name',
  CLUSTER_NOT_FOUND: 'name',
  POLICY_NOT_FOUND: 'name',
};

/**
 * Runs a mutation: with problems of its input nothing runs, and an error that only the caller can mend becomes a user
 * error. Everything else is thrown on.
 */
export async function answerMutation<T>(problems: readonly Problem[], run: () => Promise<T>): Promise<MutationAnswer<T>> {
  if (problems.length > 0) return { value: undefined, userErrors: problems };
  try {
    return { value: await run(), userErrors: [] };
  } catch (error) {
    if (!isFleetError(error) || error.kind !== 'user') throw error;
    return { value: undefined, userErrors: [{ path: PATH_BY_CODE[error.code] ?? '', code: error.code, message: error.message }] };
  }
}
