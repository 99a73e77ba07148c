// What tuning has found, in a SQLite database: several processes write it at once, and no committed record is lost,
// whenever one of them is killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "compiler/schedule/sketch.h"
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
  double cost = 0, default_cost = 0;  // of the candidate and of the default schedule; 0 where it was not measured
  std::string why;                    // where it was not
  std::vector<double> features;       // see features.h
  std::string search;                 // which found it
};

class Records {
 public:
  // Makes the file where there is none, unless it is opened to be read only. Errors: it cannot be opened, is no
  // database of records, or one of a later version.
  enum class Open : std::uint8_t { read, write };
  static Result<Records> open(const std::filesystem::path& path, Open mode);
  Records(Records&&) noexcept;
  Records& operator=(Records&&) noexcept;
  ~Records();

  // All of them, or none. Errors: of the disk, or another writer held the file for too long.
  Result<void> add(const std::vector<Record>& records);

  // The record of the task, machine and sketch that costs least, and how many there are of other versions of the
  // sketch.
  struct Best {
    std::optional<Record> record;
    std::int64_t of_other_sketches = 0;
  };
  Result<Best> best(const std::string& task, const std::string& machine, int sketch_version) const;
  // Of one task (empty: of all), by task, machine and cost.
  Result<std::vector<Record>> all(const std::string& task = "") const;

  // The records of another database, those here that are the same left as they are. Returns how many were new.
  Result<std::int64_t> merge(const Records& other);

 private:
  struct State;
  explicit Records(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One JSON object a line, for `records export` and `import`.
Json to_json(const Record& record);
// Errors: names the key that is missing, of another type, or unknown.
Result<Record> record_from_json(const Json& json);

}  // namespace dovetail::tune
