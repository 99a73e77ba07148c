#include "cli/shell/model_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shell/arguments.h"
#include "compiler/ops/control_flow.h"
#include "driver/targets.h"

namespace dovetail::cli {

void ModelArguments::declare_target(Options& options) {
  std::vector<std::string> names = driver::bundle_processors();
  names.insert(names.end(), {std::string(driver::kInterpreter), std::string(driver::kPortable)});
  options.value("--target", "LIST", targets, "targets in order of preference, as in accel,cpu")
      .list(driver::target_names());
  options.value("--hw", "CONFIG", hardware,
                fmt::format("{}, or A+3*B,split=layers: accelerators that differ (default {})", kHardwareHelp,
                            driver::kDefaultHardware),
                File::read);
  options
      .value(
          "--cpu", "NAME", cpu,
          fmt::format("processor class to generate code for: {} (default native); or run the loops in the interpreter: "
                      "interpreter, as the operators define them; portable, as `dovetail export` writes them in C",
                      fmt::join(driver::bundle_processors(), ", ")))
      .choices(names);
  options.flag(
      "--check-bounds", check_bounds,
      "target cpu: kernels compare every address with the extent of its operand before its use, and an error ends the "
      "run with a diagnostic; many times slower");
  options.value(
      "--gpu", "LIST", gpu,
      fmt::format(
          "architectures of NVIDIA GPUs to generate code for, each optionally with the number of processors of its "
          "device, for example sm_90a:114 (default {})",
          cuda::kDefaultArchitectures));
  options.flag(
      "--tf32", tf32,
      "targets cuda (at -O 2 and above), cublas and cudnn: tensor cores may multiply float32, its factors rounded to "
      "TF32's 11 bits");
  options
      .value(
          "-O", "N", level,
          "optimization level: 0 only what running needs, 1 what keeps every bit, 2 what stays within the operators' "
          "tolerance (default), "
          "3 what trades accuracy or special values for speed")
      .choices({"0", "1", "2", "3"});
  options.flag("--strict", strict, "reject nodes that no listed target supports, instead of running them on the host");
}

void ModelArguments::declare(Options& options) {
  source.declare(options);
  declare_target(options);
  options.values("--place", "NODE=TARGET", place, "put this node on this target; repeatable");
  options.values("--shape", "NAME=SHAPE", shapes,
                 "extent of a symbolic dimension, or shape of an input: batch=1, x=1x3x224x224; repeatable, and with "
                 "several shapes for one name the bundle has a program for each shape");
  options.values("--state", "INPUT=OUTPUT", states,
                 "make the input a state: each run reads what the run before gave for the output, the first one zeros "
                 "(docs/howto/states.md); past.*=present.* stands for all of these; repeatable");
  options.value("--loop-limit", "N", loop_limit,
                fmt::format("maximum iterations of a Loop whose condition or trip count depends on values, if no "
                            "constant trip count limits it; one more ends the run with exit code 1 (default {})",
                            import::kDefaultLoopLimit));
  options
      .value("--offload", "RULE", offload,
             "when a region leaves a target listed later: always, possible (default: unless its borders alone cost "
             "more than it costs there), cost (only if it saves more "
             "than its borders cost)")
      .choices({"always", "possible", "cost"});
  system.declare(options);
  options.values("--pass", "NAME", with_passes, "run this graph pass at any optimization level; repeatable");
  options.values("--no-pass", "NAME", without_passes, "do not run this graph pass; repeatable");
  options.value(
      "--records", "DB", records,
      "use the best schedules that `dovetail tune` recorded in this database, and the default ones for other kernels",
      File::read_by_name);
  options.value(
      "--count-cycles", "N", count_cycles,
      "accelerator: count the cycles of the N schedules of each layer that have the best estimated cost, with this "
      "memory, and use those that make the network fastest; compilation is a few times slower (default 1: the best "
      "by "
      "the "
      "analytic cost)");
  options.values("--decide", "NAME=VALUE", decide,
                 "use this value wherever a schedule decides NAME and the value is valid, for example slots_inp=1 "
                 "(docs/howto/tuning.md); "
                 "repeatable");
}

void ModelArguments::declare_cache(Options& options) {
  options.flag(
      "--cache", cache,
      "reuse the result of compiling this model earlier with this program and these options, and store what is "
      "compiled now (docs/reference/command-line.md)");
}

std::vector<std::string> ModelArguments::compile_only_options() const {
  std::vector<std::string> given = source.given();
  if (cache) given.emplace_back("--cache");
  if (!place.empty()) given.emplace_back("--place");
  if (!shapes.empty()) given.emplace_back("--shape");
  if (!states.empty()) given.emplace_back("--state");
  if (loop_limit) given.emplace_back("--loop-limit");
  if (strict) given.emplace_back("--strict");
  if (level != "2") given.emplace_back("-O");
  if (!with_passes.empty()) given.emplace_back("--pass");
  if (!without_passes.empty()) given.emplace_back("--no-pass");
  if (cpu != "native") given.emplace_back("--cpu");
  if (check_bounds) given.emplace_back("--check-bounds");
  if (gpu != cuda::kDefaultArchitectures) given.emplace_back("--gpu");
  if (tf32) given.emplace_back("--tf32");
  if (offload != "possible") given.emplace_back("--offload");
  if (records) given.emplace_back("--records");
  if (!decide.empty()) given.emplace_back("--decide");
  if (count_cycles) given.emplace_back("--count-cycles");
  return given;
}

namespace {

Result<passes::Level> parse_level(const std::string& level) {
  if (level.size() != 1 || level[0] < '0' || level[0] > '3')
    return Diagnostic{"invalid value for -O", level, "the levels are 0, 1, 2 and 3",
                      "without the option, the level is 2"};
  return static_cast<passes::Level>(level[0] - '0');
}

Result<std::map<std::string, std::string>> parse_places(const std::vector<std::string>& texts) {
  DOVETAIL_ASSIGN(const auto places, parse_assignments("--place", texts));
  for (const auto& [node, target] : places) {
    DOVETAIL_ASSIGN(const auto targets, parse_targets("--place", target));
    if (targets.size() != 1)
      return Diagnostic{"invalid value for --place", node + "=" + target, "the option names several targets",
                        "name one target"};
  }
  return places;
}

}  // namespace

Result<driver::ModelOptions> ModelArguments::parse() const {
  DOVETAIL_ASSIGN(const driver::SystemChanges changes, system.parse());
  driver::ModelOptions options{.path = model,
                               .layers = source.layers,
                               .part = source.part(),
                               .hardware = hardware,
                               .system = changes,
                               .cpu = cpu,
                               .gpu = gpu,
                               .tf32 = tf32,
                               .check_bounds = check_bounds,
                               .strict = strict,
                               .with_passes = with_passes,
                               .without_passes = without_passes,
                               .records = records,
                               .cache = cache};
  if (targets) {
    DOVETAIL_ASSIGN(options.targets, parse_targets("--target", *targets));
  }
  DOVETAIL_ASSIGN(options.shapes, parse_shapes(shapes));
  DOVETAIL_ASSIGN(options.states, parse_assignments("--state", states));
  if (loop_limit) {
    DOVETAIL_ASSIGN(options.loop_limit, parse_count("--loop-limit", *loop_limit, 1, ops::kMostIterations));
  }
  DOVETAIL_ASSIGN(options.place, parse_places(place));
  DOVETAIL_ASSIGN(options.level, parse_level(level));
  const auto rule = offload_from_name(offload);
  if (!rule)
    return Diagnostic{"invalid value for --offload", offload, "the rule is unknown",
                      "the rules are always, possible and cost"};
  options.offload = *rule;
  DOVETAIL_ASSIGN(options.decide, parse_assignments("--decide", decide));
  if (count_cycles) {
    DOVETAIL_ASSIGN(options.counted_candidates,
                    parse_count("--count-cycles", *count_cycles, 1, driver::kMostCountedCandidates));
  }
  return options;
}

}  // namespace dovetail::cli
