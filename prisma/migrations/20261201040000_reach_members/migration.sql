-- How others reach a member, as its spoke says; null until it has.
ALTER TABLE clusters ADD COLUMN reach jsonb, ADD COLUMN reach_digest text NOT NULL DEFAULT '';

-- Which port of a member's gateway nodes leads to which port of which of its backends. A row outlives its backend, and its
-- cluster too: until the quarantine is over nobody else may have the number.
CREATE TABLE gateway_ports (
  cluster_id   text NOT NULL,
  gateway_port integer NOT NULL CHECK (gateway_port BETWEEN 1 AND 65535),
  name         text NOT NULL,
  port         integer NOT NULL,
  protocol     text NOT NULL CHECK (protocol IN ('TCP', 'UDP')),
  released_at  timestamptz(3),
  PRIMARY KEY (cluster_id, gateway_port),
  UNIQUE (cluster_id, name, port, protocol)
);
