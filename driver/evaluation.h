// Evaluates a model on many samples: its outputs, and their difference from another model's.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "driver/samples.h"
#include "driver/session.h"

namespace dovetail::driver {

struct Evaluated {
  std::map<std::string, NdArray> outputs;  // outputs of all samples (Samples::stacked)
  double seconds = 0;                      // wall-clock time on this machine, with all threads
  std::optional<std::uint64_t> cycles;     // cycles of the accelerator in all runs, if the engine counts them
};
// Runs the samples' batches on `threads` threads, each with its own executor; `done` counts runs. Errors: those of a
// run; all threads then end.
Result<Evaluated> evaluate(const Session& session, const Samples& samples, int threads,
                           std::atomic<std::int64_t>& done);

// The agreement of two models or targets in one output.
struct SampleAgreement {
  std::string output;
  std::int64_t samples = 0, same = 0;     // rows whose largest element is at the same place
  double largest = 0, largest_other = 0;  // largest difference; largest magnitude in the other model
  std::optional<std::int64_t> first;      // first sample with another largest element
};
// Error: the outputs have different names or shapes.
Result<std::vector<SampleAgreement>> sample_agreement_of(const std::map<std::string, NdArray>& outputs,
                                                         const std::map<std::string, NdArray>& others);

}  // namespace dovetail::driver
