CREATE TABLE clusters (
  id                   text PRIMARY KEY,
  uid                  text NOT NULL DEFAULT '',
  labels               jsonb NOT NULL,
  region               text NOT NULL,
  zone                 text NOT NULL,
  network              text NOT NULL,
  freshness            text NOT NULL CHECK (freshness IN ('joining', 'fresh', 'stale')),
  first_list_complete  boolean NOT NULL DEFAULT false,
  server_url           text NOT NULL DEFAULT '',
  kubeconfig           bytea,
  kubernetes_version   text NOT NULL DEFAULT '',
  spoke_version        text NOT NULL DEFAULT '',
  conditions           jsonb NOT NULL DEFAULT '[]',
  inventory            jsonb,
  registered_at        timestamptz(3) NOT NULL,
  enrolled_at          timestamptz(3),
  removal_requested_at timestamptz(3),
  removal_force        boolean NOT NULL DEFAULT false,
  removal_by           text NOT NULL DEFAULT '',
  report_digest        text NOT NULL DEFAULT ''
);
-- One cluster is a member under one name.
CREATE UNIQUE INDEX clusters_uid_key ON clusters (uid) WHERE uid <> '';

-- Rewritten at every report: room on each page keeps the updates off the index.
CREATE TABLE heartbeats (
  cluster_id       text PRIMARY KEY REFERENCES clusters (id) ON DELETE CASCADE,
  last_report_at   timestamptz(3) NOT NULL,
  spoke_version    text NOT NULL,
  clock_skew_ms    bigint NOT NULL,
  applied_epoch    text,
  applied_sequence bigint
) WITH (fillfactor = 50);

CREATE TABLE spoke_keys (
  key_id     text PRIMARY KEY,
  cluster_id text NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
  public_key text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  not_after  timestamptz(3)
);
CREATE INDEX spoke_keys_cluster_id_idx ON spoke_keys (cluster_id);

CREATE TABLE join_tokens (
  token_hash  text PRIMARY KEY,
  cluster_id  text NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
  replace     boolean NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  expires_at  timestamptz(3) NOT NULL,
  used_uid    text,
  used_key_id text
);
CREATE INDEX join_tokens_cluster_id_idx ON join_tokens (cluster_id);

CREATE TABLE member_backends (
  cluster_id          text NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
  name                text NOT NULL,
  body                bytea NOT NULL,
  encoding            text NOT NULL CHECK (encoding IN ('identity', 'gzip')),
  digest              text NOT NULL,
  observed_at         timestamptz(3) NOT NULL,
  first_seen_sequence bigint NOT NULL,
  PRIMARY KEY (cluster_id, name)
);

CREATE TABLE sameness_policies (
  name       text PRIMARY KEY,
  namespaces jsonb NOT NULL,
  may_export jsonb NOT NULL,
  may_import jsonb NOT NULL,
  owner      text NOT NULL
);

CREATE TABLE change_log (
  sequence   bigint PRIMARY KEY,
  kind       text NOT NULL CHECK (kind IN ('part', 'member', 'policy', 'freeze')),
  cluster_id text,
  name       text,
  namespaces jsonb NOT NULL DEFAULT '[]',
  at         timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE hub_state (
  id                    integer PRIMARY KEY CHECK (id = 1),
  restore_counter       integer NOT NULL,
  epoch_id              text NOT NULL,
  epoch_began_at        timestamptz(3) NOT NULL,
  sequence              bigint NOT NULL,
  frozen                jsonb,
  authority_certificate text,
  authority_key         bytea,
  admin_token_hash      text
);
-- The epoch begins with the database.
INSERT INTO hub_state (id, restore_counter, epoch_id, epoch_began_at, sequence) VALUES (1, 0, gen_random_uuid()::text, now(), 0);

CREATE TABLE leases (
  name          text PRIMARY KEY,
  holder        text NOT NULL,
  fencing_token bigint NOT NULL,
  expires_at    timestamptz(3) NOT NULL
);

CREATE TABLE audit_log (
  id     bigserial PRIMARY KEY,
  at     timestamptz(3) NOT NULL,
  by     text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  before jsonb,
  after  jsonb
);
CREATE INDEX audit_log_target_id_idx ON audit_log (target, id);
