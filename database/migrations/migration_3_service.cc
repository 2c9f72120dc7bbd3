// Version 2 to 3: what a service keeps: its queue of jobs, and how often workloads are asked for.
#include "database/migrations/migrations.h"

namespace kindred {

const char kMigration3Service[] = R"sql(
CREATE TABLE job (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL,
  target      TEXT NOT NULL,
  inputs      TEXT NOT NULL,
  options     TEXT NOT NULL,
  priority    REAL NOT NULL,
  state       TEXT NOT NULL,
  session     TEXT,
  message     TEXT NOT NULL,
  summary     TEXT NOT NULL,
  attempts    INTEGER NOT NULL,
  created_ms  INTEGER NOT NULL,
  started_ms  INTEGER,
  ended_ms    INTEGER,
  CONSTRAINT job_id_is_given CHECK (id <> ''),
  CONSTRAINT job_json CHECK (json_valid(inputs) AND json_valid(options) AND json_valid(summary)),
  CONSTRAINT job_state CHECK (state IN ('queued', 'running', 'finished', 'failed', 'cancelled')),
  CONSTRAINT job_attempts CHECK (attempts >= 0)
) STRICT;
CREATE INDEX job_queue ON job (state, priority DESC, created_ms);

CREATE TABLE asked (
  workload  TEXT NOT NULL REFERENCES workload (key),
  target    TEXT NOT NULL,
  times     INTEGER NOT NULL,
  weight    REAL NOT NULL,
  last_ms   INTEGER NOT NULL,
  PRIMARY KEY (workload, target),
  CONSTRAINT asked_times CHECK (times > 0 AND weight >= 0)
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace kindred
