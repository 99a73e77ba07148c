#include "explore/sweep/points_file.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/printable.h"
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

constexpr const char* kSelect = "SELECT key, state, machine, why, chosen, point_values, models FROM points";
constexpr std::array<std::string_view, 7> kColumns{"key",    "state",        "machine", "why",
                                                   "chosen", "point_values", "models"};

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
  } catch (const Json::type_error&) {
    return false;
  }
  return true;
}

// A number among the values, or the reason why it is missing.
std::string number_in(const Json& object, std::string_view key, std::string_view place) {
  const auto value = object.find(key);
  if (value != object.end() && value->is_number()) return {};
  return fmt::format("{} has no number \"{}\"", place, key);
}

// Why a measured point's layers cannot be read; empty: they can.
std::string damage_of_layers(const Json& layers) {
  if (!layers.is_array()) return "models: \"layers\" is not a list";
  for (const Json& layer : layers) {
    if (!layer.is_object() || !layer.contains("cycles_by_cause") || !layer.at("cycles_by_cause").is_object())
      return "models: a layer has no object \"cycles_by_cause\"";
    for (const auto& [key, value] : layer.items())
      if (key != "cycles_by_cause" && value.is_structured())
        return fmt::format("models: a layer's \"{}\" is a list", key);
  }
  return {};
}

std::string damage_of_models(const Json& models) {
  for (const Json& model : models) {
    if (!model.is_object() || !model.contains("model") || !model.at("model").is_string())
      return "models has an entry without a text \"model\"";
    for (const char* key : {"cycles", "milliseconds", "energy_mj", "regions"})
      if (std::string why = number_in(model, key, "models"); !why.empty()) return why;
    if (!model.at("regions").is_number_integer()) return "models: \"regions\" is not an integer";
    if (model.contains("check") && !model.at("check").is_string()) return "models: \"check\" is not text";
    if (model.contains("layers"))
      if (std::string why = damage_of_layers(model.at("layers")); !why.empty()) return why;
  }
  return {};
}

}  // namespace

std::string damage_of(const PointRecord& record, const Space& space) {
  if (!space.find_genes(record.chosen)) return "chosen is not a choice of the space";
  if (record.state != PointState::measured) return {};
  std::vector<std::string> keys;
  for (const MetricRow& metric : metric_table())
    if (metric.key != "accuracy" || space.has_numerics()) keys.emplace_back(metric.key);
  for (const Objective& objective : space.objectives()) keys.push_back(objective.key());
  for (const std::string& key : keys)
    if (std::string why = number_in(record.values, key, "point_values"); !why.empty()) return why;
  return damage_of_models(record.models);
}

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
  const Space* space;  // null: the values are not compared with a space
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

  Diagnostic damage(const std::string& key, std::string why) const {
    return database.problem(
        fmt::format("the row of the point {} is damaged: {}", printable(key), std::move(why)),
        fmt::format(
            "choose another folder, or delete the row, so that the point is measured again: `sqlite3 {} \"DELETE "
            "FROM points WHERE key = '{}'\"`",
            path.string(), printable(key)));
  }

  // Error: the row has other values than an explorer writes.
  Result<PointRecord> record_of(const sqlite::Statement& row) const {
    PointRecord record;
    std::array<std::string, kColumns.size()> texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i] = row.text(static_cast<int>(i));
      if (!is_utf8(texts[i])) return damage(texts[0], fmt::format("{} is not UTF-8", kColumns[i]));
    }
    record.key = texts[0];
    if (std::ranges::find(kStateNames, texts[1]) == kStateNames.end())
      return damage(record.key, fmt::format("state is \"{}\"", printable(texts[1])));
    record.state = state_of(texts[1]);
    record.machine = texts[2];
    record.why = texts[3];
    const std::array columns{&record.chosen, &record.values, &record.models};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      auto json = parse_json(texts[4 + i], kColumns[4 + i]);
      if (!json.ok())
        return damage(record.key, fmt::format("{}: {}", json.errors().front().where, json.errors().front().why));
      if (i < 2 ? !json->is_object() : !json->is_array())
        return damage(record.key, fmt::format("{} is a JSON {}, not {}", kColumns[4 + i], json->type_name(),
                                              i < 2 ? "an object" : "a list"));
      *columns[i] = *std::move(json);
    }
    if (space != nullptr)
      if (std::string why = damage_of(record, *space); !why.empty()) return damage(record.key, std::move(why));
    return record;
  }
};

PointsFile::PointsFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
PointsFile::PointsFile(PointsFile&&) noexcept = default;
PointsFile& PointsFile::operator=(PointsFile&&) noexcept = default;
PointsFile::~PointsFile() = default;

Result<PointsFile> PointsFile::open(const fs::path& path, const Json& identity, const Space* space) {
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
  return PointsFile(std::unique_ptr<State>(
      new State{path, space, std::move(database), owner, std::move(lock_file), std::move(alive)}));
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
  if (!there) return std::optional<PointRecord>();
  DOVETAIL_ASSIGN(PointRecord record, state_->record_of(row));
  return std::optional(std::move(record));
}

Result<std::vector<PointRecord>> PointsFile::all() const {
  std::vector<PointRecord> records;
  DOVETAIL_ASSIGN(auto row, state_->database.prepare(fmt::format("{} WHERE state <> ?1 ORDER BY key", kSelect)));
  row.bind(1, kClaimed);
  while (true) {
    DOVETAIL_ASSIGN(const bool there, row.step());
    if (!there) return records;
    DOVETAIL_ASSIGN(PointRecord record, state_->record_of(row));
    records.push_back(std::move(record));
  }
}

}  // namespace dovetail::explore
