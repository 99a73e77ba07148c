// What a comparison of targets found: one row for each target (and configuration) that a model was to run on.
// docs/howto/comparing.md describes every number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "driver/energy.h"

namespace dovetail::driver {

// Of repeated runs, in seconds.
struct Spread {
  double median = 0, low = 0, high = 0;  // low and high: the tenth and the ninetieth percentile
  std::size_t runs = 0;
};
// Precondition: at least one sample. Percentiles are the nearest sample, the median of an even number the mean of two.
Spread spread_of(std::vector<double> samples);

// Outputs against the reference's.
struct Agreement {
  std::size_t elements = 0, different = 0;
  double largest = 0;  // difference of two elements, infinite where one of them alone is not a number
  bool equal() const { return different == 0; }
};
// Precondition: the same names, element types and shapes.
Agreement agreement_of(const std::map<std::string, NdArray>& expected, const std::map<std::string, NdArray>& actual);

struct ComparedAccelerator {
  std::uint64_t cycles = 0;
  double clock_mhz = 0, seconds = 0;  // of its steps
  std::string memory;
  std::uint64_t dram_read = 0, dram_written = 0;  // bytes, whole beats, instructions included
  std::size_t steps = 0, other_steps = 0;
  std::int64_t count = 1;  // accelerators that share the memory; cycles, DRAM and seconds are those of all together
};

struct ComparedRow {
  std::string target;
  std::string machine;                      // configuration of the accelerator, or processor and threads
  std::string unavailable = {}, hint = {};  // why there is nothing else in the row
  std::string arithmetic = {};              // "integer", or "float"
  double seconds = 0;                       // from input to output, of several accelerators of a sample for each
  Spread measured = {};                     // of what ran on this machine: all of it, or the accelerator's other steps
  std::optional<ComparedAccelerator> accelerator = {};
  std::uint64_t bundle_bytes = 0, arena_bytes = 0;  // arena: memory of tensors and images alongside what is constant
  std::optional<double> joules = {};                // of an inference
  std::string energy_from = {};                     // what says so, or why nothing does
  std::optional<EnergyFacts> energy = {};           // of the accelerator
  std::optional<Agreement> agreement = {};
  std::map<std::string, double> shares = {};  // of the model's multiplications, by target

  bool available() const { return unavailable.empty(); }
  double samples() const { return accelerator ? static_cast<double>(accelerator->count) : 1; }  // in that time
  double per_second() const { return seconds > 0 ? samples() / seconds : 0; }
};

struct ComparedModel {
  std::string file;
  std::uint64_t macs = 0;
  std::vector<ComparedRow> rows;
  std::string reference;  // what the outputs are compared with
};

struct Comparison {
  int threads = 1;
  std::vector<ComparedModel> models;
  std::vector<std::string> inputs;  // announcements
};

// How many times as many inferences a second as the slowest that is there has; 1 where it is alone.
double speed_up(const ComparedModel& model, const ComparedRow& row);
// The accelerator's part of the time from input to output; nothing of other targets, whose steps are timed together.
std::optional<double> accelerator_time_share(const ComparedRow& row);
}  // namespace dovetail::driver
