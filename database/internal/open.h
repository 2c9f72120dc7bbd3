// Opens a file as a tuning log: creates it, recognises it, brings its schema up to date.
#pragma once

#include <memory>
#include <string>

#include "database/internal/sqlite.h"
#include "database/sqlite_log.h"
#include "schedules/base/result.h"

namespace kindred {

// Errors: those of OpenSqliteLog.
Result<std::unique_ptr<Connection>> OpenConnection(const std::string& path, OpenMode mode,
                                                   const SqliteLogOptions& options);

// Applies the migrations from the stored version up to `version` in one transaction. Error
// kUnsupported: the stored version is newer than that of this build.
Result<void> Migrate(Connection& connection, int version);

}  // namespace kindred
