#include "database/internal/sqlite.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

namespace kindred {

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

// What is bound stays alive until the query is stepped for the last time, but callers may pass
// temporaries: SQLite makes its own copy.
Query& Query::Bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}
Query& Query::Bind(double value) {
  sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}
Query& Query::Bind(std::string_view text) {
  const char* data = text.data() != nullptr ? text.data() : "";
  sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}
Query& Query::BindBlob(std::string_view bytes) {
  const char* data = bytes.data() != nullptr ? bytes.data() : "";
  sqlite3_bind_blob64(statement_, ++bound_, data, bytes.size(), SQLITE_TRANSIENT);
  return *this;
}
Query& Query::BindNull() {
  sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

int Query::Step() { return sqlite3_step(statement_); }

std::int64_t Query::Integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Query::Real(int column) const { return sqlite3_column_double(statement_, column); }
std::string Query::Text(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

Connection::Connection(sqlite3* database, std::string path, int busy_timeout_ms)
    : database_(database), path_(std::move(path)), busy_timeout_ms_(busy_timeout_ms) {
  sqlite3_extended_result_codes(database_, 1);
  sqlite3_busy_timeout(database_, busy_timeout_ms_);
}

Connection::~Connection() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(database_);
}

Result<void> Connection::Execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return LastError();
  return {};
}

Result<Query> Connection::Prepare(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return Query(found->second);
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return LastError();
  statements_.emplace(std::string(sql), statement);
  return Query(statement);
}

Result<void> Connection::Run(Query& query) {
  if (query.Step() != SQLITE_DONE) return LastError();
  return {};
}

Result<bool> Connection::Next(Query& query) {
  const int code = query.Step();
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return LastError();
}

Result<std::int64_t> Connection::IntegerOf(std::string_view sql) {
  KINDRED_TRY(Query query, Prepare(sql));
  KINDRED_TRY(const bool row, Next(query));
  return row ? query.Integer(0) : 0;
}

bool Connection::InTransaction() const { return sqlite3_get_autocommit(database_) == 0; }

Error Connection::LastError() const {
  return SqliteError(sqlite3_extended_errcode(database_), sqlite3_system_errno(database_),
                     sqlite3_errmsg(database_), path_, busy_timeout_ms_);
}

Result<std::unique_ptr<Transaction>> Transaction::Begin(Connection& connection) {
  KINDRED_CHECK(connection.Execute("BEGIN IMMEDIATE"));
  return std::unique_ptr<Transaction>(new Transaction(connection));
}

Transaction::~Transaction() {
  // SQLite has undone the transaction itself after some failures (disk full).
  if (!connection_.InTransaction()) return;
  // A rollback that fails leaves the transaction to be undone by the next process that opens the
  // file.
  const Result<void> ignored = connection_.Execute("ROLLBACK");
  static_cast<void>(ignored);
}

Result<void> Transaction::Commit() { return connection_.Execute("COMMIT"); }

Error SqliteError(int code, int system_error, std::string_view detail, const std::string& path,
                  int busy_timeout_ms) {
  const std::string because =
      system_error != 0 ? fmt::format(" ({})", std::strerror(system_error)) : std::string();
  const bool disk = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  if (code == SQLITE_FULL || (disk && (system_error == ENOSPC || system_error == EDQUOT)))
    return Environment(fmt::format(
        "the disk that holds the log {} is full; free some space and give the command again: "
        "what was written before is kept",
        path));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Environment(
          fmt::format("the log {} has been locked by another process for {} s; wait until it is "
                      "done, or stop it",
                      path, busy_timeout_ms / 1000.0));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Environment(fmt::format(
          "the log {} cannot be written; check the permissions of the file and of its directory",
          path));
    case SQLITE_CANTOPEN:
      return Environment(fmt::format(
          "the log {} cannot be opened{}; check the permissions of the file and of its directory",
          path, because));
    case SQLITE_NOTADB:
      return BadInput(fmt::format("{} is not a Kindred log (it is no SQLite file)", path));
    case SQLITE_CORRUPT:
      return Environment(fmt::format(
          "the log {} is damaged ({}); take a copy that is whole, or save what can be read with "
          "`sqlite3 {} .recover`",
          path, detail, path));
    case SQLITE_IOERR:
      return Environment(
          fmt::format("the log {} cannot be read or written{}: {}", path, because, detail));
    case SQLITE_NOMEM:
      return Environment(fmt::format("out of memory while using the log {}", path));
    case SQLITE_CONSTRAINT:
      return BadInput(fmt::format("the log {} refuses a row: {}", path, detail));
    default: return Internal(fmt::format("the log {}: SQLite error {}: {}", path, code, detail));
  }
}

}  // namespace kindred
