#include "driver/evaluation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "bundle/code/target_facts.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

// State that the threads share.
struct Shared {
  std::atomic<std::int64_t>& done;
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;  // protects the following members
  Diagnostics errors;
  std::uint64_t cycles = 0;
  bool counts_cycles = true;
};

using Results = std::map<std::string, std::vector<NdArray>>;  // by output, a result of each run

void run_some(runtime::Executor& executor, const Samples& samples, Shared& shared, Results& results) {
  std::uint64_t cycles = 0;
  bool counts_cycles = true;
  for (std::int64_t run = shared.next++; run < samples.runs() && !shared.failed; run = shared.next++) {
    auto result = executor.run(samples.inputs(run));
    if (!result.ok()) {
      const std::lock_guard lock(shared.mutex);
      if (!shared.failed.exchange(true)) shared.errors = result.errors();
      break;
    }
    for (auto& [name, array] : result->outputs) results.at(name)[static_cast<std::size_t>(run)] = std::move(array);
    for (const runtime::StepProfile& step : result->steps) {
      if (!bundle::has_clock(step.target)) continue;
      counts_cycles &= !step.launches.empty();
      for (const runtime::TimedLaunch& launch : step.launches) cycles += launch.trace.cycles;
    }
    ++shared.done;
  }
  const std::lock_guard lock(shared.mutex);
  shared.cycles += cycles;
  shared.counts_cycles &= counts_cycles;
}

std::int64_t largest_at(const NdArray& scores, std::int64_t row, std::int64_t classes) {
  std::int64_t best = 0;
  for (std::int64_t c = 1; c < classes; ++c)
    if (scores.as_double(row * classes + c) > scores.as_double(row * classes + best)) best = c;
  return best;
}

}  // namespace

Result<Evaluated> evaluate(const Session& session, const Samples& samples, int threads,
                           std::atomic<std::int64_t>& done) {
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(threads, 1, samples.runs()));
  const bundle::Bundle& bundle = session.bundle();
  runtime::ExecutorOptions options;
  options.work = session.options().work;
  options.threads = count > 1 ? 1 : threads;  // samples in parallel, or one sample with all threads
  std::vector<runtime::Executor> executors;
  for (std::size_t t = 0; t < count; ++t) {
    DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(bundle, session.make_simulator(), options));
    executors.push_back(std::move(executor));
  }
  Results results;
  for (const bundle::TensorIndex index : bundle.outputs)
    results[bundle.tensors[static_cast<std::size_t>(index)].name].resize(static_cast<std::size_t>(samples.runs()));
  Shared shared{.done = done, .mutex = {}, .errors = {}};
  const auto start = std::chrono::steady_clock::now();
  ThreadPool pool(static_cast<int>(count), ThreadPool::Placement::free);
  pool.parallel_for(pool.threads(), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i)
      run_some(executors[static_cast<std::size_t>(i)], samples, shared, results);
  });
  if (shared.failed) return failed_work(shared.errors);
  Evaluated evaluated;
  evaluated.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (shared.counts_cycles && shared.cycles > 0) evaluated.cycles = shared.cycles;
  for (const auto& [name, arrays] : results) evaluated.outputs.emplace(name, samples.stacked(arrays));
  return evaluated;
}

Result<std::vector<SampleAgreement>> sample_agreement_of(const std::map<std::string, NdArray>& outputs,
                                                         const std::map<std::string, NdArray>& others) {
  std::vector<SampleAgreement> rows;
  for (const auto& [name, array] : outputs) {
    // Different models may name their only output differently.
    auto other = others.find(name);
    if (other == others.end() && outputs.size() == 1 && others.size() == 1) other = others.begin();
    if (other == others.end() || other->second.shape() != array.shape())
      return Diagnostic{"cannot compare the models", "output " + name,
                        other == others.end() ? "the other model has no output of that name"
                                              : fmt::format("the output is {}, but {} in the other model",
                                                            to_string(array.shape()), to_string(other->second.shape())),
                        "compare models with the same outputs"};
    SampleAgreement row{name, array.rank() > 0 ? array.shape()[0] : 1, 0, 0, 0, {}};
    const std::int64_t elements = array.count() / std::max<std::int64_t>(1, row.samples);
    for (std::int64_t i = 0; i < row.samples; ++i) {
      const bool same = largest_at(array, i, elements) == largest_at(other->second, i, elements);
      row.same += same;
      if (!same && !row.first) row.first = i;
    }
    for (std::int64_t e = 0; e < array.count(); ++e) {
      const double a = array.as_double(e), b = other->second.as_double(e);
      if (std::isfinite(b)) row.largest_other = std::max(row.largest_other, std::abs(b));
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double difference = std::abs(a - b);
      row.largest =
          std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(row.largest, difference);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace dovetail::driver
