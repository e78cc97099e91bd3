import { DEFAULT_GATEWAY_PORT_RANGE, type GatewayPortRange } from '#domain/topology';
import { type Clock, FleetStore, type SecretBox } from '#ports';

import { AdvanceListener } from './advance-listener.js';
import { Database } from './database.js';
import { PostgresAuditLog } from './postgres-audit.js';
import { PostgresChangeLog } from './postgres-change-log.js';
import { PostgresEnrolmentStore } from './postgres-enrolment.js';
import { PostgresHubStateStore } from './postgres-hub-state.js';
import { PostgresLeaseStore } from './postgres-leases.js';
import { PostgresMembershipStore } from './postgres-membership.js';
import { PostgresPolicyStore } from './postgres-policies.js';
import { PostgresReportStore } from './postgres-reports.js';
import { guarded } from './store-errors.js';

/** How to reach and use the database. */
export interface PostgresStoreOptions {
  readonly connectionString: string;
  readonly clock: Clock;
  readonly secretBox: SecretBox;
  /** Connections that this process may hold, without the one that listens. Default 10. */
  readonly poolSizeMax?: number;
  /** Numbers that gateway ports are given from. */
  readonly gatewayPorts?: GatewayPortRange;
}

/** The store on a migrated PostgreSQL database. Connects at the first call; a lost connection heals by itself. */
export function createPostgresStore(options: PostgresStoreOptions): FleetStore {
  return new PostgresFleetStore(options);
}

class PostgresFleetStore extends FleetStore {
  readonly membership: PostgresMembershipStore;
  readonly enrolment: PostgresEnrolmentStore;
  readonly reports: PostgresReportStore;
  readonly policies: PostgresPolicyStore;
  readonly changeLog: PostgresChangeLog;
  readonly leases: PostgresLeaseStore;
  readonly audit: PostgresAuditLog;
  readonly hubState: PostgresHubStateStore;
  readonly #db: Database;
  readonly #advance: AdvanceListener;

  constructor({ connectionString, clock, secretBox, poolSizeMax = 10, gatewayPorts = DEFAULT_GATEWAY_PORT_RANGE }: PostgresStoreOptions) {
    super();
    this.#db = new Database({ connectionString, poolSizeMax, clock, box: secretBox });
    this.#advance = new AdvanceListener(connectionString);
    this.membership = new PostgresMembershipStore(this.#db);
    this.enrolment = new PostgresEnrolmentStore(this.#db);
    this.reports = new PostgresReportStore(this.#db, gatewayPorts);
    this.policies = new PostgresPolicyStore(this.#db);
    this.changeLog = new PostgresChangeLog(this.#db, this.#advance);
    this.leases = new PostgresLeaseStore(this.#db);
    this.audit = new PostgresAuditLog(this.#db);
    this.hubState = new PostgresHubStateStore(this.#db);
  }

  async ping(): Promise<void> {
    await guarded(() => this.#db.pool.query('SELECT 1'));
  }

  async close(): Promise<void> {
    await this.#advance.close();
    await this.#db.close();
  }
}
