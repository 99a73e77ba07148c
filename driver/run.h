// Runs a session on samples: repeated runs, batch after batch, with the tensors that they compute.
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
  std::int64_t repeat = 1;                    // runs of the first batch; more than 1 only if there is one batch
  bool keep_tensors = false;                  // SampleRuns::first has all tensors
  bool list_tensors = false;                  // SampleRuns::kept has all tensors of all samples
  std::atomic<std::int64_t>* done = nullptr;  // counts runs; null: not counted
};

struct SampleRuns {
  runtime::RunResult first;                // run of the first batch; the last of repeated runs
  std::map<std::string, NdArray> outputs;  // outputs of all samples (Samples::stacked)
  std::vector<KeptTensor> kept;            // likewise
  std::vector<double> latencies;           // seconds of each run of the first batch, if known
};
// Errors: those of a run.
Result<SampleRuns> run_samples(Session& session, const Samples& samples, const RunPlan& plan);

}  // namespace dovetail::driver
