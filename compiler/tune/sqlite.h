// SQLite through its C interface: a database file and statements on it. What fails becomes a diagnostic that says whose
// fault it is.
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

struct Connection;  // closed when the last that uses it is gone

class Statement {
 public:
  // Parameters count from 1. What fails, the next step() reports.
  void bind(int parameter, std::string_view text);
  void bind(int parameter, std::int64_t number);
  void bind(int parameter, std::optional<double> number);  // nullopt: NULL

  // Whether there is a row, to be read before the next step. A statement that is not at its end holds its lock.
  Result<bool> step();
  void reset();  // to run again; what is bound stays

  // Of the row; columns count from 0.
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
  // To write: makes file and folders where there are none. To read: changes nothing, but for the undoing of a
  // transaction whose writer was killed. Nothing is read yet: whether it is a database shows with the first statement.
  static Result<Database> open(const std::filesystem::path& path, Access access);

  Result<void> run(const std::string& sql) const;  // statements without rows
  Result<Statement> prepare(const std::string& sql) const;
  std::int64_t changes() const;  // rows that statements of this connection have inserted, updated or deleted
  // About this file.
  Diagnostic problem(std::string why, std::string hint) const;

 private:
  friend class Transaction;
  explicit Database(std::shared_ptr<const Connection> connection) : connection_(std::move(connection)) {}
  void roll_back() const noexcept;
  std::shared_ptr<const Connection> connection_;
};

// Between begin() and commit() no other process writes, and nothing of it is seen by others. What is not committed is
// undone.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Result<void> commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;  // null: it has ended
};

}  // namespace dovetail::tune::sqlite
