import { CliError, EXIT } from './exit-codes.js';

/** One refusal of a mutation: which input, which rule, what to do. */
export interface UserError {
  readonly path: string | null;
  readonly code: string;
  readonly message: string;
}

/** Longest time that one GraphQL call may take. */
const REQUEST_TIMEOUT_MS = 15_000;

/** Talks GraphQL to one hub. */
export class HubClient {
  readonly url: string;
  readonly #token: string;
  constructor(options: { readonly url: string; readonly token: string }) {
    this.url = options.url.replace(/\/$/, '');
    this.#token = options.token;
  }

  /** Runs an operation and returns its data. Throws {@link CliError} with a next step on any failure. */
  async query<Data>(document: string, variables: Readonly<Record<string, unknown>> = {}): Promise<Data> {
    const response = await this.#post(JSON.stringify({ query: document, variables }));
    if (response.status === 401) throw new CliError(EXIT.refused, 'the hub does not accept this token', 'pass --token or set SPILLWAY_TOKEN; the hub printed the token at its first start');
    if (response.status === 429) throw new CliError(EXIT.refused, 'the hub refuses further attempts for a while after too many wrong tokens', 'wait a minute, then try with the right token');
    const body = await parseBody(response, this.url);
    const [firstError] = body.errors ?? [];
    if (firstError !== undefined) throw new CliError(EXIT.refused, firstError.message);
    return body.data as Data;
  }

  /** Runs a mutation whose payload carries `userErrors`; throws them as one {@link CliError}. */
  async mutate<Payload extends { readonly userErrors: readonly UserError[] }>(field: string, document: string, variables: Readonly<Record<string, unknown>>): Promise<Payload> {
    const data = await this.query<Readonly<Record<string, Payload>>>(document, variables);
    const payload = data[field];
    if (payload === undefined) throw new CliError(EXIT.unreachable, `the hub's answer has no ${field}`, 'check that CLI and hub are of the same version');
    if (payload.userErrors.length > 0) throw new CliError(EXIT.refused, payload.userErrors.map(formatUserError).join('\n'));
    return payload;
  }

  async #post(body: string): Promise<Response> {
    try {
      return await fetch(`${this.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#token}` },
        body,
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
    } catch (error) {
      throw new CliError(EXIT.unreachable, `cannot reach the hub at ${this.url}: ${reasonOf(error)}`, 'start one with `spillway up`, or pass --hub');
    }
  }
}

interface GraphqlBody {
  readonly data?: unknown;
  readonly errors?: readonly { readonly message: string }[];
}

async function parseBody(response: Response, url: string): Promise<GraphqlBody> {
  const text = await response.text();
  try {
    return JSON.parse(text) as GraphqlBody;
  } catch {
    throw new CliError(EXIT.unreachable, `${url}/graphql answered ${response.status} and no JSON`, 'check that --hub names the hub’s address for people, not the one for spokes');
  }
}

const formatUserError = (error: UserError): string => `${error.code}${error.path === null || error.path === '' ? '' : ` at ${error.path}`}: ${error.message}`;

/** The innermost reason of a failed call. */
export function reasonOf(error: unknown): string {
  let current: unknown = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return current instanceof Error ? current.message : String(current);
}
