#include "compiler/tune/records.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/tune/record_fields.h"
#include "compiler/tune/sqlite.h"

namespace dovetail::tune {

namespace {

constexpr int kDatabaseVersion = 1;                  // of the table; PRAGMA user_version
constexpr std::int64_t kApplicationId = 0x44765452;  // "DvTR": tells records from other databases

constexpr const char* kUseCopy = "use a copy of it";

// ---- SQL ----

std::vector<std::string_view> column_names(bool keys_only = false) {
  std::vector<std::string_view> names;
  for (const RecordField& field : record_fields())
    if (field.is_key || !keys_only) names.push_back(field.name);
  return names;
}

std::string column_type(FieldForm form) {
  if (form == FieldForm::cost) return "REAL";  // NULL where nothing was measured
  return form == FieldForm::count ? "INTEGER NOT NULL" : "TEXT NOT NULL";
}

// As it is in the database, letter by letter.
std::string table_sql() {
  std::string columns;
  for (const RecordField& field : record_fields())
    columns += fmt::format("{} {}, ", field.name, column_type(field.form));
  return fmt::format("CREATE TABLE records ({}PRIMARY KEY ({})) STRICT", columns, fmt::join(column_names(true), ", "));
}

// What happens to a record that is there already.
enum class Present : std::uint8_t { replaced, replaced_by_later };

std::string insert_sql(Present present) {
  std::string places, changes;
  for (const RecordField& field : record_fields()) {
    places += places.empty() ? "?" : ", ?";
    if (!field.is_key)
      changes += fmt::format("{}{} = excluded.{}", changes.empty() ? "" : ", ", field.name, field.name);
  }
  return fmt::format("INSERT INTO records ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}{}",
                     fmt::join(column_names(), ", "), places, fmt::join(column_names(true), ", "), changes,
                     present == Present::replaced ? "" : " WHERE excluded.time > records.time");
}

constexpr std::string_view kBestFirst = "cost IS NULL, cost, decisions";

std::string select_sql(std::string_view rest) {
  return fmt::format("SELECT {} FROM records {}", fmt::join(column_names(), ", "), rest);
}

// ---- Rows ----

void bind_record(sqlite::Statement& statement, const Record& record) {
  int parameter = 0;
  for (const RecordField& field : record_fields()) {
    const Json value = field.get(record);
    switch (++parameter; field.form) {
      case FieldForm::text: statement.bind(parameter, std::string_view(value.get_ref<const std::string&>())); break;
      case FieldForm::count: statement.bind(parameter, value.get<std::int64_t>()); break;
      case FieldForm::cost:
        statement.bind(parameter, value.is_null() ? std::nullopt : std::optional(value.get<double>()));
        break;
      case FieldForm::words:
      case FieldForm::numbers: statement.bind(parameter, std::string_view(value.dump())); break;
    }
  }
}

// A row of select_sql(). Errors: somebody else has written it.
Result<Record> record_of_row(const sqlite::Database& database, const sqlite::Statement& row) {
  Record record;
  int column = 0;
  for (const RecordField& field : record_fields()) {
    Json value;
    switch (field.form) {
      case FieldForm::text: value = row.text(column); break;
      case FieldForm::count: value = row.integer(column); break;
      case FieldForm::cost:
        if (const auto cost = row.real(column)) value = *cost;
        break;
      case FieldForm::words:
      case FieldForm::numbers:
        if (auto parsed = parse_json(row.text(column), field.name); parsed.ok()) value = *std::move(parsed);
        break;
    }
    ++column;
    if (!field.set(record, value))
      return database.problem(fmt::format("it is damaged: in a record of task {:.40}, \"{}\" is not {}", record.task,
                                          field.name, expectation(field.form)),
                              kUseCopy);
  }
  const auto problem = database.problem("", "");
  DOVETAIL_TRY(check_record(record, problem.what, problem.where));
  return record;
}

// ---- The file ----

enum class Content : std::uint8_t { blank, records };

// Error: it is not ours, or made by a later version.
Result<Content> identify(const sqlite::Database& database) {
  DOVETAIL_ASSIGN(auto facts,
                  database.prepare("SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version "
                                   "FROM pragma_user_version), (SELECT count(*) FROM sqlite_master), (SELECT sql FROM "
                                   "sqlite_master WHERE type = 'table' AND name = 'records')"));
  DOVETAIL_TRY(facts.step());
  const std::int64_t application = facts.integer(0), version = facts.integer(1), objects = facts.integer(2);
  if (application == 0 && version == 0 && objects == 0) return Content::blank;
  if (application != kApplicationId)
    return database.problem("it is a SQLite database, but not one of records",
                            "name one that `dovetail records import` has made, or a new file");
  if (version > kDatabaseVersion)
    return database.problem(
        fmt::format("its version is {}, this version of dovetail knows up to {}", version, kDatabaseVersion),
        "use the version of dovetail that has written it, or another file");
  if (version != kDatabaseVersion || facts.text(3) != table_sql())
    return database.problem(fmt::format("it is damaged: its table is not that of version {}", kDatabaseVersion),
                            kUseCopy);
  return Content::records;
}

Result<void> make_table(const sqlite::Database& database) {
  DOVETAIL_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database));
  DOVETAIL_ASSIGN(const Content content, identify(database));  // by now another process may have made it
  if (content == Content::records) return {};
  DOVETAIL_TRY(database.run(table_sql()));
  DOVETAIL_TRY(database.run(fmt::format("PRAGMA application_id = {}", kApplicationId)));
  DOVETAIL_TRY(database.run(fmt::format("PRAGMA user_version = {}", kDatabaseVersion)));
  return transaction.commit();
}

}  // namespace

std::string time_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

struct Records::State {
  sqlite::Database database;

  // `parameters` are those of `sql`, in their order.
  Result<sqlite::Statement> query(const std::string& sql, const std::vector<std::string>& parameters) const {
    DOVETAIL_ASSIGN(auto statement, database.prepare(sql));
    int parameter = 0;
    for (const std::string& text : parameters) statement.bind(++parameter, std::string_view(text));
    return statement;
  }

  // Calls `take` with each row of select_sql(rest). When it returns, the lock is given back.
  Result<void> each(std::string_view rest, const std::vector<std::string>& parameters,
                    const std::function<Result<void>(Record)>& take) const {
    DOVETAIL_ASSIGN(auto rows, query(select_sql(rest), parameters));
    for (;;) {
      DOVETAIL_ASSIGN(const bool there, rows.step());
      if (!there) return {};
      DOVETAIL_ASSIGN(Record record, record_of_row(database, rows));
      DOVETAIL_TRY(take(std::move(record)));
    }
  }

  Result<std::int64_t> count(const std::string& rest, const std::vector<std::string>& parameters = {}) const {
    DOVETAIL_ASSIGN(auto row, query("SELECT count(*) FROM records " + rest, parameters));
    DOVETAIL_TRY(row.step());
    return row.integer(0);
  }

  // In one transaction, what `source` hands to the function that it is called with.
  using Take = std::function<Result<void>(const Record&)>;
  Result<void> write(Present present, const std::function<Result<void>(const Take&)>& source) const {
    DOVETAIL_ASSIGN(auto transaction, sqlite::Transaction::begin(database));
    {
      DOVETAIL_ASSIGN(auto insert, database.prepare(insert_sql(present)));
      DOVETAIL_TRY(source([&](const Record& record) -> Result<void> {
        const auto problem = database.problem("", "");
        DOVETAIL_TRY(check_record(record, problem.what, problem.where));
        bind_record(insert, record);
        DOVETAIL_TRY(insert.step());
        insert.reset();
        return {};
      }));
    }
    return transaction.commit();
  }

  Result<Merged> merge(const std::function<Result<void>(const Take&)>& source) const {
    Merged merged;
    DOVETAIL_TRY(write(Present::replaced_by_later, [&](const Take& take) -> Result<void> {
      DOVETAIL_ASSIGN(const std::int64_t before, count(""));
      const std::int64_t changes_before = database.changes();
      DOVETAIL_TRY(source(take));
      DOVETAIL_ASSIGN(const std::int64_t after, count(""));
      merged.added = after - before;
      merged.replaced = database.changes() - changes_before - merged.added;
      return {};
    }));
    return merged;
  }
};

Records::Records(std::unique_ptr<State> state) : state_(std::move(state)) {}
Records::Records(Records&&) noexcept = default;
Records& Records::operator=(Records&&) noexcept = default;
Records::~Records() = default;

Result<Records> Records::open(const std::filesystem::path& path, Open mode) {
  const sqlite::Access access = mode == Open::write ? sqlite::Access::write : sqlite::Access::read;
  DOVETAIL_ASSIGN(sqlite::Database database, sqlite::Database::open(path, access));
  DOVETAIL_ASSIGN(const Content content, identify(database));
  if (content == Content::blank) {
    if (mode == Open::read)
      return database.problem("it is empty", "`dovetail records import` and `merge` make databases of records");
    DOVETAIL_TRY(make_table(database));
  }
  return Records(std::make_unique<State>(State{std::move(database)}));
}

Result<void> Records::add(const std::vector<Record>& records) {
  if (records.empty()) return {};
  return state_->write(Present::replaced, [&](const State::Take& take) -> Result<void> {
    for (const Record& record : records) DOVETAIL_TRY(take(record));
    return {};
  });
}

Result<Records::Best> Records::best(const std::string& task, const std::string& machine, int sketch_version) const {
  const std::vector<std::string> parameters{task, machine};
  const std::string other = fmt::format("WHERE task = ?1 AND machine = ?2 AND sketch_version <> {}", sketch_version);
  Best best;
  DOVETAIL_TRY(state_->each(fmt::format("WHERE task = ?1 AND machine = ?2 AND sketch_version = {} AND cost IS NOT NULL "
                                        "ORDER BY {} LIMIT 1",
                                        sketch_version, kBestFirst),
                            parameters, [&](Record record) -> Result<void> {
                              best.record = std::move(record);
                              return {};
                            }));
  DOVETAIL_ASSIGN(best.of_other_sketches, state_->count(other, parameters));
  return best;
}

Result<std::vector<Record>> Records::all(const std::string& task) const {
  std::vector<Record> records;
  const bool of_one = !task.empty();
  DOVETAIL_TRY(state_->each(
      fmt::format("{}ORDER BY task, machine, {}, sketch_version", of_one ? "WHERE task = ? " : "", kBestFirst),
      of_one ? std::vector{task} : std::vector<std::string>{}, [&](Record record) -> Result<void> {
        records.push_back(std::move(record));
        return {};
      }));
  return records;
}

Result<std::vector<Records::Summary>> Records::summaries() const {
  std::vector<Summary> all;
  DOVETAIL_ASSIGN(auto rows,
                  state_->query(fmt::format("SELECT task, machine, target, kind, name, unit, sketch_version, "
                                            "outcome, cost, default_cost, time FROM records ORDER BY task, "
                                            "machine, sketch_version, {}",
                                            kBestFirst),
                                {}));
  for (;;) {
    DOVETAIL_ASSIGN(const bool there, rows.step());
    if (!there) return all;
    const auto outcome = outcome_named(rows.text(7));
    if (!outcome)
      return state_->database.problem(fmt::format("it is damaged: there is no outcome \"{:.40}\"", rows.text(7)),
                                      kUseCopy);
    Summary of_row{rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5)};
    of_row.sketch_version = static_cast<int>(rows.integer(6));
    of_row.cost = rows.real(8).value_or(of_row.cost);
    of_row.default_cost = rows.real(9).value_or(of_row.default_cost);
    const auto group = [](const Summary& summary) {
      return std::tie(summary.task, summary.machine, summary.sketch_version);
    };
    if (all.empty() || group(all.back()) != group(of_row)) all.push_back(std::move(of_row));  // its best comes first
    ++all.back().outcomes[*outcome];
    all.back().time = std::max(all.back().time, rows.text(10));
  }
}

Result<Records::Merged> Records::merge(const std::vector<Record>& records) {
  return state_->merge([&](const State::Take& take) -> Result<void> {
    for (const Record& record : records) DOVETAIL_TRY(take(record));
    return {};
  });
}

Result<Records::Merged> Records::merge(const Records& other) {
  return state_->merge([&](const State::Take& take) { return other.state_->each("", {}, take); });
}

}  // namespace dovetail::tune
