#include "driver/kernels/bench.h"

#include <fmt/format.h>

#include "cli/commands/kernel/actions.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "driver/loop_counts.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

Json bench_json(const driver::LoopBench& bench, const std::string& baseline, int threads, double operations) {
  return {{"baseline", baseline},
          {"threads", threads},
          {"operations", operations},
          {"seconds", bench.seconds},
          {"baseline_seconds", bench.baseline_seconds},
          {"speedup", bench.speedup},
          {"speedup_low", bench.low},
          {"speedup_high", bench.high},
          {"pairs", bench.pairs},
          {"agrees", bench.kernel_wrong.empty()},
          {"baseline_agrees", bench.baseline_wrong.empty()}};
}

}  // namespace

Result<Exit> kernel_bench(const KernelArguments& arguments) {
  if (!arguments.baseline)
    return bad_kernel_usage("--baseline", "it is missing", "give a function of a shared library: LIB.so:FUNCTION");
  DOVETAIL_ASSIGN(const driver::BaselineFunction baseline, driver::parse_baseline(*arguments.baseline));
  DOVETAIL_ASSIGN(const WorkLimit limit, parse_limit(arguments.limit.limits));
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled("cpu"));
  DOVETAIL_ASSIGN(const driver::RunInputs inputs, arguments.run_inputs(program));
  WatchedWork watched(limit);
  driver::BenchOptions options{.work = watched.work()};
  DOVETAIL_ASSIGN(options.threads, arguments.thread_count(1));
  watched.begin();
  DOVETAIL_ASSIGN(const driver::LoopBench bench, driver::bench_loops(program, baseline, inputs.tensors, options));
  watched.finish();
  const double operations = driver::known_operations(program.written());
  if (arguments.json) {
    Json json = arguments.report(program);
    json["bench"] = bench_json(bench, *arguments.baseline, options.threads, operations);
    print_json(json);
  } else {
    const auto line = [&](std::string_view name, double seconds) {
      print("{}", entry(name, driver::seconds_text(seconds) + driver::rate_text(operations, seconds)));
    };
    line("kernel", bench.seconds);
    line("baseline", bench.baseline_seconds);
    print("{}", entry("speedup", fmt::format("{:.3f}, from {:.3f} to {:.3f} in {} pairs of alternating runs",
                                             bench.speedup, bench.low, bench.high, bench.pairs)));
    if (bench.kernel_wrong.empty() && bench.baseline_wrong.empty())
      print("{}", entry("values", "both have those of the program without its schedule"));
  }
  Diagnostics wrong;
  if (!bench.baseline_wrong.empty())
    wrong.push_back({"the baseline computes other values", *arguments.baseline, bench.baseline_wrong,
                     "does it take the parameters in the order of the program, each dense and of its type?",
                     Cause::work});
  if (!bench.kernel_wrong.empty())
    wrong.push_back({"the schedule changes the values", arguments.file, bench.kernel_wrong,
                     "find the step with kernel run --explain", Cause::work});
  return wrong.empty() ? Exit::success : fail(Exit::failed, wrong);
}

}  // namespace dovetail::cli
