import { CLUSTER_ID_LENGTH_MAX, isRfc1123Label, type Problem } from '#domain/fleet';

/** What is wrong with a member cluster's name: it must be one RFC 1123 label of at most 63 characters. */
export function memberNameProblems(name: string, path = 'name'): readonly Problem[] {
  if (name === '') return [{ path, code: 'MEMBER_NAME_EMPTY', message: 'Give the cluster a name.' }];
  if (name.length > CLUSTER_ID_LENGTH_MAX) {
    return [{ path, code: 'MEMBER_NAME_TOO_LONG', message: `The name has ${name.length} characters; at most ${CLUSTER_ID_LENGTH_MAX} are allowed.` }];
  }
  if (isRfc1123Label(name)) return [];
  return [{ path, code: 'MEMBER_NAME_INVALID', message: 'Use lower-case letters, digits and "-", and begin and end with a letter or a digit (an RFC 1123 label).' }];
}
