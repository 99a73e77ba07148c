// The database: added records are found, the best is found, and foreign files are not changed.
#include "compiler/tune/records.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sqlite3.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/random.h"
#include "tests/catch.h"
#include "tests/ordinary_user.h"
#include "tests/temporary_folder.h"
#include "tests/unit/compiler/tune/sample_record.h"

using namespace dovetail;
using namespace dovetail::tune;
using Catch::Matchers::ContainsSubstring;
using test::sample_failure;
using test::sample_record;
using test::TemporaryFolder;
using Open = Records::Open;
namespace fs = std::filesystem;

namespace {

Records opened(const fs::path& path, Open mode = Open::write) {
  auto records = Records::open(path, mode);
  INFO(path);
  if (!records.ok()) FAIL(to_string(records.errors()));
  return *std::move(records);
}
std::vector<Records> only(Records records) {
  std::vector<Records> list;
  list.push_back(std::move(records));
  return list;
}
Diagnostic refused(const fs::path& path, Open mode) {
  const auto records = Records::open(path, mode);
  REQUIRE_FALSE(records.ok());
  REQUIRE(records.errors().size() == 1);
  CHECK(records.errors()[0].where == path.string());
  CHECK(records.errors()[0].hint != "");
  return records.errors()[0];
}

void run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  const int status = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  INFO(sql << ": " << sqlite3_errmsg(database));
  CHECK(status == SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace

TEST_CASE("records: among times the smallest share of the default's time is best, among cycles the fewest") {
  const TemporaryFolder folder;
  auto records = Records::open(folder / "r.db", Records::Open::write);
  REQUIRE(records.ok());
  for (const std::string unit : {"ns", "cycles"}) {
    Record on_a_slow_day = sample_record(1, 150), on_a_fast_one = sample_record(2, 100);
    on_a_slow_day.task = on_a_fast_one.task = unit;
    on_a_slow_day.unit = on_a_fast_one.unit = unit;
    on_a_fast_one.default_cost = 100;
    REQUIRE(records->add({on_a_slow_day, on_a_fast_one}).ok());
    const auto best = records->best(unit, on_a_slow_day.machine, on_a_slow_day.sketch_version);
    REQUIRE(best.ok());
    REQUIRE(best->record);
    CHECK(best->record->decisions == (unit == "ns" ? on_a_slow_day : on_a_fast_one).decisions);
  }
}

TEST_CASE("records: added records are found after the file was closed, by task, machine and cost") {
  const TemporaryFolder folder;
  const fs::path path = folder / "new/folder/r.db";
  Record other_task = sample_record(9, 1);
  other_task.task = "f";
  Record slow = sample_record(1, 1.0 / 3);
  slow.name = "a name\nof \"two\" lines, ü \xff";  // a name may come from a model, and have any characters
  const std::vector<Record> added{sample_failure(3, Outcome::timed_out), sample_record(2, 0.25), slow, other_task};
  REQUIRE(opened(path).add(added).ok());
  REQUIRE(opened(path).add({}).ok());
  const Records records = opened(path, Open::read);
  CHECK(records.all().value() == std::vector<Record>{added[1], added[2], added[0], added[3]});
  CHECK(records.all("f").value() == std::vector<Record>{other_task});
  CHECK(records.all("0123").value().empty());
  CHECK(fs::exists(path));
  CHECK(std::distance(fs::directory_iterator(folder / "new/folder"), fs::directory_iterator()) == 1);
}

TEST_CASE("records: the last measurement of a candidate counts") {
  const TemporaryFolder folder;
  Records records = opened(folder / "r.db");
  REQUIRE(records.add({sample_record(1, 10), sample_record(2, 20)}).ok());
  Record again = sample_record(1, 30);
  again.search = "random";
  again.time = "2020-01-01T00:00:00Z";
  REQUIRE(records.add({again}).ok());
  CHECK(records.all().value() == std::vector<Record>{sample_record(2, 20), again});

  Record other_machine = again, other_sketch = again, other_decisions = again;
  other_machine.machine = "another";
  ++other_sketch.sketch_version;
  other_decisions.decisions["more"] = "yes";
  REQUIRE(records.add({other_machine, other_sketch, other_decisions}).ok());
  CHECK(records.all().value().size() == 5);
}

TEST_CASE("records: the best of a task, machine and sketch, and the number of other sketches with records") {
  const TemporaryFolder folder;
  Records records = opened(folder / "r.db");
  const Record best = sample_record(4, 10);
  Record other_machine = sample_record(5, 1), old = sample_record(6, 2), older = sample_record(7, 3);
  other_machine.machine = "another";
  old.sketch_version = 1;
  older.sketch_version = 0;
  REQUIRE(records
              .add({sample_record(1, 30), best, sample_record(5, 10), sample_failure(2, Outcome::wrong), other_machine,
                    old, older})
              .ok());
  const auto found = records.best(best.task, best.machine, 2).value();
  CHECK(found.record == best);  // tile=5 costs the same: the first by its decisions
  CHECK(found.of_other_sketches == 2);
  CHECK(records.best(best.task, best.machine, 1).value().record == old);
  CHECK(records.best(best.task, "another", 2).value().of_other_sketches == 0);
  const auto none = records.best(best.task, best.machine, 3).value();
  CHECK_FALSE(none.record);
  CHECK(none.of_other_sketches == 6);
  CHECK_FALSE(records.best("none", best.machine, 2).value().record);
}

TEST_CASE("records: summaries count outcomes, and name the best") {
  const TemporaryFolder folder;
  Records records = opened(folder / "r.db");
  Record best = sample_record(4, 10), late = sample_failure(5, Outcome::crashed),
         old = sample_failure(6, Outcome::wrong);
  best.default_cost = 77;
  late.time = "2026-07-02T00:00:00Z";
  old.sketch_version = 1;
  REQUIRE(records.add({sample_record(1, 30), best, late, old}).ok());
  const auto summaries = records.summaries().value();
  REQUIRE(summaries.size() == 2);
  CHECK(summaries[0].sketch_version == 1);
  CHECK(std::isinf(summaries[0].cost));
  CHECK(summaries[1].outcomes == std::map<Outcome, std::int64_t>{{Outcome::measured, 2}, {Outcome::crashed, 1}});
  CHECK(summaries[1].cost == 10);
  CHECK(summaries[1].default_cost == 77);
  CHECK(summaries[1].time == late.time);
  CHECK(summaries[1].name == "conv1");
}

TEST_CASE("records: merging takes new records, and the later of two") {
  const TemporaryFolder folder;
  const auto at = [](Record record, const std::string& time) {
    record.time = time;
    return record;
  };
  const std::string early = "2026-07-01T00:00:00Z", late = "2026-07-02T00:00:00Z";
  Records a = opened(folder / "a.db"), b = opened(folder / "b.db");
  REQUIRE(a.add({at(sample_record(1, 10), early), at(sample_record(2, 20), late), at(sample_record(3, 30), early),
                 at(sample_record(5, 50), "")})
              .ok());
  REQUIRE(b.add({at(sample_record(1, 11), late), at(sample_record(2, 21), early), at(sample_record(3, 31), early),
                 at(sample_record(4, 41), ""), at(sample_record(5, 51), early)})
              .ok());
  const auto merged = a.merge(only(opened(folder / "b.db", Open::read))).value();
  CHECK(merged.added == 1);
  CHECK(merged.replaced == 2);
  CHECK(a.all().value() == std::vector<Record>{at(sample_record(1, 11), late), at(sample_record(2, 20), late),
                                               at(sample_record(3, 30), early), at(sample_record(4, 41), ""),
                                               at(sample_record(5, 51), early)});
  // Again, and with itself: nothing is new.
  for (const Records* other : {&b, &a}) {
    const auto again = a.merge(std::span(other, 1)).value();
    CHECK(again.added + again.replaced == 0);
  }
  const auto self = a.merge(only(opened(folder / "a.db", Open::read))).value();
  CHECK(self.added + self.replaced == 0);
}

TEST_CASE("records: several databases are merged completely, or not at all") {
  const TemporaryFolder folder;
  std::vector<Records> others;
  for (int i = 1; i <= 3; ++i) {
    others.push_back(opened(folder / (std::to_string(i) + ".db")));
    REQUIRE(others.back().add({sample_record(i), sample_record(i + 1)}).ok());
  }
  Records records = opened(folder / "r.db");
  run_sql(folder / "3.db", "UPDATE records SET features = '-'");
  CHECK_THAT(to_string(records.merge(others).errors()),
             ContainsSubstring("3.db): the database is damaged: in a record"));
  CHECK(records.all().value().empty());
  run_sql(folder / "3.db", "UPDATE records SET features = '[]'");
  const auto merged = records.merge(others).value();
  CHECK(merged.added == 4);
  CHECK(merged.replaced == 0);
}

TEST_CASE("records: the table has version 2") {
  // A changed table needs a new version, and code that reads this one.
  const TemporaryFolder folder;
  opened(folder / "r.db");
  const std::vector<std::byte> bytes = read_file(folder / "r.db").value();
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK_THAT(
      std::string(content),
      ContainsSubstring(
          "CREATE TABLE records (task TEXT NOT NULL, machine TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT "
          "NULL, name TEXT NOT NULL, sketch_version INTEGER NOT NULL, decisions TEXT NOT NULL, unit TEXT NOT NULL, "
          "outcome TEXT NOT NULL, cost REAL, default_cost REAL, why TEXT NOT NULL, search TEXT NOT NULL, time TEXT "
          "NOT NULL, conditions TEXT NOT NULL, feature_version INTEGER NOT NULL, features TEXT NOT NULL, trace TEXT "
          "NOT NULL, PRIMARY KEY (task, machine, sketch_version, decisions)) STRICT"));
}

TEST_CASE("records: a database of version 1 is read as it is, and rewritten when records are added") {
  const TemporaryFolder folder;
  const fs::path path = folder / "r.db";
  run_sql(path,
          "CREATE TABLE records (task TEXT NOT NULL, machine TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, "
          "name TEXT NOT NULL, sketch_version INTEGER NOT NULL, decisions TEXT NOT NULL, unit TEXT NOT NULL, outcome "
          "TEXT NOT NULL, cost REAL, default_cost REAL, why TEXT NOT NULL, search TEXT NOT NULL, time TEXT NOT NULL, "
          "feature_version INTEGER NOT NULL, features TEXT NOT NULL, trace TEXT NOT NULL, PRIMARY KEY (task, machine, "
          "sketch_version, decisions)) STRICT; PRAGMA user_version = 1; PRAGMA application_id = 1148605522;"
          "INSERT INTO records VALUES ('0123456789abcdef', 'cycle simulator, ideal memory', 'accel', 'convolution', "
          "'conv1', 2, '{\"order\":\"y,x\",\"tile\":\"7\"}', 'cycles', 'measured', 100.0, 200.0, '', 'evolutionary', "
          "'2026-07-01T12:00:00Z', " +
              std::to_string(kFeatureVersion) +
              ", '[0.0,1.5,-2.25,1e+300,0.1]', 'sample tile among 1,2 = 1\nsplit y $tile -> yo yi\n')");
  const auto before = read_file(path).value();
  {
    const Records records = opened(path, Open::read);
    CHECK(records.all().value() == std::vector{sample_record(7)});
    CHECK(records.best(sample_record(7).task, sample_record(7).machine, 2).value().record == sample_record(7));
    CHECK(records.summaries().value().size() == 1);
  }
  CHECK(read_file(path).value() == before);
  Record later = sample_record(8, 300);
  later.conditions = "governor performance";
  REQUIRE(opened(path).add({later}).ok());
  CHECK(opened(path, Open::read).all().value() == std::vector{sample_record(7), later});
}

TEST_CASE("records: a record that contradicts itself is refused, and with it the others of its batch") {
  const TemporaryFolder folder;
  Records records = opened(folder / "r.db");
  Record bad = sample_record(2);
  SECTION("cost") { bad.cost = 0; }
  SECTION("NaN") { bad.cost = std::nan(""); }
  SECTION("feature") { bad.features.push_back(std::numeric_limits<double>::infinity()); }
  SECTION("decision") { bad.decisions["tile"] = "\xff"; }
  SECTION("time") { bad.time = "noon"; }
  CHECK_FALSE(records.add({sample_record(1), bad}).ok());
  CHECK_FALSE(records.merge(std::vector{sample_record(1), bad}).ok());
  CHECK(records.all().value().empty());
  CHECK(records.add({sample_record(1)}).ok());  // the refused record left no transaction open
}

TEST_CASE("records: a foreign file is refused, and not changed") {
  const TemporaryFolder folder;
  const fs::path path = folder / "r.db";
  std::string why;
  SECTION("another SQLite database") {
    run_sql(path, "CREATE TABLE records (a)");
    why = "the file is a SQLite database, but not one of tuning records";
  }
  SECTION("a database marked by another program") {
    run_sql(path, "PRAGMA application_id = 7");
    why = "the file is a SQLite database, but not one of tuning records";
  }
  SECTION("a later version") {
    opened(path);
    run_sql(path, "PRAGMA user_version = 3");
    why = "the database has version 3, but this version of dovetail reads up to 2";
  }
  SECTION("another table") {
    opened(path);
    run_sql(path, "ALTER TABLE records ADD COLUMN more TEXT");
    why = "the database is damaged: its table is not that of version 2";
  }
  SECTION("a view instead of the table") {
    opened(path);
    run_sql(path, "DROP TABLE records; CREATE VIEW records AS SELECT 1 AS task");
    why = "the database is damaged: its table is not that of version 2";
  }
  SECTION("no database") {
    REQUIRE(write_text_file(path, std::string(5000, 'x')).ok());
    why = "the file is not a database";
  }
  SECTION("a short text") {
    REQUIRE(write_text_file(path, "{}\n").ok());
    why = "the file is not a database";
  }
  SECTION("cut short") {
    REQUIRE(opened(path).add({sample_record(1), sample_record(2)}).ok());
    fs::resize_file(path, fs::file_size(path) - 4096);
    why = "the database is damaged: database disk image is malformed";
  }
  SECTION("cut short within its last page") {
    REQUIRE(opened(path).add({sample_record(1)}).ok());
    fs::resize_file(path, fs::file_size(path) - 1);
    why = "the database is damaged: it has 12287 bytes of 12288";
  }
  SECTION("a page overwritten") {
    opened(path);
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(100) << std::string(200, '\xff');
    why = "the database is damaged: ";
  }
  const auto before = read_file(path).value();
  for (const Open mode : {Open::read, Open::write}) {
    CHECK_THAT(refused(path, mode).why, ContainsSubstring(why));
    CHECK(read_file(path).value() == before);
  }
}

TEST_CASE("records: a field that another program has changed is reported, with its name") {
  const TemporaryFolder folder;
  const fs::path path = folder / "r.db";
  REQUIRE(opened(path).add({sample_record(1)}).ok());
  std::string why;
  SECTION("decisions") {
    run_sql(path, "UPDATE records SET decisions = '{'");
    why = "\"decisions\" is not an object of strings";
  }
  SECTION("outcome") {
    run_sql(path, "UPDATE records SET outcome = 'odd'");
    why = "\"outcome\" is not a string";
    CHECK_THAT(to_string(opened(path).summaries().errors()), ContainsSubstring("unknown outcome \"odd\""));
  }
  SECTION("cost") {
    run_sql(path, "UPDATE records SET cost = NULL");
    why = "the outcome is measured, but the cost is inf";
  }
  SECTION("version") {
    run_sql(path, "UPDATE records SET sketch_version = 1 << 40");
    why = "\"sketch_version\" is not an integer >= 0";
  }
  SECTION("an unused text") {
    run_sql(path, "UPDATE records SET why = hex(zeroblob(9000000))");
    why = "longer than 16777216 bytes";
  }
  CHECK_THAT(to_string(opened(path, Open::read).all().errors()), ContainsSubstring(why));
  Records other = opened(folder / "other.db");
  CHECK_FALSE(other.merge(only(opened(path, Open::read))).ok());
  CHECK(other.all().value().empty());
}

TEST_CASE("records: randomly changed bytes are accepted or reported, and never crash") {
  const TemporaryFolder folder;
  const fs::path path = folder / "r.db", changed = folder / "changed.db";
  for (int i = 0; i < 10; ++i) REQUIRE(opened(path).add({sample_record(i, i + 1)}).ok());
  const std::vector<std::byte> sound = read_file(path).value();
  SplitMix64 random(1);
  int taken = 0, reported = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::byte> bytes = sound;
    for (int change = 0; change < 3; ++change)
      bytes[random.next() % bytes.size()] = static_cast<std::byte>(random.next());
    REQUIRE(write_file(changed, bytes).ok());
    const auto records = Records::open(changed, Open::read);
    const bool whole = records.ok() && records->all().ok() && records->summaries().ok() &&
                       records->best(sample_record(1).task, sample_record(1).machine, 2).ok();
    ++(whole ? taken : reported);
  }
  CHECK(taken > 10);
  CHECK(reported > 10);
}

TEST_CASE("records: triggers of a database do not run") {
  const TemporaryFolder folder;
  const fs::path path = folder / "r.db";
  opened(path);
  run_sql(path, "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END");
  REQUIRE(opened(path).add({sample_record(1)}).ok());
  CHECK(opened(path).all().value().size() == 1);
}

TEST_CASE("records: an empty file has no records, and becomes a database when it is written") {
  const TemporaryFolder folder;
  const fs::path path = folder / "r.db";
  REQUIRE(write_text_file(path, "").ok());
  CHECK_THAT(refused(path, Open::read).why, ContainsSubstring("the database is empty"));
  CHECK(fs::file_size(path) == 0);
  opened(path);
  CHECK(opened(path, Open::read).all().value().empty());
}

TEST_CASE("records: paths that are not files are refused, and names with a meaning in SQLite are plain names") {
  const TemporaryFolder folder;
  for (const Open mode : {Open::read, Open::write}) {
    CHECK(refused(folder.path(), mode).why == "the path is a directory");
    CHECK(refused("", mode).why == "the path is empty");
    CHECK(refused("/dev/null", mode).why == "the path is a device or a pipe");
  }
  CHECK(refused(folder / "none", Open::read).why == "no such file");
  CHECK_FALSE(fs::exists(folder / "none"));
  REQUIRE(write_text_file(folder / "file", "").ok());
  CHECK_THAT(refused(folder / "file/r.db", Open::write).why, ContainsSubstring("cannot create its folder"));

  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const fs::path name : {":memory:", "file:r.db?mode=memory", "%41 ?#"}) {
    REQUIRE(opened(name).add({sample_record(1)}).ok());
    CHECK(fs::exists(folder / name));
    CHECK(opened(name, Open::read).all().value().size() == 1);
  }
  fs::current_path(before);
}

TEST_CASE("records: a user who may only read the file and its folder can read, and gets an error when writing") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "d");
  const fs::path path = folder / "d/r.db";
  REQUIRE(opened(path).add({sample_record(1)}).ok());
  const test::OrdinaryUser user;
  fs::permissions(folder / "d", fs::perms(0555));
  CHECK_THAT(refused(path, Open::write).why,
             ContainsSubstring("no permission to write to its folder: Permission denied"));
  fs::permissions(path, fs::perms(0444));
  CHECK(opened(path, Open::read).all().value() == std::vector{sample_record(1)});
  CHECK(refused(folder / "d/new.db", Open::write).cause == Cause::input);
  CHECK_FALSE(opened(path, Open::read).add({sample_record(2)}).ok());
  fs::permissions(folder / "d", fs::perms(0755));
  CHECK(refused(path, Open::write).why == "no permission to write it");
  fs::permissions(path, fs::perms(0));
  CHECK_THAT(refused(path, Open::read).why, ContainsSubstring("Permission denied"));
}

TEST_CASE("records: a full disk is a lack of resources, and loses no record") {
  const TemporaryFolder folder;
  const fs::path path = folder / "r.db";
  Records records = opened(path);
  REQUIRE(records.add({sample_record(1)}).ok());
  Record large = sample_record(2);
  large.trace = std::string(1 << 20, 'x');
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 18, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto added = records.add({sample_record(3), large});
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(added.ok());
  INFO(to_string(added.errors()));
  CHECK(cause_of(added.errors()) == Cause::resource);
  CHECK(records.all().value() == std::vector{sample_record(1)});
  CHECK(records.add({large}).ok());
}

TEST_CASE("records: times are texts in UTC") {
  CHECK(time_text(std::chrono::system_clock::from_time_t(1782907200)) == "2026-07-01T12:00:00Z");
}
