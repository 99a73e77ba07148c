// A model over many samples: what it gives for each, how often that is right, and how far it is from what another one
// gives.
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
  std::map<std::string, NdArray> outputs;  // of all samples (Samples::stacked)
  double seconds = 0;                      // on this machine, all threads together at work
  std::optional<std::uint64_t> cycles;     // of the accelerator in all runs, where the engine counts them
};
// Runs the samples' batches on so many threads, each with its own executor; `done` counts runs. Errors: those of
// a run; all threads then end.
Result<Evaluated> evaluate(const Session& session, const Samples& samples, int threads,
                           std::atomic<std::int64_t>& done);

struct Accuracy {
  std::int64_t samples = 0, top1 = 0;
  std::optional<std::int64_t> top5;  // absent: there are no more than five classes
};
// The classes of a sample are all elements of its row; of equal ones the first counts. Error: rows or labels that do
// not fit.
Result<Accuracy> accuracy_of(const NdArray& scores, const NdArray& labels);

// Of two models or targets, output by output.
struct SampleAgreement {
  std::string output;
  std::int64_t samples = 0, same = 0;     // rows whose largest element is at the same place
  double largest = 0, largest_other = 0;  // difference; magnitude of what it is compared with
  std::optional<std::int64_t> first;      // sample that is not the same
};
// Error: outputs of other names or shapes.
Result<std::vector<SampleAgreement>> sample_agreement_of(const std::map<std::string, NdArray>& outputs,
                                                         const std::map<std::string, NdArray>& others);

}  // namespace dovetail::driver
