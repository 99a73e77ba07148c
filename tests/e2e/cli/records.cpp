// dovetail records: list, show, merge, export and import, and the inputs that they refuse.
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "compiler/tune/records.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/unit/compiler/tune/sample_record.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::sample_failure;
using test::sample_record;
using tune::Outcome;
using tune::Record;
using tune::Records;
namespace fs = std::filesystem;

namespace {

std::string database(const fs::path& path, const std::vector<Record>& records) {
  REQUIRE(Records::open(path, Records::Open::write).value().add(records).ok());
  return path;
}
std::vector<Record> records_of(const fs::path& path) {
  const auto records = Records::open(path, Records::Open::read);
  REQUIRE(records.ok());
  return records->all().value();
}
Record of_task(Record record, const std::string& task) {
  record.task = task;
  return record;
}
std::string line_of(const Record& record) { return to_json(record).dump() + "\n"; }

void check_records_refused(const Finished& finished, const std::string& why, int exit = 2) {
  INFO(finished.out << finished.error);
  CHECK(finished.exit == exit);
  CHECK(finished.error.starts_with("error: "));
  CHECK_THAT(finished.error, ContainsSubstring(why) && ContainsSubstring("Hint: "));
}

}  // namespace

TEST_CASE("records list has a line for each task, machine and sketch") {
  const test::TemporaryFolder folder;
  Record old = sample_record(3, 4000);
  old.sketch_version = 1;
  old.default_cost = 5000;
  const std::string path =
      database(folder / "r.db", {sample_record(1, 160), sample_record(2, 0.125), sample_failure(3, Outcome::wrong), old,
                                 of_task(sample_failure(1, Outcome::crashed), "ffff")});
  const Finished listed = test::dovetail({"records", "list", path});
  REQUIRE(listed.exit == 0);
  const Finished inspected = test::dovetail({"inspect", path});
  CHECK(inspected.exit == 0);
  CHECK_THAT(inspected.out, ContainsSubstring("of tuning: 2 tasks, 5 candidates, 3 of them measured"));
  const std::string machine = "conv1  cycle simulator, ideal memory";
  CHECK_THAT(listed.out, ContainsSubstring("0123456789abcdef  accel   convolution  " + machine +
                                           "       1        1         1    5,000  4,000  cycles     1.250\n"));
  CHECK_THAT(listed.out, ContainsSubstring("       2        3         2      200  0.125  cycles  1600.000\n"));
  CHECK_THAT(listed.out, ContainsSubstring("       2        1         0      200      -  cycles         -\n"));
  CHECK(std::ranges::count(listed.out, '\n') == 5);
  CHECK(std::ranges::count(test::dovetail({"records", "list", path, "--task", "f"}).out, '\n') == 3);

  const Json json = parse_json(test::dovetail({"records", "list", path, "--json"}).out, "list").value();
  REQUIRE(json.size() == 3);
  CHECK(json[1]["cost"] == 0.125);
  CHECK(json[1]["outcomes"]["measured"] == 2);
  CHECK(json[1]["outcomes"]["wrong"] == 1);
  CHECK(json[2]["cost"] == nullptr);
}

TEST_CASE("records show prints the best candidate of a task with its trace, and all candidates") {
  const test::TemporaryFolder folder;
  Record other_machine = sample_record(7, 90);
  other_machine.machine = "another";
  const std::string path =
      database(folder / "r.db", {sample_record(1, 160), sample_record(2, 80), other_machine,
                                 sample_failure(3, Outcome::timed_out), of_task(sample_record(1), "0199")});
  const Finished shown = test::dovetail({"records", "show", path, "0123"});
  REQUIRE(shown.exit == 0);
  CHECK_THAT(shown.out,
             ContainsSubstring("task          0123456789abcdef: accel convolution, conv1\n"
                               "machine       cycle simulator, ideal memory; sketch version 2\n"
                               "records       3: 2 measured, 1 timed_out\n"
                               "default       200 cycles\n"
                               "best          80 cycles, gain 2.500\n"
                               "              order=y,x tile=2\n\n"
                               "trace of the best candidate\n  sample tile among 1,2 = 1\n  split y $tile -> yo yi\n"));
  CHECK_THAT(shown.out,
             ContainsSubstring("\n   160  1.250  measured   evolutionary  2026-07-01T12:00:00Z  order=y,x tile=1\n"));
  CHECK_THAT(shown.out,
             ContainsSubstring(
                 "\n     -      -  timed_out  evolutionary  2026-07-01T12:00:00Z  order=y,x tile=3  it ended\n"));
  CHECK_THAT(shown.out, ContainsSubstring("machine       another; sketch version 2\nrecords       1: 1 measured\n"));
  const Json json = parse_json(test::dovetail({"records", "show", path, "0123", "--json"}).out, "show").value();
  REQUIRE(json.size() == 2);
  CHECK(json[0]["machine"] == "another");
  CHECK(json[1]["candidates"].size() == 3);
  CHECK(tune::record_from_json(json[1]["candidates"][0]).value() == sample_record(2, 80));

  check_records_refused(test::dovetail({"records", "show", path, "01"}), "the key may mean 0123456789abcdef or 0199");
  check_records_refused(test::dovetail({"records", "show", path, "7"}), "has no record of this task");
}

TEST_CASE("records export and import give the same database") {
  const test::TemporaryFolder folder;
  const std::vector<Record> records{sample_record(2, 1.0 / 3), sample_record(1, 160),
                                    sample_failure(3, Outcome::refused), of_task(sample_record(1), "ffff")};
  const std::string path = database(folder / "r.db", records), lines = folder / "r.jsonl", copy = folder / "copy.db";
  REQUIRE(test::dovetail({"records", "export", path, "-o", lines}).exit == 0);
  CHECK(read_text_file(lines).value() ==
        line_of(records[0]) + line_of(records[1]) + line_of(records[2]) + line_of(records[3]));
  CHECK(test::dovetail({"records", "export", path}).out == read_text_file(lines).value());
  CHECK(test::dovetail({"records", "export", path, "--task", "ff"}).out == line_of(records[3]));
  CHECK(test::dovetail({"records", "import", copy, lines}).out ==
        "records       " + copy + ": 4 added, 0 replaced by later ones\n");
  CHECK(records_of(copy) == records);
  CHECK_THAT(test::dovetail({"records", "import", copy, lines}).out, ContainsSubstring(": 0 added, 0 replaced"));
  check_records_refused(test::dovetail({"records", "export", path, "-o", path}),
                        "-o would overwrite the file that DB reads");

  // A name with characters that are unsafe in a terminal or a line of text is preserved.
  Record evil = sample_record(1);
  evil.name = "a\x1b[31m\n\x7f\xe2\x80\xae";
  const Finished printed = test::dovetail({"records", "export", database(folder / "evil.db", {evil})});
  CHECK(printed.out.find('\x1b') == std::string::npos);
  CHECK(tune::record_from_json(parse_json(printed.out, "line").value()).value() == evil);
}

TEST_CASE("records merge takes records from several databases, and nothing from the target itself") {
  const test::TemporaryFolder folder;
  const std::string a = database(folder / "a.db", {sample_record(1), sample_record(2)}),
                    b = database(folder / "b.db", {sample_record(2), sample_record(3)}), into = folder / "into.db";
  const Finished merged = test::dovetail({"records", "merge", into, a, b, "--json"});
  INFO(merged.error);
  REQUIRE(merged.exit == 0);
  const Json json = parse_json(merged.out, "merge").value();
  CHECK(json["added"] == 3);
  CHECK(json["replaced"] == 0);
  CHECK(records_of(into).size() == 3);
  CHECK_THAT(test::dovetail({"records", "merge", into, into, a}).out, ContainsSubstring(": 0 added, 0 replaced"));
}

TEST_CASE("records import of a file with a bad line names it, and imports nothing") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "r.db", lines = folder / "r.jsonl";
  const auto import_of = [&](const std::string& text) {
    REQUIRE(write_text_file(lines, text).ok());
    return test::dovetail({"records", "import", path, lines});
  };
  const std::string good = line_of(sample_record(1));
  check_records_refused(import_of(good + "\n" + good.substr(0, 50) + "\n"), "r.jsonl:3:1:51");
  check_records_refused(import_of(good + "{\"version\":1}\n"), "r.jsonl:2): the key \"task\" is missing");
  check_records_refused(import_of(good + "{\"version\":9}\n"),
                        "the record has version 9, but this version of dovetail reads 1");
  check_records_refused(import_of(""), "the file has no records");
  check_records_refused(import_of(std::string(100000, '\n') + "\xff\n"), "r.jsonl:100001");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "[]\n";
  const Finished refused = import_of(many);
  CHECK(refused.exit == 2);
  CHECK(std::ranges::count(refused.error, '\n') ==
        1);  // reading ends after a hundred bad lines, which give one message
  CHECK_THAT(refused.error, ContainsSubstring("r.jsonl:1 and 99 more: "));
  CHECK_FALSE(fs::exists(path));
  CHECK(import_of(good + "\n" + good).exit == 0);
  CHECK(records_of(path).size() == 1);
}

TEST_CASE("records refuses a file that is not a database, and does not change it") {
  const test::TemporaryFolder folder;
  const std::string good = database(folder / "good.db", {sample_record(1)}), text = folder / "text",
                    lines = folder / "lines";
  REQUIRE(write_text_file(text, "some text, the tensor has more than a hundred bytes" + std::string(200, '.')).ok());
  REQUIRE(write_text_file(lines, line_of(sample_record(2))).ok());
  const std::string before = read_text_file(text).value();
  for (const std::string action : {"list", "export"}) {
    check_records_refused(test::dovetail({"records", action, folder / "none"}), "no such file");
    check_records_refused(test::dovetail({"records", action, folder.path()}), "the path is a directory");
    check_records_refused(test::dovetail({"records", action, text}), "the file is not a database");
  }
  check_records_refused(test::dovetail({"records", "show", text, "a"}),
                        "cannot read records (" + text + "): the file is not a database");
  check_records_refused(test::dovetail({"records", "import", text, lines}),
                        "cannot write records (" + text + "): the file is not a database");
  check_records_refused(test::dovetail({"records", "merge", text, good}), "the file is not a database");
  check_records_refused(test::dovetail({"records", "merge", folder / "new.db", good, text}),
                        "the file is not a database");
  CHECK_FALSE(fs::exists(folder / "new.db"));
  CHECK(read_text_file(text).value() == before);
}

TEST_CASE("records on a full disk: exit code 1, and the old records are kept") {
  const test::TemporaryFolder folder;
  const std::string path = database(folder / "r.db", {sample_record(1)}), lines = folder / "lines";
  Record large = sample_record(2);
  large.trace = std::string(1 << 20, 'x');
  REQUIRE(write_text_file(lines, line_of(sample_record(3)) + line_of(large)).ok());
  check_records_refused(test::run_process({"/bin/sh", "-c", "ulimit -f 200; exec \"$0\" records import \"$1\" \"$2\"",
                                           DOVETAIL_CLI, path, lines}),
                        "cannot write records", 1);
#ifdef DOVETAIL_REFUSE_LIBRARY
  for (int n = 1; n <= 4; ++n)  // each write of SQLite in turn (tests/faults/refuse.cpp)
    check_records_refused(test::run_process({"/usr/bin/env", "LD_PRELOAD=" DOVETAIL_REFUSE_LIBRARY,
                                             "DOVETAIL_REFUSE=write:" + std::to_string(n), DOVETAIL_CLI, "records",
                                             "import", path, lines}),
                          "the disk is full", 1);
#endif
  CHECK(records_of(path) == std::vector{sample_record(1)});
}
