#include "database/migrations/migrations.h"

namespace kindred {

std::span<const char* const> Migrations() {
  static constexpr const char* kSteps[] = {kMigration1Tables, kMigration2Views, kMigration3Service,
                                           kMigration4Profiles, kMigration5Pins};
  static_assert(sizeof(kSteps) / sizeof(kSteps[0]) == kSchemaVersion);
  return kSteps;
}

}  // namespace kindred
