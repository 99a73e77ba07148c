#include "driver/compile_model.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/assemble/combine_shapes.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/tune/recorded_schedules.h"
#include "driver/compiled_cache.h"
#include "driver/design_clock.h"
#include "driver/kept_tensors.h"
#include "driver/names.h"
#include "driver/preprocess.h"
#include "driver/targets.h"
#include "driver/tuning.h"
#include "driver/work_shares.h"
#include "explore/measure/count_cycles.h"
#include "isa/nearest.h"

namespace dovetail::driver {

namespace {

TargetOptions target_options(const ModelOptions& options, const isa::HardwareConfig& hardware, double clock_mhz) {
  return {.hardware = hardware,
          .clock_mhz = clock_mhz,
          .cpu = options.cpu,
          .gpu = options.gpu,
          .tf32 = options.tf32,
          .check_bounds = options.check_bounds,
          .exported = options.exported};
}

// The names without those of the caller's targets.
std::vector<std::string> of_the_kit(const ModelOptions& options, std::vector<std::string> names) {
  for (const TargetPointer& own : options.own_targets) std::erase(names, own->name());
  return names;
}

// Adds the names of the nodes of the graph and of all graphs within its nodes.
void add_node_names(const graph::Graph& graph, std::vector<std::string>& names) {
  for (const graph::NodeId node : graph.live_nodes()) {
    names.push_back(graph.node(node).name);
    for (const auto& subgraph : graph.node(node).subgraphs) add_node_names(*subgraph, names);
  }
}

Result<std::map<std::string, std::string>> places_of(const ModelOptions& options, const graph::Graph& graph) {
  std::vector<std::string> nodes;
  add_node_names(graph, nodes);
  std::map<std::string, std::string> places;
  for (const auto& [given, target] : options.place) {
    DOVETAIL_ASSIGN(const std::string node, match_name("--place", "node", nodes, given));
    DOVETAIL_TRY(check_targets("--place", of_the_kit(options, {target})));
    places[node] = target;
  }
  return places;
}

// Returns the records of `find`, if there is one, with these decisions in addition.
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

// A decision that no schedule used: its name is unknown, its value is, or it does not fit other decisions.
Diagnostic not_taken(const std::string& name, const std::string& value, const std::vector<ScheduleReport>& schedules) {
  std::set<std::string_view> names;
  std::vector<std::string_view> values;
  for (const ScheduleReport& row : schedules)
    for (const auto& [other, space] : row.origin.spaces) {
      names.insert(other);
      if (other != name) continue;
      for (const std::string& each : space.values)
        if (std::ranges::find(values, each) == values.end()) values.push_back(each);
    }
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"invalid value for --decide", name + "=" + value, std::move(why), std::move(hint)};
  };
  const std::string listed =
      "`dovetail compile --dump trace` shows the decisions of each schedule and their values (one is taken in every "
      "schedule that has its name)";
  if (names.empty()) return bad("no schedule of the model has decisions", "remove it; " + listed);
  if (!names.contains(name))
    return bad("no schedule of the model has a decision of this name",
               fmt::format("{}; {}", isa::suggestion(name, std::vector(names.begin(), names.end())), listed));
  if (std::ranges::find(values, value) == values.end())
    return bad("no schedule of the model has this value of the decision",
               fmt::format("the values are {}; {}", fmt::join(values, ", "), listed));
  return bad("no schedule of the model can combine this value with its other decisions",
             "choose another value, or remove other decisions; " + listed);
}

Result<void> check_taken(const schedule::Decisions& decided, const std::vector<ScheduleReport>& schedules) {
  Diagnostics problems;
  for (const auto& [name, value] : decided)
    if (std::ranges::none_of(schedules, [&, name = name](const auto& row) { return row.origin.taken.contains(name); }))
      problems.push_back(not_taken(name, value, schedules));
  return problems;
}

// Cycles are counted only with records, to check that they pay off. Decisions made by hand are not checked.
accel::Counting counting_of(const ModelOptions& options, const System& system) {
  const bool judges_records = options.records && options.decide.empty();
  if (options.counted_candidates == 1 && !judges_records) return {};
  return {explore::cycle_counter(system.memory, system.accelerators), static_cast<int>(options.counted_candidates)};
}

// Evaluates constants by machine code for this machine, if code generation is possible.
passes::Evaluate evaluation_of(const ModelOptions& options) {
  auto processor = cpu::find_cpu("native");
  if (!processor.ok() || options.cpu == kInterpreter) return passes::interpreter_evaluate();
  if (options.check_bounds) *processor = cpu::with_checked_bounds(*processor);
  return cpu::jit_evaluate(*processor);
}

// Fills in the options of `compile` that callers do not set.
Result<CompileOptions> complete(const ModelOptions& options, const CompiledModel& model, const graph::Graph& graph,
                                CompileOptions compile) {
  DOVETAIL_ASSIGN(compile.place, places_of(options, graph));
  compile.context.level = options.level;
  compile.with_passes = options.with_passes;
  compile.without_passes = options.without_passes;
  DOVETAIL_TRY(check_names(compile));
  compile.strict = options.strict;
  compile.offload = options.offload;
  compile.targets = model.targets;
  std::vector<std::string> asked = model.targets;
  for (const auto& [node, target] : compile.place) asked.push_back(target);
  TargetOptions target = target_options(options, model.hardware, model.system.clock_mhz);
  target.counting = counting_of(options, model.system);
  if (model.system.divides_samples())
    target.division = {model.system.accelerators, model.system.split,
                       explore::cycle_counter(model.system.memory, model.system.accelerators), std::nullopt,
                       model.system.others};
  DOVETAIL_ASSIGN(compile.available, make_targets(target, asked));
  compile.available.insert(compile.available.end(), options.own_targets.begin(), options.own_targets.end());
  if (options.records) {
    DOVETAIL_ASSIGN(compile.recorded, tune::recorded_schedules(*options.records, measured_machines(options, model)));
  }
  if (!options.decide.empty()) compile.recorded = with_decisions(options.decide, std::move(compile.recorded));
  compile.context.evaluate = evaluation_of(options);
  return compile;
}

Result<import::Imported> import_model(const ModelOptions& options, const std::map<std::string, Shape>& shapes) {
  import::ImportOptions import_options;
  import_options.shapes = shapes;
  import_options.batch = options.batch;
  import_options.values = options.values;
  import_options.loop_limit = options.loop_limit;
  return import_source(options.source(), std::move(import_options));
}

// The bundle with a program for each of the other shapes added.
Result<bundle::Bundle> with_other_shapes(const ModelOptions& options, const CompileOptions& compile,
                                         bundle::Bundle bundle) {
  std::vector<bundle::Bundle> programs{std::move(bundle)};
  for (const std::map<std::string, Shape>& shapes : std::span(options.shapes).subspan(1)) {
    ModelOptions other = options;
    other.values.clear();
    DOVETAIL_ASSIGN(import::Imported imported, import_model(other, shapes));
    auto compiled = dovetail::compile(std::move(imported), compile);
    if (!compiled.ok()) return failed_work(compiled.errors());
    remember_shapes(compiled->bundle, compiled->integer);
    programs.push_back(std::move(compiled->bundle));
  }
  return combine_shapes(std::move(programs));
}

Result<bundle::TensorIndex> find_tensor(const bundle::Bundle& bundle, const std::vector<bundle::TensorIndex>& among,
                                        std::string_view kind, const std::string& name) {
  std::vector<std::string> names;
  for (const bundle::TensorIndex index : among) names.push_back(bundle.tensors[static_cast<std::size_t>(index)].name);
  DOVETAIL_ASSIGN(const std::string found, match_name("--state", kind, names, name));
  return among[static_cast<std::size_t>(std::ranges::find(names, found) - names.begin())];
}

// "past.*" = "present.*" for every input that begins with "past.". An input that is also given by its own name has that
// output.
Result<std::map<std::string, std::string>> expanded(const std::map<std::string, std::string>& states,
                                                    const bundle::Bundle& bundle) {
  std::map<std::string, std::string> all;
  for (const auto& [from, to] : states) {
    const std::size_t star = from.find('*'), place = to.find('*');
    const std::string head = from.substr(0, star), tail = star == from.npos ? "" : from.substr(star + 1);
    if (star == from.npos || place == to.npos) {
      all.insert_or_assign(from, to);
      continue;
    }
    bool matches = false;
    for (const bundle::TensorIndex input : bundle.inputs) {
      const std::string& name = bundle.tensors[static_cast<std::size_t>(input)].name;
      if (name.size() < head.size() + tail.size() || !name.starts_with(head) || !name.ends_with(tail)) continue;
      matches = true;
      all.emplace(name, std::string(to).replace(place, 1, name.substr(star, name.size() - head.size() - tail.size())));
    }
    if (matches) continue;
    std::vector<std::string> names;
    for (const bundle::TensorIndex input : bundle.inputs)
      names.push_back(bundle.tensors[static_cast<std::size_t>(input)].name);
    return Diagnostic{"invalid value for --state", fmt::format("{}={}", from, to), "no input has such a name",
                      fmt::format("the inputs are {}", fmt::join(names, ", "))};
  }
  return all;
}

// Makes the inputs that `given` names states of the bundle and of its programs for other shapes.
Result<void> add_states(const std::map<std::string, std::string>& given, bundle::Bundle& bundle) {
  DOVETAIL_ASSIGN(const auto states, expanded(given, bundle));
  Diagnostics problems;
  for (const auto& [from, to] : states) {
    DOVETAIL_ASSIGN(const bundle::TensorIndex input, find_tensor(bundle, bundle.inputs, "input", from));
    DOVETAIL_ASSIGN(const bundle::TensorIndex output, find_tensor(bundle, bundle.outputs, "output", to));
    const bundle::Tensor &in = bundle.tensors[static_cast<std::size_t>(input)],
                         &out = bundle.tensors[static_cast<std::size_t>(output)];
    const auto bad = [&](std::string why, std::string hint) {
      problems.push_back(
          {"invalid value for --state", fmt::format("{}={}", from, to), std::move(why), std::move(hint)});
    };
    if (in.dtype != out.dtype || in.shape != out.shape)
      bad(fmt::format("the input is {}{}, and the output is {}{}", name(in.dtype), to_string(in.shape), name(out.dtype),
                      to_string(out.shape)),
          "a state keeps its type and shape: write into a cache of fixed length (TensorScatter, ScatterElements)");
    else if (std::ranges::find(bundle.extents, output, &bundle::OutputExtent::output) != bundle.extents.end())
      bad("the output's extent depends on values", "a state keeps its shape");
    else if (std::ranges::find(bundle.states, output, &bundle::State::output) != bundle.states.end())
      bad("the output is that of another state", "give each state an output");
    else bundle.states.push_back({input, output});
  }
  if (!problems.empty()) return problems;
  for (bundle::Bundle& other : bundle.other_shapes) DOVETAIL_TRY(add_states(given, other));
  return {};
}

// `model` has targets, hardware and system.
Result<CompiledModel> compile_anew(const ModelOptions& options, CompileOptions compile, CompiledModel model) {
  const auto start = std::chrono::steady_clock::now();
  DOVETAIL_ASSIGN(import::Imported imported, import_model(options, options.shapes.front()));
  model.import_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  model.import = imported.report;
  if (options.rewrite) options.rewrite(imported.graph);

  DOVETAIL_ASSIGN(compile, complete(options, model, imported.graph, std::move(compile)));
  auto compiled = dovetail::compile(std::move(imported), compile);
  if (!compiled.ok()) return failed_work(compiled.errors());
  model.compiled = *std::move(compiled);
  if (compile.stop_after.empty()) {
    DOVETAIL_TRY(check_taken(options.decide, model.compiled.schedules));
    remember_shapes(model.compiled.bundle, model.compiled.integer);
    if (options.shapes.size() > 1) {
      DOVETAIL_ASSIGN(model.compiled.bundle, with_other_shapes(options, compile, std::move(model.compiled.bundle)));
    }
    DOVETAIL_TRY(add_states(options.states, model.compiled.bundle));
  }

  Json& report = model.compiled.bundle.report;
  report[kSystemEntry] = isa::system_to_json(config_of(model.system));
  if (const auto left = left_accelerator(model.compiled.placement, model.compiled.summary, model.targets))
    report[kLeftEntry] = to_json(*left);
  if (const auto entry = model.import.metadata.find(kPreprocessKey); entry != model.import.metadata.end())
    report[kPreprocessKey] = entry->second;
  return model;
}

}  // namespace

Result<isa::Machine> machine_of(const ModelOptions& options) {
  return isa::load_machine(options.hardware.value_or(kDefaultHardware));
}

Result<System> system_of(const ModelOptions& options) {
  DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(options));
  DOVETAIL_ASSIGN(const SystemChanges changes, with_clock_model(machine, options.system));
  return resolve_system(machine.system, options.hardware.value_or(kDefaultHardware), changes);
}

Result<System> system_of(const ModelOptions& options, const bundle::Bundle& bundle) {
  if (options.hardware) return system_of(options);
  isa::SystemConfig config;
  std::string from = "default";
  if (bundle.report.is_object() && bundle.report.contains(kSystemEntry)) {
    from = "the bundle";
    DOVETAIL_ASSIGN(config, isa::system_from_json(bundle.report[kSystemEntry],
                                                  fmt::format("{}, \"{}\"", options.path, kSystemEntry)));
  }
  if (options.system.split && *options.system.split != config.split && config.accelerators > 1)
    return Diagnostic{"cannot run the bundle with this split", std::string(isa::name(*options.system.split)),
                      fmt::format("the bundle was compiled for accelerators that divide {}", isa::name(config.split)),
                      "compile the model for it"};
  return resolve_system(config, from, options.system);
}

Result<void> check_target_options(const ModelOptions& options) {
  DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(options));
  const auto made = make_targets(target_options(options, machine.hardware, machine.system.clock_mhz), options.targets);
  return made.ok() ? Result<void>() : made.errors();
}

Result<CompiledModel> compile_model(const ModelOptions& options, CompileOptions compile) {
  if (options.path.empty() && options.layers.empty())
    return Diagnostic{"cannot compile", "the model", "no model is given",
                      fmt::format("name an .onnx file, or give a layer by its shape: --layer \"{}\"", kLayerExample)};
  if (options.targets.empty())
    return Diagnostic{"cannot compile", options.title(), "no target is given", "add --target accel"};
  DOVETAIL_TRY(check_targets("--target", of_the_kit(options, options.targets)));
  CompiledModel model;
  model.targets = options.targets;
  DOVETAIL_ASSIGN(const isa::Machine machine, machine_of(options));
  model.hardware = machine.hardware;
  DOVETAIL_ASSIGN(model.system, system_of(options));
  if (!options.cache) return compile_anew(options, std::move(compile), std::move(model));
  DOVETAIL_ASSIGN(const CompiledCache cache, CompiledCache::of(options, compile, model));
  if (auto found = cache.find(model)) return *std::move(found);
  DOVETAIL_ASSIGN(model, compile_anew(options, std::move(compile), std::move(model)));
  if (const auto kept = cache.keep(model); !kept.ok())
    model.import.notes.push_back("not kept for --cache: " + to_string(kept.errors()));
  return model;
}

}  // namespace dovetail::driver
