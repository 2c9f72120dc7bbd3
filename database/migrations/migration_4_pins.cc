// Version 3 to 4: what people say of families.
#include "database/migrations/migrations.h"

namespace kindred {

const char kMigration4Pins[] = R"sql(
CREATE TABLE family_pin (
  workload  TEXT PRIMARY KEY REFERENCES workload (key),
  cohort    INTEGER NOT NULL,
  time_ms   INTEGER NOT NULL,
  CONSTRAINT family_pin_cohort CHECK (cohort > 0)
) STRICT;
)sql";

}  // namespace kindred
