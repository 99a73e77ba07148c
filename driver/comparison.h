// The results of comparing targets: one row for each target (and configuration) on which a model was requested to run.
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
#include "isa/system.h"

namespace dovetail::driver {

// Times of repeated runs, in seconds.
struct Spread {
  double median = 0, low = 0, high = 0;  // low and high: the tenth and the ninetieth percentile
  std::size_t runs = 0;
};
// Precondition: at least one sample. Percentiles are the nearest sample, the median of an even number the mean of two.
Spread spread_of(std::vector<double> samples);

// Outputs compared with the reference's.
struct Agreement {
  std::size_t elements = 0, different = 0;
  double largest = 0;  // difference of two elements; infinite if only one of them is NaN
  // Of outputs that are not equal: whether `dovetail run --check` accepts them (explore/check/reference_check.h), and
  // the integers that are one step off after rounded floats.
  bool accepted = false;
  std::int64_t stepped = 0;
  bool equal() const { return different == 0; }
  bool agrees() const { return equal() || accepted; }
};
// Precondition: the same names, element types and shapes.
// Accepted: no output differs by more than the tolerance of floats (base/difference.h).
Agreement agreement_of(const std::map<std::string, NdArray>& expected, const std::map<std::string, NdArray>& actual,
                       double float_tolerance = 0);

struct ComparedAccelerator {
  std::uint64_t cycles = 0;
  double clock_mhz = 0, seconds = 0;  // time of its steps
  std::string beyond_design = {};     // beyond_design() of the clock
  std::string clock_model = {};       // what gave the clock, with its error; empty: not a model
  std::string memory;
  std::uint64_t dram_read = 0, dram_written = 0;  // bytes, whole beats, instructions included
  std::size_t steps = 0, other_steps = 0;
  std::int64_t count = 1;  // accelerators that share the memory; cycles, DRAM and seconds are for all of them together
  isa::Split split = isa::Split::samples;  // what they divide
  std::int64_t samples() const { return split == isa::Split::samples ? count : 1; }
};

struct ComparedRow {
  std::string target;
  std::string machine;                      // configuration of the accelerator, or processor and threads
  std::int64_t batch = 1;                   // ComparedModel::batch
  std::string unavailable = {}, hint = {};  // why the row has no results
  std::string arithmetic = {};              // "integer", or "float"
  double seconds = 0;    // from input to output, of the batch; several accelerators run one batch each
  Spread measured = {};  // steps that ran on this machine: all, or those next to the accelerator
  std::optional<ComparedAccelerator> accelerator = {};
  std::uint64_t bundle_bytes = 0, arena_bytes = 0;  // arena: memory of tensors and images, without constants
  std::optional<double> joules = {};                // for each sample
  std::string energy_from = {};                     // the source of `joules`, or why there is none
  std::optional<EnergyFacts> energy = {};           // energy of the accelerator
  std::optional<Agreement> agreement = {};
  std::map<std::string, double> shares = {};  // shares of the model's multiplications, by target

  bool available() const { return unavailable.empty(); }
  // Samples in `seconds`.
  double samples() const { return static_cast<double>(batch * (accelerator ? accelerator->samples() : 1)); }
  double per_second() const { return seconds > 0 ? samples() / seconds : 0; }
};

struct ComparedModel {
  std::string file;
  std::int64_t batch = 1;  // samples of a run, by --batch
  std::uint64_t macs = 0;
  std::vector<ComparedRow> rows;
  std::string reference;  // what the outputs are compared with
};

struct Comparison {
  int threads = 1;
  std::vector<ComparedModel> models;
  std::vector<std::string> inputs;  // announcements
};

// Inferences per second relative to the slowest row with results; 1 if it is the only one.
double speed_up(const ComparedModel& model, const ComparedRow& row);
// The accelerator's share of the time from input to output; nullopt for other targets, whose steps are timed together.
std::optional<double> accelerator_time_share(const ComparedRow& row);
}  // namespace dovetail::driver
