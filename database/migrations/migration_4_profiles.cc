// Version 3 to 4: hardware counters of kernels that were run again for them.
#include "database/migrations/migrations.h"

namespace kindred {

const char kMigration4Profiles[] = R"sql(
CREATE TABLE profile (
  trial        INTEGER PRIMARY KEY REFERENCES trial (id),
  metrics      TEXT NOT NULL,
  cache_state  TEXT NOT NULL,
  driver       TEXT NOT NULL,
  version      TEXT NOT NULL,
  worker       TEXT NOT NULL,
  time_ms      INTEGER NOT NULL,
  CONSTRAINT profile_metrics CHECK (json_valid(metrics)),
  CONSTRAINT profile_cache_state CHECK (cache_state IN ('hot', 'cold'))
) STRICT;
)sql";

}  // namespace kindred
