#include "examples/digits/demo/demonstrate.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "base/file.h"
#include "bundle/code/accel.h"
#include "compiler/reference/reference.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/host/target.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "runtime/executor.h"
#include "simulator/rtl/build.h"
#include "simulator/rtl/find.h"
#include "simulator/rtl/model_file.h"

namespace digits {

using namespace dovetail;

namespace {

const std::filesystem::path kFolder = DIGITS_FOLDER;
// The input of the last DequantizeLinear: int8, so that results can be compared bit for bit.
constexpr const char* kLogits = "logits_q";

class Stopwatch {
 public:
  explicit Stopwatch(std::vector<Stage>& stages) : stages_(stages) {}
  void lap(std::string name) {
    const auto now = std::chrono::steady_clock::now();
    stages_.push_back({std::move(name), std::chrono::duration<double>(now - start_).count()});
    start_ = now;
  }

 private:
  std::vector<Stage>& stages_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Evaluates a graph node by node on naive loop programs: the reference for every other way of running it.
Result<Logits> run_reference(graph::Graph graph, const TestSet& test_set, const std::string& tensor) {
  const std::string input = graph.value(graph.inputs.front()).name;
  DOVETAIL_ASSIGN(const Reference reference, Reference::make(std::move(graph)));
  Logits logits;
  for (const NdArray& image : test_set.images) {
    DOVETAIL_ASSIGN(const auto tensors, reference.run({{input, image}}));
    const auto found = tensors.find(tensor);
    if (found == tensors.end())
      return Diagnostic{"cannot evaluate the model", tensor, "the reference has no tensor of that name",
                        "check whether the model changed"};
    logits.push_back(row_of(found->second));
  }
  return logits;
}

// Verifies that every program is free of races, deadlock, leftover tokens and undefined reads.
Result<void> verify_programs(const bundle::Bundle& bundle) {
  DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(bundle));
  Diagnostics problems;
  for (const auto& [index, step, code] : steps) {
    const bundle::MemorySpace& memory = bundle.spaces[static_cast<std::size_t>(code.space)];
    const std::vector<std::byte> image = bundle::initial_image(memory, code);
    isa::VerifyOptions options;
    options.launches = code.launches;
    options.dram = isa::DramImage{memory.base, image};
    options.program_base = code.program_base;
    for (const isa::Finding& finding : isa::verify(code.config, code.program, options).findings)
      problems.push_back(finding.diagnostic);
  }
  return problems;
}

Result<void> write_disassembly(const std::filesystem::path& path, const bundle::Bundle& bundle) {
  DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(bundle));
  std::string text;
  for (const auto& [index, step, code] : steps) {
    text += fmt::format("# {}\n", step->name);
    for (const bundle::InstructionRange& range : code.ranges)
      text += fmt::format("# [{}, {}) {}\n", range.begin, range.end, range.name);
    text += isa::format_assembly(code.config, code.program);
  }
  return write_text_file(path, text);
}

}  // namespace

Result<Demonstration> demonstrate(const Variant& variant, const TestSet& test_set,
                                  const std::filesystem::path& output_folder) {
  Demonstration demo;
  demo.variant = variant;
  Stopwatch stopwatch(demo.stages);

  // 1. Import, 2. compile.
  DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(kFolder / variant.model));
  demo.import = imported.report;
  stopwatch.lap("import");
  CompileOptions options;
  DOVETAIL_ASSIGN(demo.hardware, isa::load_config(variant.hardware));
  options.available = {accel::make_target(demo.hardware, 1000), host::make_target()};
  options.targets = {"accel"};
  DOVETAIL_ASSIGN(const Compiled compiled, compile(std::move(imported), options));
  demo.placement = compiled.placement;
  demo.program = bundle::summarize(compiled.bundle);
  stopwatch.lap("compile");
  for (const StageTime& stage : compiled.stages) demo.compile_stages.push_back({stage.name, stage.seconds});
  DOVETAIL_TRY(verify_programs(compiled.bundle));
  stopwatch.lap("verify");

  // 3. Write the bundle, and continue with what a deployed program would load.
  const std::string stem = std::filesystem::path(variant.model).stem().string() + "." + variant.hardware;
  demo.files = {output_folder / (stem + ".dvt"), output_folder / (stem + ".s")};
  DOVETAIL_TRY(bundle::write_bundle(demo.files[0], compiled.bundle));
  DOVETAIL_TRY(write_disassembly(demo.files[1], compiled.bundle));
  demo.bundle_bytes = std::filesystem::file_size(demo.files[0]);
  DOVETAIL_ASSIGN(bundle::Bundle bundle, bundle::read_bundle(demo.files[0], bundle::MachineCode::untrusted));
  stopwatch.lap("write and read");

  // 4. Run it on the functional simulator.
  DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(std::move(bundle), make_simulator));
  const std::string input = compiled.integer.value(compiled.integer.inputs.front()).name;
  Logits accelerator;
  for (const NdArray& image : test_set.images) {
    DOVETAIL_ASSIGN(const runtime::RunResult run, executor.run({{input, image}}, {.keep_tensors = true}));
    const auto logits = run.tensors.find(kLogits);
    if (logits == run.tensors.end())
      return Diagnostic{"cannot read the result", kLogits, "no step produced it", "check whether the model changed"};
    accelerator.push_back(row_of(logits->second));
    demo.counters = run.counters;
  }
  stopwatch.lap("run");

  // 5. Compare: with the integer graph evaluated node by node, and with the logits of an implementation in numpy.
  DOVETAIL_ASSIGN(const Logits reference, run_reference(compiled.integer, test_set, kLogits));
  stopwatch.lap("integer reference");
  DOVETAIL_ASSIGN(const Logits golden, load_golden(kFolder / variant.golden, test_set.images.size()));
  demo.images = test_set.images.size();
  demo.logits = count(accelerator);
  demo.reference_correct = count_correct(reference, test_set.labels);
  demo.accelerator_correct = count_correct(accelerator, test_set.labels);
  demo.equal_to_reference = count_equal(accelerator, reference);
  demo.equal_to_golden = count_equal(accelerator, golden);
  return demo;
}

Result<std::size_t> evaluate_float(const TestSet& test_set, std::vector<Stage>& stages) {
  Stopwatch stopwatch(stages);
  DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(kFolder / "digits_float.onnx"));
  const std::string output = imported.graph.value(imported.graph.outputs.front()).name;
  DOVETAIL_ASSIGN(const Logits logits, run_reference(std::move(imported.graph), test_set, output));
  stopwatch.lap("float reference");
  return count_correct(logits, test_set.labels);
}

Result<OnDesign> run_on_design(const Demonstration& demo, const TestSet& test_set, std::size_t images) {
  OnDesign result;
  result.hardware = demo.hardware.name;
  result.images = std::min(images, test_set.images.size());
  std::vector<Stage> stages;
  Stopwatch stopwatch(stages);
  if (!simulator::find_rtl_model(demo.hardware, false).ok()) {
    if (!simulator::verilator_version()) {
      result.skipped = "Verilator is not installed: sudo apt-get install verilator, and this runs the design too.";
      return result;
    }
    DOVETAIL_TRY(simulator::build_rtl_model(demo.hardware, {}));
  }
  stopwatch.lap("build");

  struct Engine {
    const char* name;
    std::vector<std::vector<simulator::LaunchTrace>> traces = {};  // by image
    Logits logits = {};
  };
  std::vector<Engine> engines{{"rtl"}, {"cycle"}, {"functional"}};
  for (Engine& engine : engines) {
    DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory(engine.name, {.trace = true}));
    DOVETAIL_ASSIGN(bundle::Bundle bundle, bundle::read_bundle(demo.files[0], bundle::MachineCode::untrusted));
    DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(std::move(bundle), make_simulator));
    const std::string input =
        executor.bundle().tensors[static_cast<std::size_t>(executor.bundle().inputs.front())].name;
    for (std::size_t i = 0; i < result.images; ++i) {
      DOVETAIL_ASSIGN(const runtime::RunResult run,
                      executor.run({{input, test_set.images[i]}}, {.keep_tensors = true}));
      const auto logits = run.tensors.find(kLogits);
      if (logits == run.tensors.end())
        return Diagnostic{"cannot read the result", kLogits, "no step produced it", "check whether the model changed"};
      engine.logits.push_back(row_of(logits->second));
      engine.traces.emplace_back();
      for (const runtime::StepProfile& step : run.steps)
        for (const runtime::TimedLaunch& launch : step.launches) engine.traces.back().push_back(launch.trace);
    }
    stopwatch.lap(engine.name);
  }
  result.build_seconds = stages[0].seconds;
  result.design_seconds = stages[1].seconds;
  result.cycle_seconds = stages[2].seconds;
  const Engine &design = engines[0], &cycle = engines[1], &functional = engines[2];
  result.logits = count(design.logits);
  result.equal_to_cycle = count_equal(design.logits, cycle.logits);
  result.equal_to_functional = count_equal(design.logits, functional.logits);
  for (std::size_t i = 0; i < result.images; ++i)
    result.equal_times += std::ranges::equal(design.traces[i], cycle.traces[i], [](const auto& a, const auto& b) {
      return a.cycles == b.cycles && a.events == b.events && a.classes == b.classes;
    });
  for (const simulator::LaunchTrace& launch : design.traces.front()) {
    result.cycles += launch.cycles;
    result.instructions += launch.events.size();
  }
  return result;
}

Json to_json(const OnDesign& design) {
  if (!design.skipped.empty()) return {{"hardware", design.hardware}, {"skipped", design.skipped}};
  return {
      {"hardware", design.hardware},
      {"images", design.images},
      {"logits",
       {{"compared", design.logits},
        {"equal_to_functional", design.equal_to_functional},
        {"equal_to_cycle", design.equal_to_cycle}}},
      {"images_of_equal_times", design.equal_times},
      {"instructions_per_image", design.instructions},
      {"cycles_per_image", design.cycles},
      {"seconds", {{"build", design.build_seconds}, {"rtl", design.design_seconds}, {"cycle", design.cycle_seconds}}}};
}

Json to_json(const Demonstration& demo) {
  Json placement = Json::array(), stages = Json::array(), compile_stages = Json::array();
  for (const NodePlacement& row : demo.placement)
    placement.push_back({{"node", row.node}, {"op", row.op}, {"target", row.target}, {"why", row.why}});
  for (const Stage& stage : demo.stages) stages.push_back({{"name", stage.name}, {"seconds", stage.seconds}});
  for (const Stage& stage : demo.compile_stages)
    compile_stages.push_back({{"name", stage.name}, {"seconds", stage.seconds}});
  return {{"model", demo.variant.model},
          {"hardware", isa::config_to_json(demo.hardware)},
          {"import",
           {{"ir_version", demo.import.ir_version},
            {"opset", demo.import.opset},
            {"operators", demo.import.operators},
            {"notes", demo.import.notes}}},
          {"placement", placement},
          {"program", bundle::to_json(demo.program)},
          {"counters_per_image", simulator::to_json(demo.counters)},
          {"bundle_bytes", demo.bundle_bytes},
          {"images", demo.images},
          {"correct", {{"integer_reference", demo.reference_correct}, {"accelerator", demo.accelerator_correct}}},
          {"logits",
           {{"compared", demo.logits},
            {"equal_to_integer_reference", demo.equal_to_reference},
            {"equal_to_numpy", demo.equal_to_golden}}},
          {"stages", stages},
          {"compile_stages", compile_stages}};
}

}  // namespace digits
