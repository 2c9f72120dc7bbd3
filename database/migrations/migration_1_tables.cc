// Version 0 (empty file) to 1: the tables. Each column is explained in docs/log_schema.md.
#include "database/migrations/migrations.h"

namespace kindred {

const char kMigration1Tables[] = R"sql(
CREATE TABLE target (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  fingerprint  TEXT NOT NULL,
  description  TEXT NOT NULL,
  cache_state  TEXT NOT NULL,
  CONSTRAINT target_id_is_given CHECK (id <> ''),
  CONSTRAINT target_json CHECK (json_valid(fingerprint) AND json_valid(description)),
  CONSTRAINT target_cache_state CHECK (cache_state IN ('hot', 'cold'))
) STRICT;

CREATE TABLE workload (
  key        TEXT PRIMARY KEY,
  structure  TEXT NOT NULL,
  name       TEXT NOT NULL,
  text       TEXT NOT NULL,
  json       TEXT NOT NULL,
  flop       INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  CONSTRAINT workload_key_is_given CHECK (key <> ''),
  CONSTRAINT workload_json CHECK (json_valid(json))
) STRICT;
CREATE INDEX workload_structure ON workload (structure);

CREATE TABLE family (
  id           TEXT PRIMARY KEY,
  structure    TEXT NOT NULL,
  description  TEXT NOT NULL,
  CONSTRAINT family_json CHECK (json_valid(description))
) STRICT;

CREATE TABLE family_member (
  workload  TEXT PRIMARY KEY REFERENCES workload (key),
  family    TEXT NOT NULL REFERENCES family (id)
) STRICT;
CREATE INDEX family_member_family ON family_member (family);

CREATE TABLE kernel (
  hash     TEXT PRIMARY KEY,
  code     BLOB NOT NULL,
  package  TEXT NOT NULL,
  CONSTRAINT kernel_json CHECK (json_valid(package))
) STRICT;

CREATE TABLE session (
  id          TEXT PRIMARY KEY,
  target      TEXT NOT NULL REFERENCES target (id),
  inputs      TEXT NOT NULL,
  options     TEXT NOT NULL,
  seed        INTEGER NOT NULL,
  version     TEXT NOT NULL,
  state       TEXT NOT NULL,
  started_ms  INTEGER NOT NULL,
  updated_ms  INTEGER NOT NULL,
  summary     TEXT NOT NULL,
  imported    INTEGER NOT NULL,
  CONSTRAINT session_id_is_given CHECK (id <> ''),
  CONSTRAINT session_json CHECK (json_valid(inputs) AND json_valid(options)
                                 AND json_valid(summary)),
  CONSTRAINT session_state CHECK (state IN ('running', 'interrupted', 'finished', 'failed')),
  CONSTRAINT session_imported CHECK (imported IN (0, 1))
) STRICT;

CREATE TABLE task (
  session     TEXT NOT NULL REFERENCES session (id),
  workload    TEXT NOT NULL REFERENCES workload (key),
  position    INTEGER NOT NULL,
  name        TEXT NOT NULL,
  family      TEXT,
  uses        TEXT NOT NULL,
  weight      REAL NOT NULL,
  untuned_ns  REAL,
  untuned     TEXT NOT NULL,
  PRIMARY KEY (session, workload),
  CONSTRAINT task_json CHECK (json_valid(uses) AND json_valid(untuned)),
  CONSTRAINT task_untuned_ns CHECK (untuned_ns > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  session       TEXT NOT NULL REFERENCES session (id),
  round         INTEGER NOT NULL,
  position      INTEGER NOT NULL,
  workload      TEXT NOT NULL REFERENCES workload (key),
  target        TEXT NOT NULL REFERENCES target (id),
  searcher      TEXT NOT NULL,
  sketch        TEXT NOT NULL,
  schedule_key  TEXT NOT NULL,
  schedule      TEXT NOT NULL,
  status        TEXT NOT NULL,
  message       TEXT NOT NULL,
  median_ns     REAL,
  samples       TEXT NOT NULL,
  control_ns    REAL,
  predicted_ns  REAL,
  cache_state   TEXT NOT NULL,
  validated     INTEGER NOT NULL,
  build_s       REAL NOT NULL,
  run_s         REAL NOT NULL,
  build_facts   TEXT NOT NULL,
  kernel        TEXT REFERENCES kernel (hash),
  binary        TEXT,
  compiler      TEXT NOT NULL,
  flags         TEXT NOT NULL,
  driver        TEXT NOT NULL,
  version       TEXT NOT NULL,
  worker        TEXT NOT NULL,
  time_ms       INTEGER NOT NULL,
  conditions    TEXT NOT NULL,
  UNIQUE (session, round, position),
  CONSTRAINT trial_place CHECK (round >= 0 AND position >= 0),
  CONSTRAINT trial_json CHECK (json_valid(schedule) AND json_valid(samples)
                               AND json_valid(build_facts) AND json_valid(conditions)),
  CONSTRAINT trial_status CHECK (status <> ''),
  CONSTRAINT trial_median_ns CHECK (median_ns > 0),
  CONSTRAINT trial_ok_has_a_time CHECK (status <> 'ok'
                                        OR (median_ns IS NOT NULL AND samples <> '[]')),
  CONSTRAINT trial_cache_state CHECK (cache_state IN ('hot', 'cold')),
  CONSTRAINT trial_validated CHECK (validated IN (0, 1))
) STRICT;
CREATE INDEX trial_schedule ON trial (workload, target, schedule_key);
CREATE INDEX trial_task ON trial (session, workload);
CREATE INDEX trial_kernel ON trial (kernel);

CREATE TABLE model (
  target   TEXT NOT NULL REFERENCES target (id),
  name     TEXT NOT NULL,
  kind     TEXT NOT NULL,
  metrics  TEXT NOT NULL,
  epoch    INTEGER NOT NULL,
  blob     BLOB NOT NULL,
  PRIMARY KEY (target, name),
  CONSTRAINT model_json CHECK (json_valid(metrics))
) STRICT;
)sql";

}  // namespace kindred
