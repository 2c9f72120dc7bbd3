// A thin layer over the SQLite C interface: a connection that keeps its prepared statements, and
// queries that reset themselves. Not thread-safe: SqliteLog guards its one connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "schedules/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kindred {

// One execution of a prepared statement. Values are bound in order; the statement is free again
// when the query is destroyed, which must be before the connection is.
class Query {
 public:
  explicit Query(sqlite3_stmt* statement) : statement_(statement) {}
  Query(Query&& other) noexcept : statement_(other.statement_), bound_(other.bound_) {
    other.statement_ = nullptr;
  }
  Query& operator=(Query&&) = delete;
  ~Query();

  Query& Bind(std::int64_t value);
  Query& Bind(double value);
  Query& Bind(std::string_view text);
  Query& BindBlob(std::string_view bytes);
  Query& BindNull();
  // NULL for the value that stands for "unknown" in records.
  Query& BindOrNull(double value) { return value == 0 ? BindNull() : Bind(value); }
  Query& BindOrNull(std::string_view text) { return text.empty() ? BindNull() : Bind(text); }

  // SQLite's result code: SQLITE_ROW, SQLITE_DONE, or an error.
  int Step();

  // Columns of the current row, from 0; NULL reads as 0 or "".
  std::int64_t Integer(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;  // text or blob

 private:
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

class Connection {
 public:
  // Takes over `database`. `path` is for messages.
  Connection(sqlite3* database, std::string path, int busy_timeout_ms);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& path() const { return path_; }

  // Statements without results, separated by semicolons.
  Result<void> Execute(const char* sql);
  // Prepares `sql`, or takes it from those prepared before. A statement runs one query at a time.
  Result<Query> Prepare(std::string_view sql);
  // Runs a query that gives no rows.
  Result<void> Run(Query& query);
  // Steps to the next row; false after the last.
  Result<bool> Next(Query& query);
  // The first column of the first row.
  Result<std::int64_t> IntegerOf(std::string_view sql);

  bool InTransaction() const;

  // The connection's last failure as an Error for a person.
  Error LastError() const;

 private:
  sqlite3* database_;
  std::string path_;
  int busy_timeout_ms_;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

// BEGIN IMMEDIATE, undone unless Commit() succeeded.
class Transaction {
 public:
  static Result<std::unique_ptr<Transaction>> Begin(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Result<void> Commit();

 private:
  explicit Transaction(Connection& connection) : connection_(connection) {}
  Connection& connection_;
};

// The Error for a SQLite (extended) result code; `system_error` is errno where the operating system
// refused, or 0.
Error SqliteError(int code, int system_error, std::string_view detail, const std::string& path,
                  int busy_timeout_ms);

}  // namespace kindred
