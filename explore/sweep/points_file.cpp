#include "explore/sweep/points_file.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/temporary.h"
#include "compiler/tune/sqlite.h"

namespace dovetail::explore {

namespace fs = std::filesystem;
namespace sqlite = tune::sqlite;

namespace {

constexpr std::array<std::string_view, 4> kStateNames{"measured", "infeasible", "pruned", "failed"};
constexpr std::string_view kClaimed = "claimed";

// A point has a row as soon as an explorer claims it.
constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS sweep (identity TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS points (key TEXT PRIMARY KEY, state TEXT NOT NULL, owner TEXT NOT NULL, machine TEXT, "
    "why TEXT, chosen TEXT, point_values TEXT, models TEXT) WITHOUT ROWID";

// A name that is unique among running explorers.
std::string own_name() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  static int count = 0;
  return fmt::format("{}.{}.{}", host, ::getpid(), count++);
}

PointRecord record_of(const sqlite::Statement& row) {
  PointRecord record;
  record.key = row.text(0);
  record.state = state_of(row.text(1));
  record.machine = row.text(2);
  record.why = row.text(3);
  record.chosen = Json::parse(row.text(4));
  record.values = Json::parse(row.text(5));
  record.models = Json::parse(row.text(6));
  return record;
}

constexpr const char* kSelect = "SELECT key, state, machine, why, chosen, point_values, models FROM points";

}  // namespace

PointState state_of(std::string_view name) {
  const auto found = std::ranges::find(kStateNames, name);
  return found == kStateNames.end() ? PointState::failed : static_cast<PointState>(found - kStateNames.begin());
}

std::string_view name(PointState state) { return kStateNames[static_cast<std::size_t>(state)]; }

Json to_json(const PointRecord& point) {
  Json row{{"key", point.key}, {"machine", point.machine}, {"state", name(point.state)}, {"chosen", point.chosen}};
  if (point.state == PointState::measured) {
    row["values"] = point.values;
    row["models"] = point.models;
  } else {
    row["why"] = point.why;
  }
  return row;
}

struct PointsFile::State {
  fs::path path;
  sqlite::Database database;
  std::string owner;
  TemporaryPath lock_file;
  FileLock alive;  // held while this explorer runs

  static fs::path lock_path(const fs::path& path, const std::string& owner) {
    return fs::path(path).concat("." + owner + ".lock");
  }
  // Whether another explorer has ended without finishing its claimed points.
  Result<bool> is_gone(const std::string& other) const {
    const fs::path lock = lock_path(path, other);
    if (!fs::exists(lock)) return true;
    DOVETAIL_ASSIGN(const auto taken, FileLock::try_take(lock));
    if (!taken) return false;
    std::error_code ignored;
    fs::remove(lock, ignored);
    return true;
  }
};

PointsFile::PointsFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
PointsFile::PointsFile(PointsFile&&) noexcept = default;
PointsFile& PointsFile::operator=(PointsFile&&) noexcept = default;
PointsFile::~PointsFile() = default;

Result<PointsFile> PointsFile::open(const fs::path& path, const Json& identity) {
  DOVETAIL_ASSIGN(sqlite::Database database, sqlite::Database::open(path, sqlite::Access::write));
  DOVETAIL_TRY(database.run("PRAGMA synchronous = NORMAL"));
  {
    DOVETAIL_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database));
    DOVETAIL_TRY(database.run(kTables));
    DOVETAIL_ASSIGN(auto row, database.prepare("SELECT identity FROM sweep"));
    DOVETAIL_ASSIGN(const bool there, row.step());
    const std::string text = identity.dump();
    if (there && row.text(0) != text) {
      const auto other = Json::parse(row.text(0), nullptr, false);
      std::string what;
      for (const auto& [key, value] : identity.items())
        if (!other.is_object() || !other.contains(key) || other.at(key) != value)
          what += (what.empty() ? "" : ", ") + key;
      return database.problem(
          fmt::format("the folder has the results of another sweep, with different {}", what.empty() ? "inputs" : what),
          "choose another folder, or remove this one");
    }
    row.reset();
    if (!there) {
      DOVETAIL_ASSIGN(auto insert, database.prepare("INSERT INTO sweep VALUES (?1)"));
      insert.bind(1, text);
      DOVETAIL_TRY(insert.step());
    }
    DOVETAIL_TRY(transaction.commit());
  }
  const std::string owner = own_name();
  TemporaryPath lock_file(State::lock_path(path, owner));
  DOVETAIL_ASSIGN(FileLock alive, FileLock::take(lock_file.path()));
  return PointsFile(
      std::unique_ptr<State>(new State{path, std::move(database), owner, std::move(lock_file), std::move(alive)}));
}

Result<PointsFile::Claim> PointsFile::claim(const std::string& key) {
  DOVETAIL_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(state_->database));
  DOVETAIL_ASSIGN(auto row, state_->database.prepare("SELECT state, owner FROM points WHERE key = ?1"));
  row.bind(1, key);
  DOVETAIL_ASSIGN(const bool there, row.step());
  if (there && row.text(0) != kClaimed) return Claim::done;
  if (there && row.text(1) != state_->owner) {
    DOVETAIL_ASSIGN(const bool gone, state_->is_gone(row.text(1)));
    if (!gone) return Claim::others;
  }
  row.reset();
  DOVETAIL_ASSIGN(auto insert,
                  state_->database.prepare("INSERT OR REPLACE INTO points (key, state, owner) VALUES (?1, ?2, ?3)"));
  insert.bind(1, key);
  insert.bind(2, kClaimed);
  insert.bind(3, state_->owner);
  DOVETAIL_TRY(insert.step());
  DOVETAIL_TRY(transaction.commit());
  return Claim::ours;
}

Result<void> PointsFile::finish(const PointRecord& record) {
  DOVETAIL_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(state_->database));
  DOVETAIL_ASSIGN(auto insert,
                  state_->database.prepare("INSERT OR REPLACE INTO points (key, state, owner, machine, why, chosen, "
                                           "point_values, models) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  insert.bind(1, record.key);
  insert.bind(2, name(record.state));
  insert.bind(3, state_->owner);
  insert.bind(4, record.machine);
  insert.bind(5, record.why);
  const std::string chosen = record.chosen.dump(), values = record.values.dump(), models = record.models.dump();
  insert.bind(6, chosen);
  insert.bind(7, values);
  insert.bind(8, models);
  DOVETAIL_TRY(insert.step());
  return transaction.commit();
}

Result<std::optional<PointRecord>> PointsFile::find(const std::string& key) const {
  DOVETAIL_ASSIGN(auto row, state_->database.prepare(fmt::format("{} WHERE key = ?1 AND state <> ?2", kSelect)));
  row.bind(1, key);
  row.bind(2, kClaimed);
  DOVETAIL_ASSIGN(const bool there, row.step());
  return there ? std::optional(record_of(row)) : std::nullopt;
}

Result<std::vector<PointRecord>> PointsFile::all() const {
  std::vector<PointRecord> records;
  DOVETAIL_ASSIGN(auto row, state_->database.prepare(fmt::format("{} WHERE state <> ?1 ORDER BY key", kSelect)));
  row.bind(1, kClaimed);
  while (true) {
    DOVETAIL_ASSIGN(const bool there, row.step());
    if (!there) return records;
    records.push_back(record_of(row));
  }
}

}  // namespace dovetail::explore
