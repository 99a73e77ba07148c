// SQLite through its C interface: a database file and statements on it. Failures become diagnostics that distinguish
// bad input from lack of resources.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3_stmt;

namespace dovetail::tune::sqlite {

enum class Access : std::uint8_t { read, write };

struct Connection;  // closed with its last user

class Statement {
 public:
  // Parameters count from 1. The next step() reports a failure.
  void bind(int parameter, std::string_view text);
  void bind(int parameter, std::int64_t number);
  void bind(int parameter, std::optional<double> number);  // nullopt: NULL

  // Returns whether there is a row, to be read before the next step. A statement that has not reached its end holds its
  // lock.
  Result<bool> step();
  void reset();  // run again; bound values remain

  // Values of the row; columns count from 0.
  std::string text(int column) const;
  std::int64_t integer(int column) const;
  std::optional<double> real(int column) const;  // nullopt: NULL

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(std::shared_ptr<const Connection> connection, sqlite3_stmt* statement)
      : connection_(std::move(connection)), statement_(statement) {}

  std::shared_ptr<const Connection> connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int status_ = 0;  // of the first bind() that failed
};

class Database {
 public:
  // For writing: creates file and folders if needed. For reading: changes nothing, except to roll back a transaction
  // whose writer was killed. Does not read the file: the first statement detects if it is not a database.
  static Result<Database> open(const std::filesystem::path& path, Access access);

  Result<void> run(const std::string& sql) const;  // statements without rows
  Result<Statement> prepare(const std::string& sql) const;
  std::int64_t changes() const;  // rows inserted, updated or deleted by this connection
  // A diagnostic about this file.
  Diagnostic problem(std::string why, std::string hint) const;

 private:
  friend class Transaction;
  explicit Database(std::shared_ptr<const Connection> connection) : connection_(std::move(connection)) {}
  void roll_back() const noexcept;
  std::shared_ptr<const Connection> connection_;
};

// Between begin() and commit(), no other process can write or see the changes. Without commit(), they are rolled back.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Result<void> commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;  // null: ended
};

}  // namespace dovetail::tune::sqlite
