#include "database/internal/open.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <optional>

#include <fmt/format.h>
#include <sqlite3.h>

#include "database/migrations/migrations.h"

namespace kindred {
namespace {

constexpr const char* kInMemory = ":memory:";

// Removes a file that this process has created, unless it became a log.
class CreatedFile {
 public:
  ~CreatedFile() {
    if (path_.empty()) return;
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((path_ + suffix).c_str());
  }
  void Owns(std::string path) { path_ = std::move(path); }
  void Keep() { path_.clear(); }

 private:
  std::string path_;
};

// Lets one process at a time create or migrate logs in a folder: SQLite's switch to a write-ahead
// log does not wait for others, and a log that could not be made is removed. Where the folder
// cannot be locked, nothing is.
class FolderLock {
 public:
  FolderLock(const std::string& path, int timeout_ms) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    constexpr int kPauseMs = 5;
    for (int waited = 0; folder_ >= 0 && ::flock(folder_, LOCK_EX | LOCK_NB) != 0 &&
                         errno == EWOULDBLOCK && waited < timeout_ms;
         waited += kPauseMs)
      ::usleep(kPauseMs * 1000);
  }
  ~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_ = -1;
};

Error CannotCreate(const std::string& path, int error) {
  if (error == ENOSPC || error == EDQUOT) return SqliteError(SQLITE_FULL, error, "", path, 0);
  if (error == ENOENT)
    return Environment(
        fmt::format("the log {} cannot be created: its directory does not exist; create it, or "
                    "name another file",
                    path));
  return Environment(fmt::format(
      "the log {} cannot be created ({}); check the permissions of its directory, or name "
      "another file",
      path, std::strerror(error)));
}

bool MayAccess(const std::string& path, int mode) {
  return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

// SQLite takes a file name that begins with "file:" for a URI; "./" keeps it a name.
std::string AsFileName(const std::string& path) {
  return path.rfind("file:", 0) == 0 ? "./" + path : path;
}

// `immutable` reads a file that nobody can write without the shared-memory file that WAL needs
// otherwise.
std::string AsUri(const std::string& path, bool immutable) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else
      uri += c;
  }
  return uri + (immutable ? "?mode=ro&immutable=1" : "?mode=ro");
}

Result<std::unique_ptr<Connection>> OpenHandle(const std::string& name, const std::string& path,
                                               int flags, const SqliteLogOptions& options) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle,
                                   flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (handle == nullptr)
    return Environment(fmt::format("out of memory while opening the log {}", path));
  auto connection = std::make_unique<Connection>(handle, path, options.busy_timeout_ms);
  if (code != SQLITE_OK) return connection->LastError();
  return connection;
}

// Tells a log from other SQLite files; an empty file is none yet, but may become one.
Result<void> CheckIdentity(Connection& connection, bool may_be_empty) {
  KINDRED_TRY(const std::int64_t application, connection.IntegerOf("PRAGMA application_id"));
  if (application == kApplicationId) return {};
  KINDRED_TRY(const std::int64_t objects,
              connection.IntegerOf("SELECT count(*) FROM sqlite_schema"));
  if (application != 0 || objects != 0)
    return BadInput(fmt::format("{} is not a Kindred log, but the SQLite file of another program",
                                connection.path()));
  if (!may_be_empty)
    return BadInput(fmt::format("{} is empty: it is not a Kindred log", connection.path()));
  return {};
}

Result<int> StoredVersion(Connection& connection) {
  KINDRED_TRY(const std::int64_t version, connection.IntegerOf("PRAGMA user_version"));
  if (version > kSchemaVersion)
    return Unsupported(fmt::format(
        "the log {} was written by a newer Kindred (schema {}, this one knows up to {}); upgrade "
        "Kindred, or name another file",
        connection.path(), version, kSchemaVersion));
  if (version < 0)
    return BadInput(fmt::format("the log {} is damaged (schema {}); restore it from a copy",
                                connection.path(), version));
  return static_cast<int>(version);
}

// A step of the migrations for a log that is not written: what it adds stands in the connection's
// temporary schema, where SQLite looks first.
std::string InTemporarySchema(std::string sql) {
  static constexpr std::pair<std::string_view, std::string_view> kForms[] = {
      {"CREATE TABLE ", "CREATE TABLE temp."},
      {"CREATE VIEW ", "CREATE VIEW temp."},
      {"CREATE INDEX ", "CREATE INDEX temp."}};
  for (const auto& [main, temporary] : kForms)
    for (std::size_t at = sql.find(main); at != std::string::npos; at = sql.find(main, at + 1))
      sql.replace(at, main.size(), temporary);
  return sql;
}

// A log of an older version is read as if it were up to date.
Result<void> MakeReadable(Connection& connection) {
  KINDRED_CHECK(CheckIdentity(connection, false));
  KINDRED_TRY(const int version, StoredVersion(connection));
  if (version == kSchemaVersion) return {};
  KINDRED_CHECK(connection.Execute("PRAGMA temp_store = MEMORY"));
  for (int step = version; step < kSchemaVersion; ++step)
    KINDRED_CHECK(connection.Execute(
        InTemporarySchema(Migrations()[static_cast<std::size_t>(step)]).c_str()));
  return {};
}

Result<std::unique_ptr<Connection>> OpenForReading(const std::string& path,
                                                   const SqliteLogOptions& options) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return NotFound(fmt::format("there is no log {}", path));
    return Environment(fmt::format("the log {} cannot be read ({})", path, std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode))
    return BadInput(fmt::format("{} is a directory, not a Kindred log", path));
  if (!MayAccess(path, R_OK))
    return Environment(fmt::format("the log {} cannot be read ({}); check its permissions", path,
                                   std::strerror(errno)));

  KINDRED_TRY(auto connection, OpenHandle(AsUri(path, false), path,
                                          SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, options));
  Result<void> readable = MakeReadable(*connection);
  struct stat wal {};
  const bool wal_is_empty = ::stat((path + "-wal").c_str(), &wal) != 0 || wal.st_size == 0;
  if (!readable && readable.error().kind == ErrorKind::kEnvironment && wal_is_empty) {
    // A log in a directory that we cannot write, which no process has open: all of it is in the
    // file itself.
    KINDRED_TRY(auto immutable, OpenHandle(AsUri(path, true), path,
                                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, options));
    if (MakeReadable(*immutable)) {
      connection = std::move(immutable);
      readable = {};
    }
  }
  if (!readable) return std::move(readable).error();
  KINDRED_CHECK(connection->Execute("PRAGMA query_only = ON"));
  return connection;
}

Result<void> Prepare(Connection& connection) {
  KINDRED_CHECK(CheckIdentity(connection, true));
  KINDRED_TRY(const int version, StoredVersion(connection));
  KINDRED_CHECK(connection.Execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL"));
  if (connection.path() != kInMemory) {
    KINDRED_TRY(Query query, connection.Prepare("PRAGMA journal_mode = WAL"));
    KINDRED_TRY(const bool row, connection.Next(query));
    const std::string mode = row ? query.Text(0) : "";
    if (mode != "wal")
      return Environment(fmt::format(
          "the log {} lies on a file system that offers no write-ahead log (journal mode {}); put "
          "it on a local disk",
          connection.path(), mode));
  }
  if (version == kSchemaVersion) return {};
  return Migrate(connection, kSchemaVersion);
}

Result<std::unique_ptr<Connection>> OpenForWriting(const std::string& path,
                                                   const SqliteLogOptions& options) {
  std::optional<FolderLock> alone;
  CreatedFile created;
  if (path != kInMemory) {
    alone.emplace(path, options.busy_timeout_ms);
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      ::close(file);
      created.Owns(path);
    } else if (errno != EEXIST) {
      return CannotCreate(path, errno);
    }
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
      return BadInput(fmt::format("{} is a directory, not a Kindred log", path));
    if (!MayAccess(path, R_OK | W_OK))
      return Environment(fmt::format(
          "the log {} cannot be written ({}); check its permissions, or name another file", path,
          std::strerror(errno)));
  }
  KINDRED_TRY(auto connection, OpenHandle(AsFileName(path), path, SQLITE_OPEN_READWRITE, options));
  const Result<void> prepared = Prepare(*connection);
  if (!prepared) {
    const Error error = prepared.error();
    connection.reset();  // before its file goes
    return error;
  }
  created.Keep();
  return connection;
}

}  // namespace

Result<std::unique_ptr<Connection>> OpenConnection(const std::string& path, OpenMode mode,
                                                   const SqliteLogOptions& options) {
  if (path.empty()) return BadInput("the log has no name: give --log FILE");
  return mode == OpenMode::kReadOnly ? OpenForReading(path, options)
                                     : OpenForWriting(path, options);
}

Result<void> Migrate(Connection& connection, int version) {
  KINDRED_TRY(auto transaction, Transaction::Begin(connection));
  // Read again: another process may have been first.
  KINDRED_TRY(const int stored, StoredVersion(connection));
  for (int step = stored; step < version; ++step)
    KINDRED_CHECK(connection.Execute(Migrations()[static_cast<std::size_t>(step)]));
  const std::string marks =
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, version);
  if (stored < version) KINDRED_CHECK(connection.Execute(marks.c_str()));
  return transaction->Commit();
}

}  // namespace kindred
