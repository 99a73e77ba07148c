// A session's runs over samples: repeated, batch after batch, with the tensors that they compute on their way.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "driver/kept_tensors.h"
#include "driver/samples.h"
#include "driver/session.h"

namespace dovetail::driver {

struct RunPlan {
  std::int64_t repeat = 1;                    // runs of the first batch; more than one where there are no others
  bool keep_tensors = false;                  // SampleRuns::first has all tensors
  bool list_tensors = false;                  // SampleRuns::kept has them, of all samples
  std::atomic<std::int64_t>* done = nullptr;  // counts runs; null: nobody watches
};

struct SampleRuns {
  runtime::RunResult first;                // of the first batch; of repeated runs, the last
  std::map<std::string, NdArray> outputs;  // of all samples (Samples::stacked)
  std::vector<KeptTensor> kept;            // likewise
  std::vector<double> latencies;           // seconds of each run of the first batch, where they are known
};
// Errors: those of a run.
Result<SampleRuns> run_samples(Session& session, const Samples& samples, const RunPlan& plan);

}  // namespace dovetail::driver
