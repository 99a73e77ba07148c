#include "compiler/tune/records.h"

#include <algorithm>
#include <functional>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "compiler/tune/record_fields.h"
#include "compiler/tune/record_table.h"
#include "compiler/tune/sqlite.h"

namespace dovetail::tune {

namespace {

constexpr int kFormerVersion = 1;                    // it is read, and rewritten when it is opened for writing
constexpr std::int64_t kApplicationId = 0x44765452;  // "DvTR": distinguishes records from other databases

// ---- The file ----

enum class Content : std::uint8_t { blank, records, former };

// PRAGMA user_version is the version of the table. Error: it is not a records database, or it has a later version.
Result<Content> identify(const sqlite::Database& database, const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(auto facts, database.prepare("SELECT application_id, user_version, page_count * page_size, (SELECT "
                                               "count(*) FROM sqlite_master), (SELECT sql FROM sqlite_master WHERE "
                                               "type = 'table' AND name = 'records') FROM pragma_application_id, "
                                               "pragma_user_version, pragma_page_count, pragma_page_size"));
  DOVETAIL_TRY(facts.step());
  const std::int64_t application = facts.integer(0), version = facts.integer(1), bytes = facts.integer(2),
                     objects = facts.integer(3);
  if (application == 0 && version == 0 && objects == 0) return Content::blank;
  if (application != kApplicationId)
    return database.problem(
        "the file is a SQLite database, but not one of tuning records",
        "give a database made by `dovetail records import`, or a new file; for a sweep of `dovetail "
        "explore`, read points.csv in the same folder");
  if (version > kRecordVersion)
    return database.problem(fmt::format("the database has version {}, but this version of dovetail reads up to {}",
                                        version, kRecordVersion),
                            "use the version of dovetail that wrote it, or another file");
  const bool is_former = version == kFormerVersion;
  if ((version != kRecordVersion && !is_former) || facts.text(4) != records_table_sql(static_cast<int>(version)))
    return database.problem(fmt::format("the database is damaged: its table is not that of version {}",
                                        is_former ? kFormerVersion : kRecordVersion),
                            kUseCopy);
  // SQLite treats missing bytes of the last page as zeros.
  std::error_code error;
  const std::uintmax_t there = std::filesystem::file_size(path, error);
  if (!error && there < static_cast<std::uintmax_t>(bytes))
    return database.problem(fmt::format("the database is damaged: it has {} bytes of {}", there, bytes), kUseCopy);
  return is_former ? Content::former : Content::records;
}

Result<void> make_table(const sqlite::Database& database, const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database));
  DOVETAIL_ASSIGN(const Content content, identify(database, path));  // another process may have created it meanwhile
  if (content == Content::records) return {};
  if (content == Content::former) DOVETAIL_TRY(database.run("ALTER TABLE records RENAME TO former"));
  DOVETAIL_TRY(database.run(records_table_sql()));
  if (content == Content::former) {
    DOVETAIL_TRY(database.run("INSERT INTO records " + select_former_sql(kFormerVersion, "former")));
    DOVETAIL_TRY(database.run("DROP TABLE former"));
  }
  DOVETAIL_TRY(database.run(fmt::format("PRAGMA application_id = {}", kApplicationId)));
  DOVETAIL_TRY(database.run(fmt::format("PRAGMA user_version = {}", kRecordVersion)));
  return transaction.commit();
}

}  // namespace

std::string time_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

struct Records::State {
  sqlite::Database database;

  // `parameters` are those of `sql`, in order.
  Result<sqlite::Statement> query(const std::string& sql, const std::vector<std::string>& parameters) const {
    DOVETAIL_ASSIGN(auto statement, database.prepare(sql));
    int parameter = 0;
    for (const std::string& text : parameters) statement.bind(++parameter, std::string_view(text));
    return statement;
  }

  // Calls `take` with each row of select_records_sql(rest). The lock is released on return.
  Result<void> each(std::string_view rest, const std::vector<std::string>& parameters,
                    const std::function<Result<void>(Record)>& take) const {
    DOVETAIL_ASSIGN(auto rows, query(select_records_sql(rest), parameters));
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

  // Adds, in one transaction, the records that `source` passes to the function it is called with.
  using Take = std::function<Result<void>(const Record&)>;
  Result<void> write(IfPresent if_present, const std::function<Result<void>(const Take&)>& source) const {
    DOVETAIL_ASSIGN(auto transaction, sqlite::Transaction::begin(database));
    {
      DOVETAIL_ASSIGN(auto insert, database.prepare(insert_record_sql(if_present)));
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
    DOVETAIL_TRY(write(IfPresent::replace_by_later, [&](const Take& take) -> Result<void> {
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
  DOVETAIL_ASSIGN(const Content content, identify(database, path));
  if (content == Content::blank && mode == Open::read)
    return database.problem("the database is empty", "create a database with `dovetail records import` or `merge`");
  if (mode == Open::write && content != Content::records) DOVETAIL_TRY(make_table(database, path));
  // The queries then read this view in place of the table, which stays as it is.
  if (mode == Open::read && content == Content::former)
    DOVETAIL_TRY(database.run("PRAGMA query_only = OFF; CREATE TEMP VIEW records AS " +
                              select_former_sql(kFormerVersion, "main.records") + "; PRAGMA query_only = ON"));
  return Records(std::make_unique<State>(State{std::move(database)}));
}

Result<void> Records::add(const std::vector<Record>& records) {
  if (records.empty()) return {};
  return state_->write(IfPresent::replace, [&](const State::Take& take) -> Result<void> {
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
                                        sketch_version, kBestRecordFirst),
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
      fmt::format("{}ORDER BY task, machine, {}, sketch_version", of_one ? "WHERE task = ? " : "", kBestRecordFirst),
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
                                            kBestRecordFirst),
                                {}));
  for (;;) {
    DOVETAIL_ASSIGN(const bool there, rows.step());
    if (!there) return all;
    const auto outcome = outcome_named(rows.text(7));
    if (!outcome)
      return state_->database.problem(fmt::format("the database is damaged: unknown outcome \"{:.40}\"", rows.text(7)),
                                      kUseCopy);
    Summary of_row{rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4), rows.text(5)};
    of_row.sketch_version = static_cast<int>(rows.integer(6));
    of_row.cost = rows.real(8).value_or(of_row.cost);
    of_row.default_cost = rows.real(9).value_or(of_row.default_cost);
    const auto group = [](const Summary& summary) {
      return std::tie(summary.task, summary.machine, summary.sketch_version);
    };
    if (all.empty() || group(all.back()) != group(of_row))
      all.push_back(std::move(of_row));  // its best record comes first
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

Result<Records::Merged> Records::merge(std::span<const Records> others) {
  return state_->merge([&](const State::Take& take) -> Result<void> {
    for (const Records& other : others) DOVETAIL_TRY(other.state_->each("", {}, take));
    return {};
  });
}

}  // namespace dovetail::tune
