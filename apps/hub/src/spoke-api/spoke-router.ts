import { createContextKey, createConnectRouter, type ConnectError, type HandlerContext } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { compressionGzip } from '@connectrpc/connect-node';

import { SPOKE_API_LIMITS, SpokeService } from '#contracts/spoke-api';
import type { Logger } from '#platform';
import type { SpokeKey } from '#ports';

import { enrol, type EnrolServiceParts, rotateKey } from './enrol-service.js';
import { type ReportServiceParts, takeReport } from './report-service.js';
import { spokeApiError, toSpokeApiError } from './spoke-api-errors.js';
import type { SyncService } from './sync-service.js';

/** What the listener found out about a call before its message is read. */
export type Admission = { readonly kind: 'refused'; readonly error: ConnectError } | { readonly kind: 'caller'; readonly key: SpokeKey } | { readonly kind: 'anonymous' };

/** The admission of a call, in its context. */
export const ADMISSION = createContextKey<Admission>({ kind: 'refused', error: spokeApiError('AUTH_MISSING', 'sign the call') });

/** The service's parts. */
export interface SpokeRouterParts {
  readonly enrolment: EnrolServiceParts;
  readonly reports: ReportServiceParts;
  readonly sync: SyncService;
  readonly logger: Logger;
  readonly shutdownSignal: AbortSignal;
}

/** Handlers of every call by path, for gRPC, gRPC-Web and Connect alike. */
export function createSpokeHandlers(parts: SpokeRouterParts): ReadonlyMap<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip],
    // Of the unpacked message, so that a small body cannot become a large one.
    readMaxBytes: SPOKE_API_LIMITS.reportBytesMax,
    maxTimeoutMs: SPOKE_API_LIMITS.syncWaitMsMax * 2,
    shutdownSignal: parts.shutdownSignal,
    requestGate: refuse,
  });
  const guarded = <T>(call: () => Promise<T>): Promise<T> => withShownErrors(call, parts.logger);
  const enrolments = new ConcurrencyLimit(ENROLMENTS_AT_ONCE_MAX);
  router.service(SpokeService, {
    enrol: (request) => guarded(() => enrolments.run(() => enrol(request, parts.enrolment))),
    report: (request, context) => guarded(() => takeReport(callerOf(context).clusterId, request, parts.reports)),
    sync: (request, context) => guarded(() => syncUntilStopped(parts, request, context)),
    rotateKey: (request, context) => guarded(() => rotateKey(callerOf(context), request, parts.enrolment)),
  });
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

// Anybody may call Enrol: it must not take the database away from members.
const ENROLMENTS_AT_ONCE_MAX = 16;

class ConcurrencyLimit {
  #running = 0;
  constructor(private readonly max: number) {}

  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#running >= this.max) throw spokeApiError('OVERLOADED', 'the hub enrols as many clusters as it may at once; try again in a few seconds');
    this.#running += 1;
    try {
      return await call();
    } finally {
      this.#running -= 1;
    }
  }
}

function refuse(context: HandlerContext): void {
  const admission = context.values.get(ADMISSION);
  if (admission.kind === 'refused') throw admission.error;
}

function callerOf(context: HandlerContext): SpokeKey {
  const admission = context.values.get(ADMISSION);
  if (admission.kind !== 'caller') throw spokeApiError('AUTH_MISSING', 'sign the call');
  return admission.key;
}

async function syncUntilStopped(parts: SpokeRouterParts, request: Parameters<SyncService['sync']>[1], context: HandlerContext): ReturnType<SyncService['sync']> {
  const answer = await parts.sync.sync(callerOf(context).clusterId, request, context.signal);
  if (parts.shutdownSignal.aborted && answer.changed.length === 0) throw spokeApiError('HUB_STOPPING', 'this hub is stopping; call again');
  return answer;
}

async function withShownErrors<T>(call: () => Promise<T>, logger: Logger): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const { shown, isOurFault } = toSpokeApiError(error);
    if (isOurFault) logger.error({ err: error }, 'a call of the spoke API failed');
    throw shown;
  }
}
