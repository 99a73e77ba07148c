#include "driver/compare_model.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/processor.h"
#include "bundle/code/accel.h"
#include "bundle/code/target_facts.h"
#include "compiler/quantize/strip_qdq.h"
#include "compiler/reference/reference.h"
#include "driver/design_clock.h"
#include "driver/latency.h"
#include "driver/session.h"
#include "driver/targets.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"
#include "explore/check/reference_check.h"
#include "explore/measure/gpu_energy.h"
#include "explore/measure/package_energy.h"
#include "isa/verify/token_machine.h"
#include "runtime/device/cuda/context.h"

namespace dovetail::driver {

namespace {

using bundle::TargetDevice;
using Clock = std::chrono::steady_clock;

constexpr double kMeasuredSeconds = 2;  // without --repeat
constexpr std::size_t kLeastRuns = 5, kMostRuns = 200;
constexpr std::size_t kAcceleratedRuns = 3;  // for steps on other targets; each run also simulates the accelerator

std::vector<std::string_view> split(std::string_view names) {
  std::vector<std::string_view> list;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    list.push_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return list;
}

const TargetRow& target_row(std::string_view name) {
  return *std::ranges::find(target_table(), name, &TargetRow::name);
}

// Whether the graph has operators of the integer form.
bool is_integer(const graph::Graph& graph) {
  const auto nodes = graph.live_nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](graph::NodeId id) { return graph.node(id).op.starts_with("dovetail.q"); });
}

// Shared by all rows: the inputs, and the reference's outputs for them.
struct Expected {
  std::map<std::string, NdArray> inputs, outputs;
  bool of_integers = false;  // of the integer graph
};

// A meter for the energy of runs on a target.
struct Meter {
  std::string name;                                  // "RAPL of 2 packages"
  std::string why;                                   // why there is no meter
  std::function<Result<double>()> joules = nullptr;  // energy since the meter was made; null: there is no meter
};
template <typename Energy>
Meter meter(std::string_view source, std::string name, Result<Energy> energy) {
  if (!energy.ok()) {
    const Diagnostic& error = energy.errors().front();
    return {{}, fmt::format("{}: {}{}", source, error.where == source ? "" : error.where + ": ", error.why)};
  }
  return {std::move(name), {}, [energy = std::make_shared<Energy>(*std::move(energy))] { return energy->joules(); }};
}
Meter meter_of(std::string_view target) {
  if (bundle::runs_on(TargetDevice::gpu, target)) {
    const auto device = runtime::cuda::find_device();
    if (!device.ok()) return {{}, "NVML: " + device.errors().front().why};
    return meter("NVML", fmt::format("NVML of {}", device->name), explore::GpuEnergy::open(device->pci_bus));
  }
  auto energy = explore::PackageEnergy::open();
  const std::size_t packages = energy.ok() ? energy->packages() : 0;
  return meter("RAPL", fmt::format("RAPL of {} package{}", packages, packages == 1 ? "" : "s"), std::move(energy));
}

// The rows of one model.
struct ModelOutcome {
  ComparedModel model;
  std::vector<std::string> announcements;  // of inputs
  Diagnostics failure;
};

class Comparer {
 public:
  Comparer(const ModelOptions& model, const CompareOptions& options) : model_(model), options_(options) {
    outcome_.model.file = model.title();
    outcome_.model.batch = model.batch.value_or(1);
  }

  Result<ModelOutcome> run() {
    for (const std::string& target : options_.targets) {
      if (bundle::has_clock(target))
        for (const std::string& hardware : options_.hardware) DOVETAIL_TRY(add_row(target, hardware, hardware));
      else DOVETAIL_TRY(add_row(target, machine_text(target), std::nullopt));
      if (bundle::runs_on(TargetDevice::processor, target)) DOVETAIL_TRY(add_float_row());
    }
    return std::move(outcome_);
  }

 private:
  int threads() const { return options_.threads > 0 ? options_.threads : runtime::default_threads(); }
  std::string machine_text(std::string_view target) const {
    if (bundle::runs_on(TargetDevice::processor, target)) return processor_text();
    if (!bundle::runs_on(TargetDevice::gpu, target)) return "-";
    const auto device = runtime::cuda::find_device();
    return device.ok() ? device->name : "-";
  }
  std::string processor_text() const {
    std::string name = processor_model();
    for (const std::string_view sign : {"(R)", "(TM)", " Processor"})
      for (std::size_t at; (at = name.find(sign)) != name.npos;) name.erase(at, sign.size());
    return fmt::format("{}, {} thread{}", name, threads(), threads() == 1 ? "" : "s");
  }

  Result<void> add_row(const std::string& target, const std::string& machine,
                       const std::optional<std::string>& hardware) {
    if (!outcome_.failure.empty()) return {};
    ComparedRow row{.target = target, .machine = machine, .batch = outcome_.model.batch};
    const TargetRow& known = target_row(target);
    if (!is_available(known)) {
      row.unavailable = fmt::format("this machine does not run target {} ({})", target, known.description);
      row.hint = "`dovetail doctor` reports what is missing";
    } else if (known.facts.floats_only) {
      // For a quantized model, also the float network that it was made from.
      std::size_t stripped = 0;
      DOVETAIL_TRY(fill(row, hardware, [&](graph::Graph& graph) { stripped = quantize::strip_qdq(graph); }));
      if (stripped > 0) row.machine += ", float";
    } else {
      DOVETAIL_TRY(fill(row, hardware));
    }
    outcome_.model.rows.push_back(std::move(row));
    if (options_.rows_done != nullptr) ++*options_.rows_done;
    return {};
  }

  // Adds a row for the float network that a quantized model was made from.
  Result<void> add_float_row() {
    if (outcome_.model.rows.empty() || !outcome_.failure.empty()) return {};
    const ComparedRow& integer = outcome_.model.rows.back();
    if (!integer.available() || integer.arithmetic != "integer") return {};
    ComparedRow row{.target = integer.target, .machine = integer.machine + ", float", .batch = integer.batch};
    std::size_t stripped = 0;
    DOVETAIL_TRY(fill(row, std::nullopt, [&](graph::Graph& graph) { stripped = quantize::strip_qdq(graph); }));
    // Models with QLinear operators, or with integers only, have no such network.
    if (stripped > 0 && outcome_.failure.empty()) outcome_.model.rows.push_back(std::move(row));
    return {};
  }

  // A failure during a run is not a bad input.
  Result<void> failed(const Diagnostics& why) {
    outcome_.failure = why;
    return {};
  }

  Result<void> fill(ComparedRow& row, const std::optional<std::string>& hardware,
                    std::function<void(graph::Graph&)> rewrite = nullptr) {
    DOVETAIL_ASSIGN(Session session, Session::open(session_options(row, hardware, std::move(rewrite))));
    CompileOptions compile;
    compile.progress = options_.progress;
    if (const auto compiled = session.compile(std::move(compile)); !compiled.ok()) {
      if (cause_of(compiled.errors()) == Cause::input) return compiled.errors();
      row.unavailable = compiled.errors().front().why;
      row.hint = compiled.errors().front().hint;
      return {};
    }
    describe(row, *session.model());
    if (!session.bundle().other_shapes.empty())
      return Diagnostic{"bad usage of `dovetail compare`", model_.path, "--shape gives several shapes",
                        "give one shape at a time"};
    DOVETAIL_TRY(expect(session));
    if (!expected_) return {};
    if (bundle::has_clock(row.target) && model_.system.accelerators && session.system().accelerators > 1)
      row.machine += fmt::format(
          ", {} accelerators{}", session.system().accelerators,
          session.system().divides_samples() ? fmt::format(" by {}", isa::name(session.system().split)) : "");
    DOVETAIL_TRY(session.make_ready());
    const auto first = session.run(expected_->inputs);
    if (!first.ok()) return failed(first.errors());
    DOVETAIL_TRY(judge(row, session, first->outputs));
    if (!outcome_.failure.empty()) return {};
    if (bundle::has_clock(row.target)) return time_accelerator(row, session, *first);
    return time_processor(row, session);
  }

  // Compares the outputs with the reference's. Those that differ are accepted by the rule of `dovetail run --check`, if
  // the row runs the graph that the reference is of: the float network of a quantized model computes other values.
  Result<void> judge(ComparedRow& row, Session& session, const std::map<std::string, NdArray>& outputs) {
    const bool same_graph = is_integer(session.model()->compiled.integer) == expected_->of_integers;
    row.agreement = agreement_of(expected_->outputs, outputs, same_graph ? session.float_tolerance() : 0);
    if (row.agreement->agrees() || !same_graph) return {};
    auto run = session.run(expected_->inputs, {.keep_tensors = true});
    if (!run.ok()) return failed(run.errors());
    const auto check = session.check(expected_->inputs, *run);
    if (!check.ok()) return failed(check.errors());
    row.agreement->accepted = check->first.empty();
    row.agreement->stepped = check->stepped;
    return {};
  }

  // Nodes that a target does not support run on its fallback targets, as for a user.
  SessionOptions session_options(const ComparedRow& row, const std::optional<std::string>& hardware,
                                 std::function<void(graph::Graph&)> rewrite) const {
    SessionOptions session{.model = model_, .engine = "cycle", .seed = options_.seed, .work = options_.work};
    session.model.hardware = hardware;
    session.model.threads = options_.threads;
    // A row without an accelerator needs no clock, and the design of its default hardware may be beyond the model's.
    if (!bundle::has_clock(row.target)) session.model.system.clock_model.clear();
    session.model.rewrite = std::move(rewrite);
    session.model.targets = {row.target};
    for (const std::string_view other : split(target_row(row.target).fallback_targets))
      if (is_available(target_row(other))) session.model.targets.emplace_back(other);
    return session;
  }

  void describe(ComparedRow& row, const CompiledModel& compiled) {
    const PlacementSummary& summary = compiled.compiled.summary;
    std::uint64_t macs = 0;
    for (const auto& [target, count] : summary.macs) macs += count;
    for (const auto& [target, count] : summary.macs)
      if (count > 0) row.shares[target] = static_cast<double>(count) / static_cast<double>(macs);
    outcome_.model.macs = std::max(outcome_.model.macs, macs);
    if (macs > 0 && !row.shares.contains(row.target)) row.machine += ", all on another target";
    row.bundle_bytes = bundle::serialize_in_pieces(compiled.compiled.bundle).size();
    for (const bundle::MemorySpace& space : compiled.compiled.bundle.spaces) row.arena_bytes += space.bytes;
    row.arithmetic = is_integer(compiled.compiled.integer) ? "integer" : "float";
  }

  // Computes the inputs and the reference's outputs once.
  Result<void> expect(const Session& session) {
    if (expected_) return {};
    const graph::Graph& integer = session.model()->compiled.integer;
    Expected expected;
    RunInputs inputs{options_.tensors, {}};
    if (inputs.tensors.empty()) {
      DOVETAIL_ASSIGN(inputs, session.inputs(options_.inputs));
    } else {
      DOVETAIL_TRY(runtime::check_inputs(session.bundle(), inputs.tensors));
      for (const auto& [name, tensor] : inputs.tensors)
        inputs.announcements.push_back(
            fmt::format("{}: {}, as given", name, type_text(tensor.dtype(), tensor.shape())));
    }
    for (std::string& line : inputs.announcements) outcome_.announcements.push_back(std::move(line));
    expected.inputs = std::move(inputs.tensors);
    expected.of_integers = is_integer(integer);
    DOVETAIL_ASSIGN(const Reference reference, Reference::make(integer));
    if (options_.work != nullptr)
      if (const auto fits = options_.work->expect("the reference", reference.estimate_work()); !fits.ok())
        return failed(fits.errors());
    auto values = reference.run(expected.inputs, options_.work);
    if (!values.ok()) return failed(values.errors());
    explore::cut_to_extents(integer, *values);
    for (const bundle::TensorIndex index : session.bundle().outputs) {
      const std::string& name = session.bundle().tensors[static_cast<std::size_t>(index)].name;
      if (const auto value = values->find(name); value != values->end()) expected.outputs.insert(*value);
    }
    outcome_.model.reference = fmt::format("its {} graph, evaluated node by node on naive loop programs",
                                           is_integer(integer) ? "integer" : "float");
    expected_ = std::move(expected);
    return {};
  }

  Result<void> time_accelerator(ComparedRow& row, Session& session, const runtime::RunResult& first) {
    const System& system = session.system();
    const Latency latency = latency_of(step_times(first, system));
    ComparedAccelerator accel{.cycles = latency.cycles,
                              .clock_mhz = system.clock_mhz,
                              .seconds = latency.accelerator_seconds,
                              .memory = simulator::to_string(system.memory),
                              .steps = latency.regions,
                              .other_steps = latency.others,
                              .count = system.accelerators,
                              .split = system.split};
    if (system.clock_is_modeled) accel.clock_model = system.clock_from;
    DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(session.program()));
    for (const auto& [index, step, code] : steps) {
      const isa::AcceleratorConfigs configs = code.configs();
      for (std::size_t i = 0; i < configs.size() && accel.beyond_design.empty(); ++i)
        accel.beyond_design = beyond_design(configs[i], system.clock_mhz, system.level_ps);
      const simulator::Counters& counters = first.steps[index].counters;
      // The counters are for one sample.
      const auto bus = static_cast<std::uint64_t>(code.config.bus_bytes * system.samples());
      accel.dram_read +=
          bus * (counters.port[isa::index(isa::Queue::load)].beats +
                 counters.port[isa::index(isa::Queue::compute)].beats + (counters.fetch ? counters.fetch->beats : 0));
      accel.dram_written += bus * counters.port[isa::index(isa::Queue::store)].beats;
    }
    if (latency.others > 0) {
      std::vector<double> others;
      runtime::RunOptions run_options;
      run_options.copy_outputs = false;
      const auto runs = static_cast<std::size_t>(options_.repeat.value_or(kAcceleratedRuns));
      while (others.size() < std::min(runs, kAcceleratedRuns)) {
        const auto again = session.run(expected_->inputs, run_options);
        if (!again.ok()) return failed(again.errors());
        others.push_back(latency_of(step_times(*again, system)).other_seconds);
      }
      row.measured = spread_of(std::move(others));
    }
    row.seconds = accel.seconds + row.measured.median;
    DOVETAIL_ASSIGN(row.energy, energy_facts(session.program(), first.steps, system, options_.energy));
    if (row.energy) {
      row.joules = row.energy->energy.joules / static_cast<double>(system.samples() * row.batch);
      row.energy_from = row.energy->energy.statement;
      if (accel.other_steps > 0)
        row.energy->energy.missing.push_back(fmt::format("the {} steps of this machine", accel.other_steps));
    } else {
      row.energy_from = "nothing ran on the accelerator";
    }
    row.accelerator = std::move(accel);
    return {};
  }

  // Times runs after one run to warm up.
  Result<void> time_processor(ComparedRow& row, Session& session) {
    runtime::RunOptions run_options;
    run_options.copy_outputs = run_options.time_steps = false;
    std::vector<double> samples;
    const Meter meter = meter_of(row.target);
    const auto begin = Clock::now();
    const auto done = [&] {
      if (options_.repeat) return samples.size() >= static_cast<std::size_t>(*options_.repeat);
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      return samples.size() >= kMostRuns || (samples.size() >= kLeastRuns && seconds > kMeasuredSeconds);
    };
    while (!done()) {
      const auto start = Clock::now();
      const auto again = session.run(expected_->inputs, run_options);
      if (!again.ok()) return failed(again.errors());
      samples.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    const auto runs = static_cast<double>(samples.size());
    row.measured = spread_of(std::move(samples));
    row.seconds = row.measured.median;
    if (!meter.joules) {
      row.energy_from = meter.why;
      return {};
    }
    DOVETAIL_ASSIGN(const double joules, meter.joules());
    if (joules <= 0) {
      row.energy_from =
          fmt::format("{}: it did not change during {} runs; raise --repeat", meter.name, row.measured.runs);
      return {};
    }
    row.joules = joules / runs / static_cast<double>(row.batch);
    row.energy_from = fmt::format("{}, everything that ran there during {} runs{}", meter.name, row.measured.runs,
                                  bundle::runs_on(TargetDevice::gpu, row.target) ? ", without the processor" : "");
    return {};
  }

  const ModelOptions& model_;
  const CompareOptions& options_;
  ModelOutcome outcome_;
  std::optional<Expected> expected_;
};

}  // namespace

std::int64_t rows_of(const CompareOptions& options) {
  std::size_t rows = 0;
  for (const std::string& target : options.targets) rows += bundle::has_clock(target) ? options.hardware.size() : 1;
  return static_cast<std::int64_t>(rows);
}

Result<CompareOutcome> compare_models(const std::vector<ModelOptions>& models, const CompareOptions& options) {
  CompareOutcome outcome;
  Comparison& comparison = outcome.comparison;
  comparison.threads = options.threads > 0 ? options.threads : runtime::default_threads();
  for (const ModelOptions& model : models) {
    DOVETAIL_ASSIGN(ModelOutcome rows, Comparer(model, options).run());
    comparison.models.push_back(std::move(rows.model));
    for (std::string& line : rows.announcements)
      if (std::ranges::find(comparison.inputs, line) == comparison.inputs.end())
        comparison.inputs.push_back(std::move(line));
    outcome.failure = std::move(rows.failure);
    if (!outcome.failure.empty()) break;
  }
  return outcome;
}

}  // namespace dovetail::driver
