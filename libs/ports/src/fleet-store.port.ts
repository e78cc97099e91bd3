import type { AuditLog } from './audit.port.js';
import type { ChangeLog } from './change-log.port.js';
import type { EnrolmentStore } from './enrolment.port.js';
import type { HubStateStore } from './hub-state.port.js';
import type { LeaseStore } from './leases.port.js';
import type { MembershipStore } from './membership.port.js';
import type { PolicyStore } from './policies.port.js';
import type { ReportStore } from './reports.port.js';

/**
 * The hub's store: one database, in groups that each shell takes singly. All methods of all groups may throw
 * STORE_UNAVAILABLE (`transient`: no connection, or the server is starting or stopping).
 */
export abstract class FleetStore {
  abstract readonly membership: MembershipStore;
  abstract readonly enrolment: EnrolmentStore;
  abstract readonly reports: ReportStore;
  abstract readonly policies: PolicyStore;
  abstract readonly changeLog: ChangeLog;
  abstract readonly leases: LeaseStore;
  abstract readonly audit: AuditLog;
  abstract readonly hubState: HubStateStore;
  /** Answers when the store does; for readiness. */
  abstract ping(): Promise<void>;
  abstract close(): Promise<void>;
}
