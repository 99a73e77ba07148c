// What tuning has found, in a SQLite database: several processes write it at once, and no committed record is lost,
// whenever one of them is killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/tune/features.h"
#include "compiler/tune/measure.h"

namespace dovetail::tune {

// A measured candidate. One record for each task, machine, sketch version and decisions: measured again, the last
// counts.
struct Record {
  std::string task;                // schedule::key
  std::string machine;             // Measurer::machine
  std::string target, kind, name;  // of the task; the name is for people
  int sketch_version = 1;
  schedule::Decisions decisions;
  std::string trace;  // of its schedule; empty where it has none
  std::string unit;   // of the costs
  Outcome outcome = Outcome::measured;
  // Of the candidate and of the default schedule; infinity where it was not measured.
  double cost = std::numeric_limits<double>::infinity(), default_cost = std::numeric_limits<double>::infinity();
  std::string why;  // where it was not
  int feature_version = kFeatureVersion;
  std::vector<double> features;  // see features.h; may be empty
  std::string search;            // which found it
  std::string time = {};         // when it was measured, as time_text() has it; empty where that is not known

  bool operator==(const Record&) const = default;
};

// "2026-07-01T12:00:00Z": in UTC, so that later times are greater texts.
std::string time_text(std::chrono::system_clock::time_point time);

// Of one thread at a time. A process that forks must not use in its child what it opened before.
class Records {
 public:
  // Makes the file where there is none, unless it is opened to be read only. Errors: it cannot be opened, is no
  // database of records, or one of a later version.
  enum class Open : std::uint8_t { read, write };
  static Result<Records> open(const std::filesystem::path& path, Open mode);
  Records(Records&&) noexcept;
  Records& operator=(Records&&) noexcept;
  ~Records();

  // All of them, or none. Errors: a record that contradicts itself; of the disk; or another writer held the file for
  // too long.
  Result<void> add(const std::vector<Record>& records);

  // The record of the task, machine and sketch that costs least, times as a part of the default's; and how many there
  // are of other versions of the sketch.
  struct Best {
    std::optional<Record> record;
    std::int64_t of_other_sketches = 0;
  };
  Result<Best> best(const std::string& task, const std::string& machine, int sketch_version) const;
  // Of one task (empty: of all), by task, machine and cost, those without a cost last.
  Result<std::vector<Record>> all(const std::string& task = "") const;

  // What there is of one task, machine and sketch version.
  struct Summary {
    std::string task, machine, target, kind, name, unit;  // the name that the best record has
    int sketch_version = 1;
    std::map<Outcome, std::int64_t> outcomes = {};  // how many of each
    // Of the best record; infinity where none was measured.
    double cost = std::numeric_limits<double>::infinity(), default_cost = std::numeric_limits<double>::infinity();
    std::string time = {};  // of the last record
  };
  // By task, machine and sketch version. Reads neither features nor traces.
  Result<std::vector<Summary>> summaries() const;

  // Takes records from elsewhere, all of all or none. Where there is one of the same task, machine, sketch version and
  // decisions, the later counts; of equal times, the one that is here.
  struct Merged {
    std::int64_t added = 0, replaced = 0;
  };
  Result<Merged> merge(const std::vector<Record>& records);
  Result<Merged> merge(std::span<const Records> others);

 private:
  struct State;
  explicit Records(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One JSON object a line, for `records export` and `import`.
Json to_json(const Record& record);
// `where` names the source in the diagnostics. Errors: each names the key that is missing, unknown, of another type, or
// contradicts another one.
Result<Record> record_from_json(const Json& json, std::string_view where = {});

}  // namespace dovetail::tune
