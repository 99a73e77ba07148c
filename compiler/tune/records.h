// Results of tuning, in a SQLite database: several processes can write it concurrently, and no committed record is lost
// if one of them is killed.
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

// A measured candidate. There is one record for each task, machine, sketch version and decisions: a new measurement
// replaces it.
struct Record {
  std::string task;                // schedule::key
  std::string machine;             // Measurer::machine
  std::string target, kind, name;  // of the task; the name is informative only
  int sketch_version = 1;
  schedule::Decisions decisions;
  std::string trace;  // of its schedule; empty if it has none
  std::string unit;   // unit of the costs
  Outcome outcome = Outcome::measured;
  // Cost of the candidate and of the default schedule; infinity if not measured.
  double cost = std::numeric_limits<double>::infinity(), default_cost = std::numeric_limits<double>::infinity();
  std::string why;  // why it was not measured
  int feature_version = kFeatureVersion;
  std::vector<double> features;  // see features.h; may be empty
  std::string search;            // the search that found it
  std::string time = {};         // time of the measurement, from time_text(); empty if not known
  std::string conditions = {};   // Measurer::conditions

  bool operator==(const Record&) const = default;
};

// "2026-07-01T12:00:00Z": in UTC, so that later times compare greater as strings.
std::string time_text(std::chrono::system_clock::time_point time);

// Used by one thread at a time. A process that forks must not use in its child what it opened before.
class Records {
 public:
  // Creates the file if it does not exist, unless it is opened for reading. Errors: it cannot be opened, is not a
  // database of records, or has a later version.
  enum class Open : std::uint8_t { read, write };
  static Result<Records> open(const std::filesystem::path& path, Open mode);
  Records(Records&&) noexcept;
  Records& operator=(Records&&) noexcept;
  ~Records();

  // Adds all of them, or none. Errors: an inconsistent record; disk errors; another writer held the lock for too long.
  Result<void> add(const std::vector<Record>& records);

  // The record of the task, machine and sketch version with the least cost (times relative to the default's), and how
  // many records of other sketch versions there are.
  struct Best {
    std::optional<Record> record;
    std::int64_t of_other_sketches = 0;
  };
  Result<Best> best(const std::string& task, const std::string& machine, int sketch_version) const;
  // Records of one task (empty: all), by task, machine and cost, those without a cost last.
  Result<std::vector<Record>> all(const std::string& task = "") const;

  // Summary of one task, machine and sketch version.
  struct Summary {
    std::string task, machine, target, kind, name, unit;  // the name is the best record's
    int sketch_version = 1;
    std::map<Outcome, std::int64_t> outcomes = {};  // number of records by outcome
    // Of the best record; infinity if none was measured.
    double cost = std::numeric_limits<double>::infinity(), default_cost = std::numeric_limits<double>::infinity();
    std::string time = {};  // of the latest record
  };
  // Ordered by task, machine and sketch version. Reads neither features nor traces.
  Result<std::vector<Summary>> summaries() const;

  // Adds records from elsewhere, all or none. Of two records with the same task, machine, sketch version and decisions,
  // the later one is stored; for equal times, the existing one stays.
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

// One JSON object per line, for `records export` and `import`.
Json to_json(const Record& record);
// `where` names the source in the diagnostics. Errors: each names the key that is missing, unknown, of the wrong type,
// or inconsistent with another.
Result<Record> record_from_json(const Json& json, std::string_view where = {});

}  // namespace dovetail::tune
