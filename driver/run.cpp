#include "driver/run.h"

#include <utility>

#include "driver/latency.h"

namespace dovetail::driver {

namespace {

// Runs the samples after the first batch. Stacks the outputs, and the listed tensors.
Result<void> run_remaining_samples(Session& session, const Samples& samples, const RunPlan& plan,
                                   const runtime::RunOptions& options, SampleRuns& runs) {
  std::map<std::string, std::vector<NdArray>> outputs;
  std::vector<std::vector<NdArray>> tensors;
  for (const auto& [name, array] : runs.outputs) outputs[name].push_back(array);
  for (const KeptTensor& tensor : runs.kept) tensors.push_back({tensor.array});
  for (std::int64_t run = 1; run < samples.runs(); ++run) {
    if (plan.done != nullptr) *plan.done = run;
    DOVETAIL_ASSIGN(const runtime::RunResult result, session.run(samples.inputs(run), options));
    for (const auto& [name, array] : result.outputs) outputs[name].push_back(array);
    if (runs.kept.empty()) continue;
    const std::vector<KeptTensor> of_run = kept_tensors(session.program(), result);
    for (std::size_t t = 0; t < runs.kept.size(); ++t) tensors[t].push_back(of_run[t].array);
  }
  for (auto& [name, arrays] : outputs) runs.outputs[name] = samples.stacked(arrays);
  for (std::size_t t = 0; t < runs.kept.size(); ++t) runs.kept[t].array = samples.stacked(tensors[t]);
  return {};
}

}  // namespace

Result<SampleRuns> run_samples(Session& session, const Samples& samples, const RunPlan& plan) {
  SampleRuns runs;
  const std::map<std::string, NdArray> inputs = samples.inputs(0);
  const runtime::RunOptions options{.keep_tensors = plan.keep_tensors || plan.list_tensors};
  for (std::int64_t run = 0; run < plan.repeat; ++run) {
    if (plan.done != nullptr) *plan.done = run;
    const bool is_last = run + 1 == plan.repeat;
    DOVETAIL_ASSIGN(runs.first, session.run(inputs, is_last ? options : runtime::RunOptions{.copy_outputs = false}));
    if (const Latency latency = latency_of(step_times(runs.first, session.system())); latency.complete)
      runs.latencies.push_back(latency.seconds());
  }
  runs.outputs = runs.first.outputs;
  if (plan.list_tensors) runs.kept = kept_tensors(session.program(), runs.first);
  if (samples.runs() > 1) DOVETAIL_TRY(run_remaining_samples(session, samples, plan, options, runs));
  return runs;
}

}  // namespace dovetail::driver
