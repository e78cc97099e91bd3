import { create } from '@bufbuild/protobuf';

import { parseReport, type ReportRequest, type ReportResponse, ReportResponseSchema } from '#contracts/spoke-api';
import type { ClusterId } from '#domain/fleet';
import type { Clock, ReportStore } from '#ports';

import { problemsError, spokeApiError } from './spoke-api-errors.js';

/** What Report needs. */
export interface ReportServiceParts {
  readonly reports: ReportStore;
  readonly clock: Clock;
  /** The interval that answers ask spokes to keep. */
  readonly heartbeatIntervalMs: number;
}

/** Takes over what a cluster says of itself; of itself only. */
export async function takeReport(caller: ClusterId, request: ReportRequest, parts: ReportServiceParts): Promise<ReportResponse> {
  if (request.clusterId !== caller) throw spokeApiError('AUTH_OTHER_CLUSTER', `the key is of cluster ${caller}, which may report for itself only`);
  const parsed = parseReport(request);
  if ('problems' in parsed) throw problemsError('INVALID_REPORT', parsed.problems);
  const clockSkewMs = request.spokeTimeMs === 0n ? 0 : Number(request.spokeTimeMs) - parts.clock.nowMs();
  const { resendFull } = await parts.reports.accept({ ...parsed.content, clusterId: caller, clockSkewMs });
  return create(ReportResponseSchema, { resendFull, intervalMs: parts.heartbeatIntervalMs });
}
