// The tuning log as one SQLite file (WAL, STRICT tables; docs/log_schema.md).
#pragma once

#include <memory>
#include <string>

#include "database/tuning_log.h"
#include "schedules/base/result.h"

namespace kindred {

enum class OpenMode {
  kReadOnly,   // the file must exist; nothing is ever written
  kReadWrite,  // the file is created where there is none, and an older schema is brought up to date
};

struct SqliteLogOptions {
  int busy_timeout_ms = 10000;  // how long to wait for another process's write
};

// `path` may be ":memory:" with kReadWrite: a log that ends with the object.
// Errors: kNotFound (no such file, kReadOnly), kBadInput (not a Kindred log), kUnsupported (written
// by a newer Kindred), kEnvironment (permissions, disk full, locked, damaged). A file that could
// not be made a log is not left behind.
Result<std::unique_ptr<TuningLog>> OpenSqliteLog(const std::string& path, OpenMode mode,
                                                 SqliteLogOptions options = {});

}  // namespace kindred
