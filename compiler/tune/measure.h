// The result of measuring a candidate. The compiler includes no simulator and runs no kernel: the caller of the tuner
// provides the measurer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"

namespace dovetail::tune {

enum class Outcome : std::uint8_t {
  measured,
  refused,    // rejected by a step, the code generator or the machine's limits
  wrong,      // its results differ from those of the task's program
  crashed,    // it crashed its process
  timed_out,  // it was stopped
};
inline constexpr std::array<Outcome, 5> kOutcomes{Outcome::measured, Outcome::refused, Outcome::wrong, Outcome::crashed,
                                                  Outcome::timed_out};
// The spelling in records: "measured", ...
std::string_view to_string(Outcome outcome);
std::optional<Outcome> outcome_named(std::string_view name);

struct Measurement {
  Outcome outcome = Outcome::refused;
  double cost = std::numeric_limits<double>::infinity();  // of one run, in the measurer's unit; finite if measured
  std::string why = {};                                   // why it was not measured
};

// Measures the candidates of one task.
class Measurer {
 public:
  virtual ~Measurer() = default;
  virtual std::string_view unit() const = 0;  // "cycles", "ns"
  // The conditions that costs depend on, in addition to the task: "cycle simulator, ideal memory", "Xeon ..., 1
  // thread". Costs of different machines are not compared.
  virtual std::string machine() const = 0;
  // What is recorded with the costs but does not identify the machine: "base clock 2600 MHz, governor performance".
  virtual std::string conditions() const { return ""; }
  // Whether a candidate always has the same cost; otherwise the best candidates are measured again at the end.
  virtual bool deterministic() const { return false; }
  // Returns one measurement for each candidate, in order. May run on several threads; no candidate can crash or block
  // the process.
  virtual std::vector<Measurement> measure(std::span<const schedule::Scheduled* const> candidates) = 0;
};
// Errors: the task cannot be measured on this machine.
using MakeMeasurer = std::function<Result<std::unique_ptr<Measurer>>(const schedule::Task& task)>;

}  // namespace dovetail::tune
