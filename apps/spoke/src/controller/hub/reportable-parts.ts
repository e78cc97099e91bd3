import { parseMemberBackend, SPOKE_API_LIMITS, toWireMemberBackend } from '#contracts/spoke-api';
import { byKey, type Endpoint, type MemberBackend, type Problem } from '#domain/fleet';

/** What may be reported of a cluster's parts, and what had to be left out of it. */
export interface ReportableParts {
  readonly backends: readonly MemberBackend[];
  readonly problems: readonly Problem[];
}

/** One part as it may be reported; undefined where it may not be at all. */
interface FittedPart {
  readonly backend: MemberBackend | undefined;
  readonly problems: readonly Problem[];
}

/**
 * Fits parts to what the hub accepts. The hub refuses a report as a whole: without this, one object of one namespace that
 * is over a limit would take the word of the whole cluster away. Parts that need no change stay the same objects.
 */
export class PartsFitter {
  readonly #fitted = new WeakMap<MemberBackend, FittedPart>();

  fit(parts: readonly MemberBackend[]): ReportableParts {
    const { backendsMax } = SPOKE_API_LIMITS;
    const fitted = parts.map((part) => this.#fitOne(part));
    const backends = fitted.flatMap(({ backend }) => backend ?? []);
    const problems = fitted.flatMap((part) => part.problems);
    if (backends.length <= backendsMax) return { backends, problems };
    const left = backends[backendsMax]?.name ?? '';
    return { backends: backends.slice(0, backendsMax), problems: [...problems, { path: left, code: 'TOO_MANY_BACKENDS', message: `a cluster may offer ${backendsMax} backends and has ${backends.length}; ${left} and those after it by name are not offered to other clusters` }] };
  }

  #fitOne(part: MemberBackend): FittedPart {
    const known = this.#fitted.get(part);
    if (known !== undefined) return known;
    const made = fitPart(part);
    this.#fitted.set(part, made);
    return made;
  }
}

function fitPart(part: MemberBackend): FittedPart {
  const whole = problemsOf(part);
  if (whole.length === 0) return { backend: part, problems: [] };
  const trimmed = { ...part, endpoints: fitEndpoints(part) };
  const left = problemsOf(trimmed);
  return left.length === 0 ? { backend: trimmed, problems: whole } : { backend: undefined, problems: left };
}

function problemsOf(part: MemberBackend): readonly Problem[] {
  const parsed = parseMemberBackend(toWireMemberBackend(part), part.name);
  return 'problems' in parsed ? parsed.problems : [];
}

// Of too many endpoints the ready ones go first, then by address, so that the same ones are named each time.
function fitEndpoints(part: MemberBackend): readonly Endpoint[] {
  const good = part.endpoints.filter((endpoint) => problemsOf({ ...part, endpoints: [endpoint] }).length === 0);
  return [...good]
    .sort((a, b) => Number(b.ready) - Number(a.ready) || byAddress(a, b))
    .slice(0, SPOKE_API_LIMITS.endpointsPerBackendMax)
    .sort(byAddress);
}

const byAddress = byKey((endpoint: Endpoint) => endpoint.address);
