// The steps that bring a log from one schema version (PRAGMA user_version) to the next.
//
// A step that has been released is never changed: a new one is added. After the first they only
// add tables, views and indices: an older log that is not written is read with these in memory.
// Logs of newer versions are refused.
#pragma once

#include <span>

namespace kindred {

// Migrations()[i] is the SQL that leads from version i to version i + 1.
std::span<const char* const> Migrations();

inline constexpr int kSchemaVersion = 5;
// PRAGMA application_id of a log: "Kndr".
inline constexpr int kApplicationId = 0x4b6e6472;

extern const char kMigration1Tables[];
extern const char kMigration2Views[];
extern const char kMigration3Service[];
extern const char kMigration4Profiles[];
extern const char kMigration5Pins[];

}  // namespace kindred
