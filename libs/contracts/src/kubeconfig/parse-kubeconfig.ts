import { parseDocument } from 'yaml';

import type { Problem } from '#domain/fleet';
import { chosenKubeconfig, KUBECONFIG_LENGTH_MAX, kubeconfigProblems, memberConnection, type KubeconfigOptions, type MemberConnection } from '#domain/membership';

import { pemProblems } from './pem-problems.js';

/** A kubeconfig that was read: every problem, or what it says. */
export type ParsedKubeconfig =
  | { readonly ok: false; readonly problems: readonly Problem[] }
  | {
      readonly ok: true;
      readonly connection: MemberConnection;
      /** A kubeconfig, as JSON, of nothing but the chosen context: the text to keep (encrypted) and to parse again later. */
      readonly text: string;
    };

/** Reads the text of a kubeconfig (YAML or JSON) by the rules of #domain/membership. Messages never repeat its values. */
export function parseKubeconfig(text: string, options: KubeconfigOptions): ParsedKubeconfig {
  if (text.length > KUBECONFIG_LENGTH_MAX) return refusal('KUBECONFIG_TOO_LARGE', `The kubeconfig has ${text.length} characters; at most ${KUBECONFIG_LENGTH_MAX} are read.`);
  if (text.trim() === '') return refusal('KUBECONFIG_EMPTY', 'The kubeconfig is empty.');
  const parsed = parseYaml(text);
  if ('fault' in parsed) return refusal('KUBECONFIG_NOT_YAML', `The kubeconfig is no valid YAML: ${parsed.fault}.`);
  const problems = kubeconfigProblems(parsed.value, options);
  if (problems.length > 0) return { ok: false, problems };
  const connection = memberConnection(parsed.value, options);
  const unreadable = pemProblems(connection);
  if (unreadable.length > 0) return { ok: false, problems: unreadable };
  return { ok: true, connection, text: JSON.stringify(chosenKubeconfig(parsed.value, options)) };
}

const refusal = (code: string, message: string): ParsedKubeconfig => ({ ok: false, problems: [{ path: '', code, message }] });

function parseYaml(text: string): { readonly value: unknown } | { readonly fault: string } {
  // The parser's messages quote the text around a fault, which may be a key: only its place is passed on.
  const document = parseDocument(text, { prettyErrors: false });
  const error = document.errors[0];
  if (error !== undefined) return { fault: `${error.code.toLowerCase().replaceAll('_', ' ')} at character ${error.pos[0]}` };
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown };
  } catch {
    return { fault: 'it repeats itself too often through aliases' };
  }
}
