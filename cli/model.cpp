#include "cli/model.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "bundle/code/cuda.h"
#include "bundle/code/program_summary.h"
#include "bundle/format.h"
#include "cli/arguments.h"
#include "cli/compiled_cache.h"
#include "cli/kept_tensors.h"
#include "cli/latency.h"
#include "cli/preprocess.h"
#include "cli/program_file.h"
#include "cli/progress.h"
#include "cli/targets.h"
#include "cli/text.h"
#include "cli/work_shares.h"
#include "compiler/assemble/combine_shapes.h"
#include "compiler/ops/control_flow.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/tune/recorded_schedules.h"
#include "compiler/tune/records.h"
#include "explore/measure/accel.h"
#include "explore/measure/count_cycles.h"
#include "explore/measure/cpu.h"
#include "explore/measure/cuda.h"
#include "runtime/device/cuda/context.h"
#include "runtime/executor.h"

namespace dovetail::cli {

void ModelArguments::declare_target(Options& options) {
  options.value("--target", "LIST", targets, "targets in order of preference, as in accel,cpu").list(target_names());
  options.value("--hw", "CONFIG", hardware, fmt::format("{} (default {})", kHardwareHelp, kDefaultHardware),
                File::read);
  options
      .value("--cpu", "NAME", cpu,
             "make code for baseline, avx2, avx2-vnni, avx512, avx512-vnni, avx512-amx or native (default), or leave "
             "the loops to the interpreter")
      .choices({"baseline", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-amx", "native", "interpreter"});
  options.flag("--check-bounds", check_bounds,
               "target cpu: kernels compare every address with the extent of its operand before they use it, and the "
               "run ends with a diagnostic; many times slower");
  options.value("--gpu", "LIST", gpu,
                fmt::format("architectures of NVIDIA GPUs to make code for, each perhaps with the processors of its "
                            "device, as in sm_90a:114 (default {})",
                            cuda::kDefaultArchitectures));
  options.flag(
      "--tf32", tf32,
      "targets cuda (at -O 2 and above), cublas and cudnn: tensor cores may multiply float32, its factors rounded to "
      "TF32's 11 bits");
  options
      .value("-O", "N", level,
             "how far to optimize: 0 what running needs, 1 what keeps every bit, 2 what stays within the operators' "
             "tolerance (default), "
             "3 what trades accuracy or special values for speed")
      .choices({"0", "1", "2", "3"});
  options.flag("--strict", strict, "refuse nodes that no listed target takes, instead of running them on the host");
}

void ModelArguments::declare(Options& options) {
  declare_target(options);
  options.values("--place", "NODE=TARGET", place, "put this node on this target; repeatable");
  options.values("--shape", "NAME=SHAPE", shapes,
                 "extent of a symbolic dimension, or shape of an input: batch=1, x=1x3x224x224; repeatable, and with "
                 "several shapes of one name the bundle has a program for each");
  options.value("--loop-limit", "N", loop_limit,
                fmt::format("iterations that a Loop may run whose condition or trip count depends on values, where no "
                            "constant trip count limits it; one more ends the run with exit code 1 (default {})",
                            import::kDefaultLoopLimit));
  options
      .value("--offload", "RULE", offload,
             "when a region leaves a target listed later: always, possible (default: unless its borders alone cost "
             "more than it costs there), cost (only if it saves more "
             "than its borders cost)")
      .choices({"always", "possible", "cost"});
  system.declare(options);
  options.values("--pass", "NAME", with_passes, "run this graph pass whatever the level says; repeatable");
  options.values("--no-pass", "NAME", without_passes, "leave out this graph pass; repeatable");
  options.value("--records", "DB", records,
                "take the best schedules that `dovetail tune` has recorded there, and the default ones for the rest",
                File::read_by_name);
  options.value(
      "--count-cycles", "N", count_cycles,
      "accelerator: count the cycles of the N schedules of each layer that the analytic cost thinks best, with this "
      "memory, and take what makes the network fastest; compiling takes a few times as long (default 1: the best by "
      "the "
      "analytic cost)");
  options.values(
      "--decide", "NAME=VALUE", decide,
      "take this value wherever a schedule decides NAME and may take it, as in slots_inp=1 (docs/howto/tuning.md); "
      "repeatable");
}

void ModelArguments::declare_cache(Options& options) {
  options.flag("--cache", cache,
               "take what was compiled of this model before, by this program and with these options, and keep what is "
               "compiled now (docs/reference/command-line.md)");
}

std::vector<std::string> ModelArguments::compile_only_options() const {
  std::vector<std::string> given;
  if (cache) given.emplace_back("--cache");
  if (!place.empty()) given.emplace_back("--place");
  if (!shapes.empty()) given.emplace_back("--shape");
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

// Of a bundle's report: what it was compiled for.
constexpr const char* kSystemEntry = "system";

// Compiles the model again for each of the other shapes. Error: bad input; `failure`: what compiling says.
Result<void> add_shapes(const std::string& path, std::span<const std::map<std::string, Shape>> shapes,
                        std::int64_t loop_limit, const CompileOptions& options, bundle::Bundle& bundle,
                        Diagnostics& failure) {
  std::vector<bundle::Bundle> programs{std::move(bundle)};
  for (const std::map<std::string, Shape>& set : shapes) {
    import::ImportOptions import_options;
    import_options.shapes = set;
    import_options.loop_limit = loop_limit;
    DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(path, std::move(import_options)));
    auto compiled = compile(std::move(imported), options);
    if (!compiled.ok()) {
      failure = compiled.errors();
      return {};
    }
    remember_shapes(compiled->bundle, compiled->integer);
    programs.push_back(std::move(compiled->bundle));
  }
  DOVETAIL_ASSIGN(bundle, combine_shapes(std::move(programs)));
  return {};
}

// What `find` finds, where it is given, and these decisions in any case.
schedule::FindRecorded with_decisions(const schedule::Decisions& decided, schedule::FindRecorded find) {
  return [decided, find = std::move(find)](const schedule::Task& task, const schedule::Sketch& sketch) {
    schedule::Recorded recorded = find ? find(task, sketch) : schedule::Recorded{};
    schedule::Decisions all = decided;
    if (recorded.decisions) all.insert(recorded.decisions->begin(), recorded.decisions->end());
    recorded.origin = recorded.decisions ? recorded.origin + ", and --decide" : "--decide";
    recorded.decisions = std::move(all);
    recorded.lenient = true;
    return recorded;
  };
}

// Error: a decision that no schedule has taken.
Result<void> check_taken(const schedule::Decisions& decided, const std::vector<ScheduleReport>& schedules) {
  for (const auto& [name, value] : decided)
    if (std::ranges::none_of(schedules, [&, name = name](const auto& row) { return row.origin.taken.contains(name); }))
      return Diagnostic{"bad value of --decide", name + "=" + value, "no schedule of the model decides that, or may",
                        "`--dump trace` shows what each decides, and among which values"};
  return {};
}

// Whose measurements count for each target, the first ones most.
std::map<std::string, std::vector<std::string>> machines_of(const ModelArguments& arguments,
                                                            const CompiledModel& model) {
  std::map<std::string, std::vector<std::string>> machines;
  machines[std::string(bundle::kAccelTarget)] = {explore::accel_machine(model.system.memory)};
  if (const auto processor = cpu::find_cpu(arguments.cpu); processor.ok()) {
    auto& all = machines[std::string(bundle::kCpuTarget)];
    all.push_back(
        explore::cpu_machine(*processor, arguments.threads > 0 ? arguments.threads : runtime::default_threads()));
    if (const std::string one = explore::cpu_machine(*processor, 1); one != all.front()) all.push_back(one);
  }
  if (std::ranges::find(model.targets, bundle::kCudaTarget) == model.targets.end()) return machines;
  // The GPU that is here; then any that was measured, as kernels are often compiled where there is none.
  auto& gpus = machines[std::string(bundle::kCudaTarget)];
  if (const auto device = runtime::cuda::find_device(); device.ok())
    gpus.push_back(explore::cuda_machine(device->name, device->capability));
  if (const auto records = tune::Records::open(*arguments.records, tune::Records::Open::read); records.ok())
    if (const auto known = records->summaries(); known.ok())
      for (const auto& summary : *known)
        if (summary.target == bundle::kCudaTarget && std::ranges::find(gpus, summary.machine) == gpus.end())
          gpus.push_back(summary.machine);
  return machines;
}

// What --count-cycles asks for; with records alone, whether they are worth it. What was decided by hand is not judged.
Result<accel::Counting> counting_of(const ModelArguments& arguments, const System& system) {
  constexpr std::int64_t kMostCandidates = 10'000;
  std::int64_t candidates = 1;
  if (arguments.count_cycles) {
    DOVETAIL_ASSIGN(candidates, parse_count("--count-cycles", *arguments.count_cycles, 1, kMostCandidates));
  }
  const bool judges_records = arguments.records && arguments.decide.empty();
  if (candidates == 1 && !judges_records) return accel::Counting{};
  return accel::Counting{explore::cycle_counter(system.memory), static_cast<int>(candidates)};
}

Result<passes::Level> parse_level(const std::string& level) {
  if (level.size() != 1 || level[0] < '0' || level[0] > '3')
    return Diagnostic{"bad value of -O", level, "the levels are 0, 1, 2 and 3", "leave it out for 2"};
  return static_cast<passes::Level>(level[0] - '0');
}

}  // namespace

Result<void> ModelArguments::check_target() const {
  DOVETAIL_ASSIGN(const std::vector<std::string> asked, parse_targets("--target", targets.value_or("")));
  DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(*this));
  if (const auto parsed = parse_level(level); !parsed) return parsed.errors();
  if (const auto made = make_targets({machine.hardware, machine.system.clock_mhz, cpu, gpu, tf32}, asked); !made)
    return made.errors();
  return {};
}

Result<isa::Machine> machine_of(const ModelArguments& arguments) {
  return isa::load_machine(arguments.hardware.value_or(kDefaultHardware));
}

Result<System> system_of(const ModelArguments& arguments) {
  DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(arguments));
  return resolve_system(machine.system, arguments.hardware.value_or(kDefaultHardware), arguments.system);
}

Result<System> system_of(const ModelArguments& arguments, const bundle::Bundle& bundle) {
  if (arguments.hardware) return system_of(arguments);
  isa::SystemConfig config;
  std::string from = "default";
  if (bundle.report.is_object() && bundle.report.contains(kSystemEntry)) {
    from = "the bundle";
    DOVETAIL_ASSIGN(config, isa::system_from_json(bundle.report[kSystemEntry],
                                                  fmt::format("{}, \"{}\"", arguments.model, kSystemEntry)));
  }
  return resolve_system(config, from, arguments.system);
}

namespace {

// `prepared`: targets, hardware and system.
Result<CompileOutcome> compile_anew(const ModelArguments& arguments, CompileOptions options, CompiledModel prepared) {
  CompileOutcome outcome;
  CompiledModel& model = outcome.model.emplace(std::move(prepared));
  import::ImportOptions import_options;
  DOVETAIL_ASSIGN(const auto shapes, parse_shapes(arguments.shapes));
  import_options.shapes = shapes.front();
  import_options.values = arguments.values;
  if (arguments.loop_limit) {
    DOVETAIL_ASSIGN(import_options.loop_limit,
                    parse_count("--loop-limit", *arguments.loop_limit, 1, ops::kMostIterations));
  }
  const std::int64_t loop_limit = import_options.loop_limit;
  DOVETAIL_ASSIGN(const auto places, parse_assignments("--place", arguments.place));

  const auto start = std::chrono::steady_clock::now();
  DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(arguments.model, std::move(import_options)));
  model.import_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  model.import = imported.report;
  if (arguments.rewrite) arguments.rewrite(imported.graph);

  std::vector<std::string> nodes;
  const std::function<void(const graph::Graph&)> add_nodes = [&](const graph::Graph& graph) {
    for (const graph::NodeId node : graph.live_nodes()) {
      nodes.push_back(graph.node(node).name);
      for (const auto& subgraph : graph.node(node).subgraphs) add_nodes(*subgraph);
    }
  };
  add_nodes(imported.graph);
  for (const auto& [given, target] : places) {
    DOVETAIL_ASSIGN(const std::string node, match_name("--place", "node", nodes, given));
    DOVETAIL_ASSIGN(const auto targets, parse_targets("--place", target));
    if (targets.size() != 1)
      return Diagnostic{"bad value of --place", given + "=" + target, "it names several targets", "name one"};
    options.place[node] = target;
  }
  DOVETAIL_ASSIGN(options.context.level, parse_level(arguments.level));
  options.with_passes = arguments.with_passes;
  options.without_passes = arguments.without_passes;
  DOVETAIL_TRY(check_names(options));
  options.strict = arguments.strict;
  const auto offload = offload_from_name(arguments.offload);
  if (!offload)
    return Diagnostic{"bad value of --offload", arguments.offload, "there is no such rule",
                      "rules: always, possible, cost"};
  options.offload = *offload;
  options.targets = model.targets;
  std::vector<std::string> asked = model.targets;
  for (const auto& [node, target] : options.place) asked.push_back(target);
  DOVETAIL_ASSIGN(accel::Counting counting, counting_of(arguments, model.system));
  DOVETAIL_ASSIGN(options.available, make_targets({model.hardware, model.system.clock_mhz, arguments.cpu, arguments.gpu,
                                                   arguments.tf32, std::move(counting), arguments.check_bounds},
                                                  asked));
  if (arguments.records) {
    DOVETAIL_ASSIGN(options.recorded, tune::recorded_schedules(*arguments.records, machines_of(arguments, model)));
  }
  DOVETAIL_ASSIGN(const auto decided, parse_assignments("--decide", arguments.decide));
  if (!decided.empty()) options.recorded = with_decisions(decided, std::move(options.recorded));
  if (auto processor = cpu::find_cpu("native"); processor.ok() && arguments.cpu != kInterpreter) {
    if (arguments.check_bounds) *processor = cpu::with_checked_bounds(*processor);
    options.context.evaluate = cpu::jit_evaluate(*processor);
  }
  PartsProgress progress;
  options.progress = [&](std::string_view what, std::int64_t done, std::int64_t all) {
    progress.show(what, done, all);
  };
  auto compiled = compile(std::move(imported), options);
  progress.end();
  if (compiled.ok() && options.stop_after.empty()) DOVETAIL_TRY(check_taken(decided, compiled->schedules));
  if (compiled.ok() && options.stop_after.empty()) remember_shapes(compiled->bundle, compiled->integer);
  if (compiled.ok()) model.compiled = *std::move(compiled);
  else outcome.failure = compiled.errors();
  if (compiled.ok() && shapes.size() > 1 && options.stop_after.empty()) {
    DOVETAIL_TRY(add_shapes(arguments.model, std::span(shapes).subspan(1), loop_limit, options, model.compiled.bundle,
                            outcome.failure));
  }
  if (!outcome.failure.empty()) {
    outcome.model.reset();
    return outcome;
  }
  Json& report = model.compiled.bundle.report;
  report[kSystemEntry] = isa::system_to_json(config_of(model.system));
  if (const auto entry = model.import.metadata.find(kPreprocessKey); entry != model.import.metadata.end())
    report[kPreprocessKey] = entry->second;
  return outcome;
}

}  // namespace

Result<CompileOutcome> compile_model(const ModelArguments& arguments, CompileOptions options) {
  CompiledModel model;
  if (!arguments.targets)
    return Diagnostic{"cannot compile", arguments.model, "no target is given", "add --target accel"};
  DOVETAIL_ASSIGN(model.targets, parse_targets("--target", *arguments.targets));
  DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(arguments));
  model.hardware = machine.hardware;
  DOVETAIL_ASSIGN(model.system, system_of(arguments));
  if (!arguments.cache) return compile_anew(arguments, std::move(options), std::move(model));
  DOVETAIL_ASSIGN(const CompiledCache cache, CompiledCache::of(arguments, options, model));
  if (auto found = cache.find(model)) return CompileOutcome{std::move(found), {}};
  DOVETAIL_ASSIGN(CompileOutcome outcome, compile_anew(arguments, std::move(options), std::move(model)));
  if (outcome.model)
    if (const auto kept = cache.keep(*outcome.model); !kept.ok())
      outcome.model->import.notes.push_back("not kept for --cache: " + to_string(kept.errors()));
  return outcome;
}

Result<bool> is_bundle_file(const std::string& path) {
  if (path.ends_with(bundle::kFileExtension)) return true;
  std::string head(bundle::format::kMagic.size(), '\0');
  std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head != bundle::format::kMagic) return false;
  return Diagnostic{"cannot take it for a model", path,
                    fmt::format("it is a bundle, and its name does not end in {}: only a file that is named so is "
                                "loaded as code",
                                bundle::kFileExtension),
                    fmt::format("name it {}{}", path, bundle::kFileExtension)};
}

namespace {

// What became of every imported node, and what the regions cost and move.
std::string placement_text(const Compiled& compiled) {
  if (compiled.placement.empty()) return {};
  TextTable nodes({"node", "operator", "runs on", "part of", ">estimate", ">Mop", ">bytes", "why"});
  for (const NodePlacement& row : compiled.placement) {
    if (row.cost) {
      std::string part = fmt::format("{}: {}", row.region, row.row);
      if (row.kernel.size() > 1 && row.kernel.front() != row.node)
        part += fmt::format(", kernel {}", row.kernel.front());
      nodes.add({row.node, row.op, row.target, part, seconds_text(row.cost->seconds),
                 fmt::format("{:.3f}", static_cast<double>(row.cost->operations) * 1e-6), bytes_text(row.cost->bytes),
                 row.why});
    } else {
      nodes.add({row.node, row.op, row.target, "", "", "", "",
                 row.pass.empty() ? row.why : fmt::format("{} ({})", row.why, row.pass)});
    }
  }
  const PlacementSummary& summary = compiled.summary;
  std::string totals;
  for (const auto& [target, count] : summary.nodes)
    totals += fmt::format("{}{} {}", totals.empty() ? "" : ", ", target, count);
  std::string text = fmt::format("nodes         {}\n\n{}\n", totals, nodes.to_string());
  TextTable regions(
      {"region", "target", ">operations", ">cycles", ">estimate", ">elsewhere", ">borders", ">reads", ">gives"});
  for (const RegionSummary& region : summary.regions)
    regions.add({region.name, region.target, fmt::format("{}", region.operations),
                 region.cost.cycles > 0 ? with_separators(region.cost.cycles) : "-", seconds_text(region.cost.seconds),
                 region.elsewhere ? seconds_text(region.elsewhere->seconds) : "-", seconds_text(region.border_seconds),
                 bytes_text(region.read_bytes), bytes_text(region.given_bytes)});
  text += macs_text(compiled.summary);
  return text + fmt::format("regions       {}; {} in {} tensors between targets, {} from the caller, {} to it\n\n{}\n",
                            summary.regions.size(), bytes_text(summary.moved_bytes), summary.moved_tensors,
                            bytes_text(summary.input_bytes), bytes_text(summary.output_bytes), regions.to_string());
}

// Which nodes share a kernel, under which schedule, and what their kernels cost; nothing where no machine code was
// made.
std::string kernels_text(const Json& report) {
  const Json& groups = report.at("groups");
  const Json& kernels = report.at("kernels");
  if (groups.empty() || kernels.empty()) return {};
  TextTable table({"kernel of nodes", "schedule", "notes"});
  for (const Json& group : groups)
    table.add({fmt::format("{}", fmt::join(group.at("nodes").get<std::vector<std::string>>(), " + ")),
               group.at("schedule").get<std::string>(),
               fmt::format("{}", fmt::join(group.at("notes").get<std::vector<std::string>>(), "; "))});
  std::uint64_t code_bytes = 0;
  double seconds = 0;
  for (const Json& kernel : kernels) {
    code_bytes += kernel.at("code_bytes").get<std::uint64_t>();
    seconds += kernel.at("compile_seconds").get<double>();
  }
  std::string text = fmt::format("groups        {}\n\n{}\n", groups.size(), table.to_string());
  text += fmt::format("kernels       {} distinct, {} of code, {} of compiling in all threads together\n",
                      kernels.size(), bytes_text(code_bytes), seconds_text(seconds));
  for (const Json& kernel : kernels)
    for (const Json& note : kernel.at("notes"))
      text += fmt::format("note          {}: {}\n", kernel.at("symbol").get<std::string>(), note.get<std::string>());
  return text;
}

std::vector<StageTime> all_stages(const CompiledModel& model) {
  std::vector<StageTime> stages = model.compiled.stages;
  if (!model.from_cache) stages.insert(stages.begin(), {"import", model.import_seconds});
  return stages;
}

// Which schedules come from records, or were counted; nothing where nobody looked for that.
std::string schedules_text(const std::vector<ScheduleReport>& schedules) {
  if (schedules.empty()) return {};
  TextTable table({"kernel", "target", "kind", "task", "schedule"});
  for (const ScheduleReport& row : schedules)
    table.add({row.name, row.target, row.kind, row.origin.key, row.origin.text});
  const auto count = [&](bool schedule::Origin::*how) {
    return std::ranges::count_if(schedules, [&](const auto& row) { return row.origin.*how; });
  };
  return fmt::format("schedules     {} of {} by records, {} counted\n\n{}\n", count(&schedule::Origin::recorded),
                     schedules.size(), count(&schedule::Origin::counted), table.to_string());
}

}  // namespace

std::string report_text(const CompiledModel& model, const std::string& path) {
  std::string operators;
  for (const auto& [name, count] : model.import.operators)
    operators += fmt::format("{}{} {}", operators.empty() ? "" : ", ", count, name);
  std::string text = fmt::format("model         {}: ONNX IR {}, opset {}, {}\n", path, model.import.ir_version,
                                 model.import.opset, operators);
  for (const std::string& note : model.import.notes) text += fmt::format("note          {}\n", note);
  text += fmt::format("targets       {}\n", fmt::join(model.targets, ", "));
  if (std::ranges::find(model.targets, "accel") != model.targets.end())
    text += fmt::format("hardware      {}\n", config_text(model.hardware)) + system_text(model.system);

  text += placement_text(model.compiled);
  text += left_text(left_accelerator(model.compiled.placement, model.compiled.summary, model.targets));
  text += estimate_text(model.compiled.summary, model.system);
  text += kernels_text(model.compiled.report);
  text += schedules_text(model.compiled.schedules);
  for (const CodeReport& code : model.compiled.codes)
    text += fmt::format("code          {}: {}\n", code.region, code.text);
  const bundle::ProgramSummary summary = bundle::summarize(model.compiled.bundle);
  if (summary.instructions > 0) text += program_text(summary);
  std::vector<std::string> stages;
  for (const StageTime& stage : all_stages(model))
    stages.push_back(fmt::format("{} {}", stage.name, seconds_text(stage.seconds)));
  text += fmt::format("time          {}\n", fmt::join(stages, ", "));
  return text;
}

Json report_json(const CompiledModel& model, const std::string& path) {
  Json stages = Json::array();
  for (const StageTime& stage : all_stages(model)) stages.push_back({{"name", stage.name}, {"seconds", stage.seconds}});
  Json placement = Json::array();
  for (const NodePlacement& row : model.compiled.placement) placement.push_back(to_json(row));
  return {{"kind", "compile"},
          {"model", path},
          {"import",
           {{"ir_version", model.import.ir_version},
            {"opset", model.import.opset},
            {"producer", model.import.producer},
            {"operators", model.import.operators},
            {"notes", model.import.notes}}},
          {"targets", model.targets},
          {"hardware", isa::config_to_json(model.hardware)},
          {"system", to_json(model.system)},
          {"estimate", estimate_json(model.compiled.summary, model.system)},
          {"left_accelerator",
           left_json(left_accelerator(model.compiled.placement, model.compiled.summary, model.targets))},
          {"placement", placement},
          {"summary", to_json(model.compiled.summary)},
          {"program", bundle::to_json(bundle::summarize(model.compiled.bundle))},
          {"stages", stages},
          {"compiler", model.compiled.report}};
}

}  // namespace dovetail::cli
