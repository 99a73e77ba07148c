// What measuring a candidate gave. The compiler includes no simulator and runs no kernel: whoever tunes hands in what
// measures.
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
  refused,    // a step, the code generator or the machine's limits do not take it
  wrong,      // its results are not those of the task's program
  crashed,    // it ended its process
  timed_out,  // it was stopped
};
inline constexpr std::array<Outcome, 5> kOutcomes{Outcome::measured, Outcome::refused, Outcome::wrong, Outcome::crashed,
                                                  Outcome::timed_out};
// As records have it: "measured", ...
std::string_view to_string(Outcome outcome);
std::optional<Outcome> outcome_named(std::string_view name);

struct Measurement {
  Outcome outcome = Outcome::refused;
  double cost = std::numeric_limits<double>::infinity();  // of one run, in the measurer's unit; finite where measured
  std::string why = {};                                   // where it is not
};

// Measures the candidates of one task.
class Measurer {
 public:
  virtual ~Measurer() = default;
  virtual std::string_view unit() const = 0;  // "cycles", "ns"
  // What costs depend on beside the task: "cycle simulator, ideal memory", "Xeon ..., 1 thread". Costs of two machines
  // are not compared.
  virtual std::string machine() const = 0;
  // Whether a candidate costs the same at every time; else the best are measured again at the end.
  virtual bool deterministic() const { return false; }
  // One for each candidate, in their order. May run on several threads; no candidate is able to end or hold up the
  // process.
  virtual std::vector<Measurement> measure(std::span<const schedule::Scheduled* const> candidates) = 0;
};
// Errors: the task cannot be measured at all, by anything.
using MakeMeasurer = std::function<Result<std::unique_ptr<Measurer>>(const schedule::Task& task)>;

}  // namespace dovetail::tune
