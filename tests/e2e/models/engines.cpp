// Whole models on every engine: the same tensors, bit for bit, and on the engines with a clock the same cycles,
// instruction by instruction. Small models in every run; with DOVETAIL_TEST_SCALE all of them, on all the hardware that
// they are compiled for, and a table of what was compared.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <optional>

#include "compiler/export/onnx.h"
#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/quantize/quantize.h"
#include "compiler/zoo/inputs.h"
#include "compiler/zoo/zoo.h"
#include "explore/measure/count_cycles.h"
#include "isa/system.h"
#include "runtime/executor.h"
#include "simulator/rtl/find.h"
#include "simulator/systemc_engine.h"
#include "simulator/trace/diff.h"
#include "tests/e2e/models/compiled_forward.h"
#include "tests/e2e/models/sample.h"
#include "tests/targets.h"

namespace dovetail {
namespace {

using Values = std::map<std::string, NdArray>;

struct EngineCase {
  const char* model;
  int scale;  // the least DOVETAIL_TEST_SCALE that runs it
};
// Models of examples/digits, of the folder next to the repository, and of the zoo.
constexpr EngineCase kDigits[] = {{"digits_int8", 1}, {"digits_int8_pow2", 1}};
constexpr EngineCase kEngineCases[] = {
    {"kws_dscnn_int8", 1},           {"ad_autoencoder_int8", 1}, {"resnet8_int8", 1},
    {"kws_dscnn_int8_qoperator", 2}, {"vww96_int8", 1},          {"vww96_int8_qoperator", 2},
    {"mobilenetv2_035_160_int8", 1}};
constexpr EngineCase kZoo[] = {{"resnet18", 2}};

struct Ran {
  runtime::RunResult result;
  simulator::Trace trace;
  double seconds = 0;
};

Ran run_bundle(const bundle::Bundle& bundle, const Values& inputs, const std::string& engine, const std::string& memory,
               std::int64_t accelerators = 1, bool by_launch = false) {
  const simulator::EngineOptions options{.memory = simulator::parse_memory(memory).value(),
                                         .accelerators = accelerators,
                                         .by_launch = by_launch,
                                         .trace = true};
  auto executor = runtime::Executor::make(bundle, runtime::simulator_factory(engine, options).value());
  if (!executor) FAIL(to_string(executor.errors()));
  auto result = executor->run(inputs, {.keep_tensors = true});
  if (!result) FAIL(engine << ": " << to_string(result.errors()));
  Ran ran{.result = *std::move(result), .trace = {}};
  for (const runtime::StepProfile& step : ran.result.steps) {
    for (const runtime::TimedLaunch& launch : step.launches) ran.trace.launches.push_back(launch.trace);
    if (step.target == "accel") ran.seconds += step.seconds;
  }
  return ran;
}

std::string difference_of_values(const Values& actual, const Values& expected) {
  for (const auto& [name, array] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) return name + " is missing";
    if (!std::ranges::equal(found->second.bytes(), array.bytes())) return name + " differs";
  }
  return actual.size() == expected.size() ? "" : "there are more tensors";
}

enum class Engines { all, models };  // models: not the design's

// The design's engine, where a model of the configuration was built.
std::vector<std::string> engines_compared_with_cycle(const isa::HardwareConfig& config, Engines which) {
  std::vector<std::string> engines;
  if (simulator::find_systemc_engine()) engines.emplace_back("systemc");
  else test::skip("engine systemc: this build found no SystemC (libsystemc-dev)");
  if (which == Engines::models) return engines;
  if (simulator::find_rtl_model(config, false).ok()) engines.emplace_back("rtl");
  else test::skip("engine rtl: no model of " + config.name + " was built (verilator, DOVETAIL_RTL_CONFIGS)");
  return engines;
}

void compare_engines(const std::string& name, const graph::Graph& model, const Values& inputs,
                     const isa::HardwareConfig& config, const std::vector<std::string>& memories,
                     Engines which = Engines::all) {
  CompileOptions options;
  options.available = test::kit_targets(config);
  options.targets = {"accel"};
  const auto compiled = compile({model, {}}, options);
  if (!compiled) FAIL(to_string(compiled.errors()));
  const std::vector<std::string> engines = engines_compared_with_cycle(config, which);

  const Ran functional = run_bundle(compiled->bundle, inputs, "functional", memories.front());
  REQUIRE(functional.result.counters.macs > 0);
  REQUIRE_FALSE(functional.result.outputs.empty());
  for (const std::string& memory : memories) {
    INFO(name << " on " << config.name << ", " << memory);
    const Ran cycle = run_bundle(compiled->bundle, inputs, "cycle", memory);
    CHECK(difference_of_values(cycle.result.tensors, functional.result.tensors) == "");
    CHECK(without_time(cycle.result.counters) == functional.result.counters);
    std::size_t events = 0;
    std::uint64_t cycles = 0;
    for (const simulator::LaunchTrace& launch : cycle.trace.launches) {
      events += launch.events.size();
      cycles += launch.cycles;
    }
    REQUIRE(events > 0);
    std::string times =
        fmt::format("{:<26} {:<12} {:<26} {:>9} instructions {:>11} cycles, seconds: functional {:.2f} cycle {:.2f}",
                    name, config.name, memory, events, cycles, functional.seconds, cycle.seconds);
    for (const std::string& engine : engines) {
      INFO(engine);
      const Ran other = run_bundle(compiled->bundle, inputs, engine, memory);
      CHECK(difference_of_values(other.result.tensors, functional.result.tensors) == "");
      const auto first = simulator::first_difference(cycle.trace, other.trace);
      CHECK((first ? fmt::format("launch {}, event {}: {}", first->launch, first->event.value_or(0), first->what)
                   : "") == "");
      CHECK((cycle.trace == other.trace));
      times += fmt::format(" {} {:.2f}", engine, other.seconds);
    }
    if (test::test_scale() > 1) fmt::print("{}\n", times);
    std::fflush(stdout);
  }
}

graph::Graph import_file(const test::fs::path& file) {
  auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  return imported->graph;
}

const test::fs::path kDigitsFolder = test::fs::path(DOVETAIL_SOURCE_DIR) / "examples" / "digits";

Values first_digit() {
  const auto images = read_npy(kDigitsFolder / "test_images.npy");
  REQUIRE(images.ok());
  NdArray image(DType::float32, {1, 1, 8, 8});
  for (std::int64_t i = 0; i < 64; ++i) image.set_double(i, images->as_double(i));
  return {{"image", image}};
}

std::vector<std::string> memories() {
  if (test::test_scale() < 2) return {"bank:ddr4-2400"};
  return {"ideal:latency=64,bytes=8", "bank:ddr4-2400", "bank:lpddr4", "perturbed:seed=5"};
}

}  // namespace

TEST_CASE("digits has the same tensors and the same cycles on every engine") {
  const EngineCase& each = GENERATE(from_range(std::begin(kDigits), std::end(kDigits)));
  const std::string hardware = GENERATE("1x16x16-ext", "1x16x16");
  const graph::Graph model = import_file(kDigitsFolder / (std::string(each.model) + ".onnx"));
  compare_engines(each.model, model, first_digit(), *isa::load_config(hardware), memories());
}

TEST_CASE("large feature maps have the same tensors and the same cycles on every engine") {
  const test::fs::path file = test::shared_case("50_conv1x1_32x256x256_int8/model.onnx");
  if (file.empty()) return;
  const graph::Graph model = import_file(file);
  compare_engines("conv1x1_32x256x256", model, zoo::sample_inputs(model, 1, 0), *isa::load_config("1x16x16-ext"),
                  memories());
}

struct Network {
  std::string name;
  graph::Graph graph;
  Values inputs;
};

std::vector<Network> networks() {
  std::vector<Network> networks{{"digits_int8", import_file(kDigitsFolder / "digits_int8.onnx"), first_digit()}};
  if (const test::fs::path file = test::model_file("resnet8_int8"); !file.empty()) {
    const graph::Graph model = import_file(file);
    networks.push_back(
        {"resnet8_int8", model, test::read_arrays(test::samples_of(file).front(), model, model.inputs, "in")});
  }
  return networks;
}

std::uint64_t cycles_of(const Ran& ran) {
  std::uint64_t cycles = 0;
  for (const simulator::LaunchTrace& launch : ran.trace.launches) cycles += launch.cycles;
  return cycles;
}

Network zoo_network(const std::string& name, const zoo::Choices& sizes) {
  auto model = zoo::make(name, sizes);
  REQUIRE(model.ok());
  const std::vector<quantize::Values> samples{zoo::sample_inputs(model->graph, 1, 0)};
  auto quantized = quantize::quantize(model->graph, samples, {}, test::compiled_forward());
  if (!quantized) FAIL(to_string(quantized.errors()));
  Values inputs = zoo::sample_inputs(quantized->graph, 1, 100);
  return {name, std::move(quantized->graph), std::move(inputs)};
}

TEST_CASE("networks that accelerators divide have the same values and cycles on the SystemC platform") {
  const bool systemc = simulator::find_systemc_engine().has_value();
  if (!systemc) test::skip("engine systemc: this build found no SystemC (libsystemc-dev)");
  struct Way {
    Network network;
    isa::Split split;
  };
  std::vector<Way> ways{{zoo_network("resnet8", {}), isa::Split::layers},
                        {zoo_network("bert_tiny", {.image = {}, .sequence = 32}), isa::Split::layers},
                        {zoo_network("resnet8", {.batch = 3}), isa::Split::stages}};
  const isa::HardwareConfig config = *isa::load_config("1x16x16-g3");
  for (const Way& way : ways) {
    CompileOptions options;
    options.available = test::kit_targets(config);
    options.targets = {"accel"};
    const auto undivided = compile({way.network.graph, {}}, options);
    if (!undivided) FAIL(to_string(undivided.errors()));
    for (const char* memory : {"ideal", "ideal:ports=2", "bank:ddr4-2400,ports=4"}) {
      const Ran alone = run_bundle(undivided->bundle, way.network.inputs, "cycle", memory);
      for (const std::int64_t accelerators : {2, 3}) {
        INFO(way.network.name << ", " << name(way.split) << ", " << memory << ", " << accelerators << " accelerators");
        options.available.front() = accel::make_target(
            config, 1000, nullptr, {},
            {accelerators, way.split, explore::cycle_counter(simulator::parse_memory(memory).value(), accelerators)});
        const auto divided = compile({way.network.graph, {}}, options);
        if (!divided) FAIL(to_string(divided.errors()));
        const Ran cycle = run_bundle(divided->bundle, way.network.inputs, "cycle", memory, accelerators, true);
        CHECK(difference_of_values(cycle.result.outputs, alone.result.outputs) == "");
        CHECK(cycles_of(cycle) < cycles_of(alone));
        // One accelerator executes the launches one after the other.
        const Ran functional = run_bundle(divided->bundle, way.network.inputs, "functional", memory);
        CHECK(difference_of_values(functional.result.tensors, cycle.result.tensors) == "");
        if (!systemc) continue;
        const Ran platform = run_bundle(divided->bundle, way.network.inputs, "systemc", memory, accelerators, true);
        CHECK((cycle.trace == platform.trace));
        CHECK(difference_of_values(platform.result.tensors, cycle.result.tensors) == "");
      }
    }
  }
}

TEST_CASE("layers divided between accelerators that differ are equal on all engines, and faster") {
  const bool systemc = simulator::find_systemc_engine().has_value();
  if (!systemc) test::skip("engine systemc: this build found no SystemC (libsystemc-dev)");
  const Network network = zoo_network("resnet8", {});
  for (const char* hardware : {"1x16x16-g3+1x16x16-g2", "1x32x32+1x16x16-ext,bus_bytes=16"}) {
    const isa::Machine machine = *isa::load_machine(std::string(hardware) + ",split=layers");
    CompileOptions options;
    options.available = test::kit_targets(machine.hardware);
    options.targets = {"accel"};
    const auto undivided = compile({network.graph, {}}, options);
    if (!undivided) FAIL(to_string(undivided.errors()));
    for (const char* memory : {"ideal", "bank:ddr4-2400,ports=2"}) {
      INFO(hardware << ", " << memory);
      options.available.front() =
          accel::make_target(machine.hardware, 1000, nullptr, {},
                             {2, isa::Split::layers, explore::cycle_counter(simulator::parse_memory(memory).value(), 2),
                              std::nullopt, machine.system.others});
      const auto divided = compile({network.graph, {}}, options);
      if (!divided) FAIL(to_string(divided.errors()));
      const Ran alone = run_bundle(undivided->bundle, network.inputs, "cycle", memory),
                cycle = run_bundle(divided->bundle, network.inputs, "cycle", memory, 2, true),
                functional = run_bundle(divided->bundle, network.inputs, "functional", memory);
      CHECK(difference_of_values(cycle.result.outputs, alone.result.outputs) == "");
      CHECK(difference_of_values(functional.result.tensors, cycle.result.tensors) == "");
      CHECK(cycles_of(cycle) < cycles_of(alone));
      if (!systemc) continue;
      const Ran platform = run_bundle(divided->bundle, network.inputs, "systemc", memory, 2, true);
      CHECK((cycle.trace == platform.trace));
      CHECK(difference_of_values(platform.result.tensors, cycle.result.tensors) == "");
      for (const runtime::StepProfile& step : cycle.result.steps) {
        if (step.by_accelerator.empty()) continue;
        simulator::Counters sum;
        for (const simulator::Counters& each : step.by_accelerator) sum += each;
        CHECK(sum == step.counters);
      }
    }
  }
}

TEST_CASE("networks on several accelerators have the same cycles and events on the SystemC platform") {
  if (!simulator::find_systemc_engine()) {
    test::skip("engine systemc: this build found no SystemC (libsystemc-dev)");
    return;
  }
  for (const Network& network : networks()) {
    CompileOptions options;
    options.available = test::kit_targets(isa::load_config("1x16x16-ext").value());
    options.targets = {"accel"};
    const auto compiled = compile({network.graph, {}}, options);
    if (!compiled) FAIL(to_string(compiled.errors()));
    for (const std::string memory : {"ideal", "bank:ddr4-2400"}) {
      const Ran alone = run_bundle(compiled->bundle, network.inputs, "cycle", memory);
      std::uint64_t before = cycles_of(alone);
      for (const std::int64_t accelerators : {2, 4}) {
        INFO(network.name << ", " << memory << ", " << accelerators << " accelerators");
        const Ran cycle = run_bundle(compiled->bundle, network.inputs, "cycle", memory, accelerators),
                  systemc = run_bundle(compiled->bundle, network.inputs, "systemc", memory, accelerators);
        CHECK((cycle.trace == systemc.trace));
        CHECK(difference_of_values(cycle.result.tensors, alone.result.tensors) == "");
        CHECK(difference_of_values(systemc.result.tensors, alone.result.tensors) == "");
        // Each accelerator adds traffic to a memory that is already busy, and takes less than its own turn.
        CHECK(cycles_of(cycle) > before);
        CHECK(cycles_of(cycle) < static_cast<std::uint64_t>(accelerators) * cycles_of(alone));
        before = cycles_of(cycle);
      }
    }
  }
}

TEST_CASE("trained int8 models have the same tensors and the same cycles on every engine") {
  const EngineCase& each = GENERATE(from_range(std::begin(kEngineCases), std::end(kEngineCases)));
  const std::string hardware = GENERATE("1x16x16-ext", "1x16x16");
  if (test::test_scale() < each.scale) return;
  if (test::test_scale() < 2 && hardware == "1x16x16" && std::string(each.model) != "kws_dscnn_int8") return;
  const test::fs::path file = test::model_file(each.model);
  if (file.empty()) return;
  const graph::Graph model = import_file(file);
  compare_engines(each.model, model, test::read_arrays(test::samples_of(file).front(), model, model.inputs, "in"),
                  *isa::load_config(hardware), memories());
}

TEST_CASE("a transformer has the same cycles on every model where blocks of inputs and outputs differ") {
  auto model = zoo::make("bert_tiny", {.image = {}, .sequence = 32});
  REQUIRE(model.ok());
  const std::vector<quantize::Values> samples{zoo::sample_inputs(model->graph, 1, 0)};
  auto quantized = quantize::quantize(model->graph, samples, {}, test::compiled_forward());
  if (!quantized) FAIL(to_string(quantized.errors()));
  for (const isa::HardwareConfig& config :
       {*isa::load_config("1x32x16"), *isa::load_config("1x16x16-g2,block_in=32,window=false"),
        *isa::load_config("1x16x16-g2,block_out=32,window=false")})
    compare_engines("bert_tiny", quantized->graph, zoo::sample_inputs(quantized->graph, 1, 100), config, memories(),
                    Engines::models);
}

TEST_CASE("a quantized ResNet-18 has the same tensors and the same cycles on every engine") {
  const EngineCase& each = GENERATE(from_range(std::begin(kZoo), std::end(kZoo)));
  if (test::test_scale() < each.scale) {
    test::skip("minutes of work: set DOVETAIL_TEST_SCALE to 2 or more");
    return;
  }
  auto model = zoo::make(each.model, {});
  REQUIRE(model.ok());
  std::vector<quantize::Values> samples;
  for (int i = 0; i < 2; ++i) samples.push_back(zoo::sample_inputs(model->graph, 1, i));
  auto quantized = quantize::quantize(model->graph, samples, {}, test::compiled_forward());
  if (!quantized) FAIL(to_string(quantized.errors()));
  compare_engines(each.model, quantized->graph, zoo::sample_inputs(quantized->graph, 1, 100),
                  *isa::load_config("1x16x16-ext"), {"ideal:latency=64,bytes=8", "bank:ddr4-2400"});
}

}  // namespace dovetail
