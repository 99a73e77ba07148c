#include "explore/sweep/workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/difference.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "bundle/code/accel.h"
#include "compiler/pipeline.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/host/target.h"
#include "explore/check/reference_check.h"
#include "isa/system.h"
#include "simulator/cycle/cycle.h"
#include "simulator/run_launches.h"
#include "simulator/trace/profile.h"

namespace dovetail::explore {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 1;
constexpr std::string_view kEqual = "equal";

NdArray random_array(const graph::Value& value) {
  SplitMix64 random(kSeed ^ fnv1a(value.name));
  NdArray array(value.type.dtype, value.type.shape);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const std::uint64_t bits = random.next() >> 32;
    if (is_floating(value.type.dtype)) array.set_double(i, static_cast<double>(bits) * 0x1p-31 - 1);
    else if (value.type.dtype == DType::boolean) array.set_int64(i, static_cast<std::int64_t>(bits & 1));
    else array.set_int64(i, static_cast<std::int64_t>(bits & 255) - (is_signed_integer(value.type.dtype) ? 128 : 0));
  }
  return array;
}

// Generates machine code if this processor is supported, else interprets.
TargetPointer host_processor() { return cpu::make_native_target(); }

// Integers are equal, and floats within the rounding of machine code.
bool agree(const NdArray& actual, const NdArray& expected) {
  return actual.dtype() == expected.dtype() && actual.shape() == expected.shape() &&
         !find_difference(expected, actual, {kMachineCodeTolerance});
}

simulator::Dram image_of(const bundle::Bundle& bundle, const bundle::AccelCode& code) {
  const bundle::MemorySpace& space = bundle.spaces[static_cast<std::size_t>(code.space)];
  return {space.base, bundle::initial_image(space, code)};
}

}  // namespace

struct Workload::Expected {
  std::once_flag once;
  std::map<std::string, NdArray> inputs, outputs;
  Diagnostics errors;
};

Result<import::Imported> import_model(const ModelFile& file) {
  return file.content ? import::import_onnx(*file.content, file.path) : import::import_onnx_file(file.path);
}

Result<Workload> Workload::make(std::span<const ModelFile> files) {
  Workload workload;
  Hash hash;
  workload.expected_ = std::make_shared<std::vector<std::unique_ptr<Expected>>>();
  for (const ModelFile& file : files) {
    std::vector<std::byte> bytes;
    if (file.content) {
      bytes = *file.content;
    } else {
      DOVETAIL_ASSIGN(bytes, import::read_onnx_file(file.path));
    }
    hash.add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    hash.add(fmt::format("{}", file.weight));
    DOVETAIL_ASSIGN(import::Imported imported, import_model(file));
    CompileOptions options;
    options.available = {host::make_target()};
    options.stop_after = "graph";
    if (const auto processor = cpu::find_cpu("native"); processor.ok())
      options.context.evaluate = cpu::jit_evaluate(*processor);
    DOVETAIL_ASSIGN(Compiled compiled, dovetail::compile(std::move(imported), options));
    for (const graph::NodeId id : compiled.optimized.live_nodes())
      if (const graph::Node& node = compiled.optimized.node(id); !node.subgraphs.empty())
        return Diagnostic{"cannot explore the model", fmt::format("{}, node {} ({})", file.path, node.name, node.op),
                          "what the node runs depends on values, so the model has no fixed number of cycles",
                          "explore the parts that always run as a separate model"};
    const std::string name = fs::path(file.path).stem().string();
    // Models are often stored as MODEL/model.onnx.
    const std::string folder = fs::path(file.path).parent_path().filename().string();
    workload.models_.push_back({!file.name.empty()                   ? file.name
                                : name == "model" && !folder.empty() ? folder
                                                                     : name,
                                file.path, file.weight, std::move(compiled.optimized)});
    workload.expected_->push_back(std::make_unique<Expected>());
  }
  workload.key_ = hash.text();
  return workload;
}

Result<Programs> Workload::compile(const isa::HardwareConfig& hardware, const accel::Division& division) const {
  Programs programs{hardware, {}, division.divides() ? division.accelerators : 1};
  for (const Model& model : models_) {
    CompileOptions options;
    options.available = {accel::make_target(hardware, isa::SystemConfig{}.clock_mhz, memo_, {}, division),
                         host::make_target()};
    options.targets = {std::string(bundle::kAccelTarget)};
    options.graph_passes = false;
    options.keep_graphs = false;
    DOVETAIL_ASSIGN(Compiled compiled, dovetail::compile({model.graph, {}}, options));
    Programs::Model made{std::move(compiled.bundle), {}, 0, 0, {}};
    DOVETAIL_ASSIGN(auto steps, bundle::accel_steps(made.bundle));
    for (auto& step : steps) made.steps.push_back({made.bundle.steps[step.index].name, std::move(step.code)});
    for (const auto& [target, macs] : compiled.summary.macs) {
      made.macs += macs;
      if (bundle::runs_on(bundle::TargetDevice::accelerator, target)) made.accel_macs += macs;
    }
    for (const NodePlacement& row : compiled.placement) {
      if (!row.cost || row.cost->macs == 0 || bundle::runs_on(bundle::TargetDevice::accelerator, row.target)) continue;
      std::string why = row.why;
      for (std::size_t i = 0; i < row.refused.size(); ++i)
        why = i == 0 ? row.refused[i].why : fmt::format("{}; {}", why, row.refused[i].why);
      made.left_out.push_back({row.node, row.cost->macs, std::move(why)});
    }
    std::ranges::stable_sort(made.left_out, std::greater{}, &Programs::Model::LeftOut::macs);
    programs.models.push_back(std::move(made));
  }
  return programs;
}

Result<std::vector<ModelTime>> Workload::time(const Programs& programs, const simulator::MemorySpec& memory,
                                              std::int64_t accelerators, Work* work) const {
  std::vector<ModelTime> times;
  for (const Programs::Model& model : programs.models) {
    ModelTime time;
    for (const Programs::Step& step : model.steps) {
      simulator::EngineOptions options;
      options.memory = memory;
      options.accelerators = accelerators;
      options.by_launch = programs.divided > 1;
      options.work = work;
      const auto simulator = simulator::make_cycle_timing(programs.hardware, options);
      simulator::Dram dram = image_of(model.bundle, step.code);
      DOVETAIL_TRY(simulator::run_launches(*simulator, step.code.program, step.code.launches, dram,
                                           [&](const simulator::Ended& ended) {
                                             time.counters += ended.sum();
                                             time.cycles += ended.timing->cycles;
                                           }));
    }
    times.push_back(std::move(time));
  }
  return times;
}

Result<const Workload::Expected*> Workload::expected(std::size_t index) const {
  Expected& expected = *(*expected_)[index];
  const graph::Graph& graph = models_[index].graph;
  std::call_once(expected.once, [&] {
    for (const graph::ValueId input : graph.inputs)
      expected.inputs.emplace(graph.value(input).name, random_array(graph.value(input)));
    CompileOptions options;
    options.available = {host_processor()};
    options.graph_passes = false;
    options.keep_graphs = false;
    const auto compute = [&]() -> Result<void> {
      DOVETAIL_ASSIGN(Compiled compiled, dovetail::compile({graph, {}}, options));
      DOVETAIL_ASSIGN(const runtime::MakeSimulator none, runtime::simulator_factory("functional"));
      DOVETAIL_ASSIGN(runtime::Executor executor,
                      runtime::Executor::make(std::move(compiled.bundle), none, {.threads = 1}));
      DOVETAIL_ASSIGN(runtime::RunResult result, executor.run(expected.inputs));
      expected.outputs = std::move(result.outputs);
      return {};
    };
    expected.errors = compute().errors();
  });
  if (!expected.errors.empty()) return expected.errors;
  return &expected;
}

namespace {

// The rule of `dovetail run --check`.
Result<std::string> outcome_by_reference(const graph::Graph& graph, const bundle::Bundle& bundle,
                                         const std::map<std::string, NdArray>& inputs, runtime::RunResult& run) {
  add_logical_tensors(bundle, graph, run);
  DOVETAIL_ASSIGN(const ReferenceCheck check, check_against_reference(graph, inputs, run, kMachineCodeTolerance));
  if (!check.first.empty()) return check.first;
  return check.stepped == 0
             ? std::string(kEqual)
             : fmt::format("{}, with {} values one step off after a rounded float", kEqual, check.stepped);
}

}  // namespace

Result<std::vector<ModelCheck>> Workload::run(const Programs& programs, const runtime::MakeSimulator& make) const {
  std::vector<ModelCheck> checks;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    DOVETAIL_ASSIGN(const Expected* reference, expected(i));
    DOVETAIL_ASSIGN(runtime::Executor executor,
                    runtime::Executor::make(programs.models[i].bundle, make, {.threads = 1}));
    DOVETAIL_ASSIGN(runtime::RunResult result, executor.run(reference->inputs));
    ModelCheck check{.time = {}, .outcome = std::string(kEqual)};
    if (std::ranges::any_of(reference->outputs, [&](const auto& output) {
          return !agree(result.outputs.at(output.first), output.second);
        })) {
      DOVETAIL_ASSIGN(result, executor.run(reference->inputs, {.keep_tensors = true}));
      const auto outcome = outcome_by_reference(models_[i].graph, programs.models[i].bundle, reference->inputs, result);
      if (!outcome.ok()) {
        Diagnostic error = outcome.errors().front();
        error.where = fmt::format("{}, {}", models_[i].name, error.where);
        return error;
      }
      check.outcome = *outcome;
    }
    for (const runtime::StepProfile& step : result.steps)
      for (const runtime::TimedLaunch& launch : step.launches) check.time.cycles += launch.trace.cycles;
    check.time.counters = result.counters;
    checks.push_back(std::move(check));
  }
  return checks;
}

Json to_json(const LayerTime& layer) {
  Json by_cause = Json::object();
  for (std::size_t c = 0; c < layer.by_cause.size(); ++c)
    by_cause[std::string(simulator::kCycleCauseNames[c])] = layer.by_cause[c];
  return {{"layer", layer.name},
          {"cycles", layer.cycles},
          {"bound", layer.bound},
          {"bound_by", layer.bound_by},
          {"useful_macs", layer.useful_macs},
          {"bytes_read", layer.bytes_read},
          {"bytes_written", layer.bytes_written},
          {"energy_mj", layer.energy_mj},
          {"cycles_by_cause", std::move(by_cause)}};
}

Result<std::vector<LayerTime>> Workload::layers(const Programs& programs, std::size_t model,
                                                const simulator::MemorySpec& memory, std::int64_t accelerators) const {
  std::vector<LayerTime> layers;
  LayerTime after;
  const bundle::Bundle& bundle = programs.models[model].bundle;
  for (const Programs::Step& step : programs.models[model].steps) {
    simulator::EngineOptions options;
    options.memory = memory;
    options.accelerators = accelerators;
    options.by_launch = programs.divided > 1;
    options.trace = true;
    const auto simulator = simulator::make_cycle_timing(programs.hardware, options);
    simulator::Dram dram = image_of(bundle, step.code);
    simulator::Trace trace;
    std::map<std::string, std::uint32_t> known{{"", 0}};
    simulator::TracedProgram traced{.name = step.name,
                                    .config = programs.hardware,
                                    .program = step.code.program,
                                    .launches = {},
                                    .what_if = {},
                                    .useful_macs = {},
                                    .divided = programs.divided,
                                    .ranges = {},
                                    .others = {},
                                    .accelerators = {}};
    std::vector<std::uint32_t> sources(step.code.program.size(), 0);
    for (const bundle::InstructionRange& range : step.code.ranges) {
      const auto [at, is_new] = known.try_emplace(range.name, static_cast<std::uint32_t>(trace.sources.size()));
      if (is_new) trace.sources.push_back(range.name);
      std::fill(sources.begin() + static_cast<std::ptrdiff_t>(range.begin),
                sources.begin() + static_cast<std::ptrdiff_t>(range.end), at->second);
      if (range.macs) traced.useful_macs[range.name] += *range.macs;
      if (programs.divided > 1) traced.ranges.push_back({range.begin, range.end, range.name});
    }
    DOVETAIL_TRY(simulator::run_launches(*simulator, step.code.program, step.code.launches, dram,
                                         [&](const simulator::Ended& ended) {
                                           traced.launches.push_back(ended.last);
                                           trace.launches.push_back(*ended.timing);
                                           for (simulator::TraceEvent& event : trace.launches.back().events)
                                             event.source = sources[event.instruction];
                                         }));
    const simulator::Profile profile = simulator::profile(trace, 0, traced, memory);
    after.cycles += profile.after.cycles;
    for (std::size_t c = 0; c < after.by_cause.size(); ++c) after.by_cause[c] += profile.after.by_cause[c];
    for (const simulator::ProfilePart& part : profile.layers)
      layers.push_back({.name = part.name,
                        .cycles = part.cycles,
                        .bound = part.bounds.tightest(),
                        .useful_macs = part.useful_macs.value_or(0),
                        .bytes_read = part.bytes_read,
                        .bytes_written = part.bytes_written,
                        .bound_by = std::string(part.bounds.tightest_name()),
                        .counters = part.counters,
                        .by_cause = part.by_cause});
    for (std::size_t i = 0; i < profile.layers.size(); ++i)
      layers[layers.size() - profile.layers.size() + i].counters += profile.layers[i].others;
  }
  layers.push_back(std::move(after));
  return layers;
}

}  // namespace dovetail::explore
