#include "compiler/tune/sqlite.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/types.h>
#include <unistd.h>

namespace dovetail::tune::sqlite {

namespace fs = std::filesystem;

struct Connection {
  sqlite3* handle = nullptr;  // null: out of memory
  std::string path;
  Access access = Access::read;

  Connection(sqlite3* database, std::string file, Access purpose)
      : handle(database), path(std::move(file)), access(purpose) {}
  ~Connection() { sqlite3_close_v2(handle); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The diagnostic for the result code of a call.
  Diagnostic failure(int code) const;
};

namespace {

constexpr int kPatienceSeconds = 30;         // for the lock of another process; a transaction takes milliseconds
constexpr int kLongestTextBytes = 16 << 20;  // limit of a value; a record's traces and features take kilobytes

Diagnostic refusal(const fs::path& path, Access access, std::string why, std::string hint, Cause cause = Cause::input) {
  return {access == Access::read ? "cannot read records" : "cannot write records", path.string(), std::move(why),
          std::move(hint), cause};
}

// Rejects paths that SQLite would not treat as files, or would report without the reason.
Result<void> check_path(const fs::path& path, Access access) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (path.empty()) return refusal(path, access, "the path is empty", "name a file");
  if (fs::is_directory(status)) return refusal(path, access, "the path is a directory", "name a file in the directory");
  if (fs::exists(status) && !fs::is_regular_file(status))
    return refusal(path, access, "the path is a device or a pipe", "name a regular file");
  if (access == Access::read) {
    if (!fs::exists(status))
      return refusal(path, access, "no such file", "check the path; it is relative to the current folder");
    return {};
  }
  const fs::path folder = fs::absolute(path, error).parent_path();
  fs::create_directories(folder, error);
  if (error)
    return refusal(path, access, fmt::format("cannot create its folder: {}", error.message()),
                   "check the path and the permissions", cause_of(error.value()));
  // The journal of a transaction is created next to the file; for a link, next to its target.
  const fs::path home =
      fs::is_symlink(fs::symlink_status(path, error)) ? fs::weakly_canonical(path, error).parent_path() : folder;
  if (::faccessat(AT_FDCWD, home.c_str(), W_OK, AT_EACCESS) != 0)
    return refusal(path, access, fmt::format("no permission to write to its folder: {}", std::strerror(errno)),
                   "check the permissions of the folder, or choose another folder");
  return {};
}

}  // namespace

Diagnostic Connection::failure(int code) const {
  const auto problem = [&](std::string why, std::string hint, Cause cause = Cause::input) {
    return refusal(path, access, std::move(why), std::move(hint), cause);
  };
  if (code == SQLITE_READONLY_ROLLBACK)
    return problem("a writer was killed during a transaction, and rolling it back needs write permission",
                   "run `dovetail records list` on the file once, as a user who may write the file and its folder");
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return problem(fmt::format("another process has locked the database for {} s", kPatienceSeconds),
                     "wait until that process is done, or stop it", Cause::resource);
    case SQLITE_NOMEM: return problem("out of memory", "free some memory", Cause::resource);
    case SQLITE_FULL: return problem("the disk is full", "free some space, or choose another folder", Cause::resource);
    case SQLITE_NOTADB:
      return problem("the file is not a database", "give a database made by `dovetail records import`, or a new file");
    case SQLITE_CORRUPT:
      return problem(fmt::format("the database is damaged: {}", sqlite3_errmsg(handle)),
                     "use a copy of the file; `sqlite3 FILE .recover` may recover part of it");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return problem("no permission to write it", "check the permissions of the file and its folder");
    case SQLITE_TOOBIG:
      return problem(fmt::format("a string is longer than {} bytes", kLongestTextBytes),
                     "check that it is the right file");
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: {
      const int reported = handle == nullptr ? 0 : sqlite3_system_errno(handle);
      const int error = reported != 0 ? reported : EIO;  // without a number: the file was truncated
      const Cause cause = cause_of(error);
      return problem(std::strerror(error),
                     cause == Cause::resource ? "free some space, or check the medium" : "check the permissions",
                     cause);
    }
    default:
      return problem(handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle),
                     "check that it is the right file");
  }
}

// ---- Statements ----

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::bind(int parameter, std::string_view text) {
  const int status = sqlite3_bind_text64(statement_.get(), parameter, text.data() == nullptr ? "" : text.data(),
                                         text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (status_ == SQLITE_OK) status_ = status;
}

void Statement::bind(int parameter, std::int64_t number) {
  const int status = sqlite3_bind_int64(statement_.get(), parameter, number);
  if (status_ == SQLITE_OK) status_ = status;
}

void Statement::bind(int parameter, std::optional<double> number) {
  const int status = number ? sqlite3_bind_double(statement_.get(), parameter, *number)
                            : sqlite3_bind_null(statement_.get(), parameter);
  if (status_ == SQLITE_OK) status_ = status;
}

Result<bool> Statement::step() {
  const int status = status_ == SQLITE_OK ? sqlite3_step(statement_.get()) : status_;
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  const Diagnostic problem = connection_->failure(status);
  reset();
  return problem;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());  // repeats the error of the last step
  status_ = SQLITE_OK;
}

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr ? std::string()
                         : std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes));
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::optional<double> Statement::real(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

// ---- The file ----

Result<Database> Database::open(const fs::path& path, Access access) {
  DOVETAIL_TRY(check_path(path, access));
  // An absolute path, since SQLite interprets ":memory:" and "file:...". Readers also ask for write access: they must
  // roll back what a killed writer left. Without permission, SQLite opens the file for reading.
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | (access == Access::write ? SQLITE_OPEN_CREATE : 0);
  const int status = sqlite3_open_v2(fs::absolute(path).c_str(), &handle, flags, nullptr);
  const auto connection = std::make_shared<const Connection>(handle, path.string(), access);
  if (status != SQLITE_OK) return connection->failure(status);
  if (access == Access::write && sqlite3_db_readonly(handle, "main") == 1) return connection->failure(SQLITE_READONLY);

  // Databases may come from untrusted sources. Code defined in the file is not run: triggers, views, functions of its
  // schema.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestTextBytes);
  sqlite3_busy_timeout(handle, kPatienceSeconds * 1000);
  Database database(connection);
  // EXTRA: a committed transaction survives a power failure.
  DOVETAIL_TRY(database.run(access == Access::read ? "PRAGMA query_only = ON" : "PRAGMA synchronous = EXTRA"));
  return database;
}

Result<void> Database::run(const std::string& sql) const {
  const int status = sqlite3_exec(connection_->handle, sql.c_str(), nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return connection_->failure(status);
  return {};
}

Result<Statement> Database::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int status =
      sqlite3_prepare_v2(connection_->handle, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  if (status != SQLITE_OK) return connection_->failure(status);
  return Statement(connection_, statement);
}

// Fails if SQLite has already rolled back, as on a full disk.
void Database::roll_back() const noexcept { sqlite3_exec(connection_->handle, "ROLLBACK", nullptr, nullptr, nullptr); }

std::int64_t Database::changes() const { return sqlite3_total_changes64(connection_->handle); }

Diagnostic Database::problem(std::string why, std::string hint) const {
  return refusal(connection_->path, connection_->access, std::move(why), std::move(hint));
}

Result<Transaction> Transaction::begin(const Database& database) {
  DOVETAIL_TRY(database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) database_->roll_back();
}

Result<void> Transaction::commit() {
  DOVETAIL_TRY(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace dovetail::tune::sqlite
