// Version 4 to 5: what people say of families.
#include "database/migrations/migrations.h"

namespace kindred {

const char kMigration5Pins[] = R"sql(
CREATE TABLE family_pin (
  workload  TEXT PRIMARY KEY REFERENCES workload (key),
  cohort    INTEGER NOT NULL,
  time_ms   INTEGER NOT NULL,
  CONSTRAINT family_pin_cohort CHECK (cohort > 0)
) STRICT;
)sql";

}  // namespace kindred
