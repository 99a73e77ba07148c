// Schedules chosen by counted cycles: never slower than the default ones, with the same values, and the same bytes each
// time.
#include "explore/measure/count_cycles.h"

#include "compiler/pipeline.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/host/target.h"
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"

using namespace dovetail;

namespace {

// Four convolutions, two of them equal.
struct ChainMaker : test::Int8GraphMaker {
  test::Draw draw{11};
  const Shape shape{1, 20, 17, 15};
  bool int4 = false;  // weights from -7 to 7
  graph::Graph chain() {
    graph::ValueId x = input(shape);
    for (const auto& [name, outputs] : {std::pair("a", 48), std::pair("b", 48), std::pair("c", 48), std::pair("d", 5)})
      x = conv(name, x, outputs);
    return graph;
  }

 private:
  graph::ValueId conv(const std::string& name, graph::ValueId x, std::int64_t outputs) {
    const std::int64_t inputs = graph.value(x).type.shape[1];
    NdArray bias(DType::int32, {outputs}), scale(DType::float32, {outputs});
    for (auto& value : scale.data<float>()) value = 0x1p-9f;
    NdArray weights = draw.int8({outputs, inputs, 3, 3});
    if (int4)
      for (std::int8_t& weight : weights.data<std::int8_t>()) weight = static_cast<std::int8_t>(weight % 8);
    return weighted("dovetail.qconv", name, x, std::move(weights), std::move(bias), std::move(scale),
                    {{"pads", std::vector<std::int64_t>(4, 1)}});
  }
};

Result<Compiled> compile_counting(const graph::Graph& graph, const isa::HardwareConfig& config,
                                  const accel::Counting& counting, const schedule::FindRecorded& recorded = nullptr,
                                  std::string* traces = nullptr) {
  CompileOptions options;
  options.available = {accel::make_target(config, 1000, nullptr, counting), host::make_target()};
  options.targets = {"accel"};
  options.recorded = recorded;
  if (traces != nullptr) options.dump = {"trace"};
  options.on_dump = [&](std::string_view, std::string_view text) { *traces += text; };
  return compile({graph, {}}, options);
}

}  // namespace

TEST_CASE("counted schedules: never slower than the default ones, with the same values, and deterministic") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const char* memory : {"ideal", "bank:ddr4-2400"}) DYNAMIC_SECTION(config.name << ", " << memory) {
        const simulator::MemorySpec spec = simulator::parse_memory(memory).value();
        ChainMaker make;
        const graph::Graph graph = make.chain();
        const std::map<std::string, NdArray> inputs{{"x", make.draw.int8(make.shape)}};
        const auto expected = Reference::make(graph)->run(inputs).value();
        const auto cycles_of = [&](const Compiled& compiled) {
          simulator::EngineOptions engine;
          engine.memory = spec;
          auto executor = runtime::Executor::make(compiled.bundle, *runtime::simulator_factory("cycle", engine));
          REQUIRE(executor.ok());
          const auto result = executor->run(inputs);
          REQUIRE(result.ok());
          for (const auto& [name, array] : result->outputs) CHECK((array == expected.at(name)));
          std::uint64_t cycles = 0;
          for (const runtime::StepProfile& step : result->steps)
            for (const runtime::TimedLaunch& launch : step.launches) cycles += launch.trace.cycles;
          return cycles;
        };
        const accel::Counting counting{explore::cycle_counter(spec), 5};
        const auto plain = compile_counting(graph, config, {}), counted = compile_counting(graph, config, counting);
        REQUIRE(plain.ok());
        REQUIRE(counted.ok());
        const std::uint64_t before = cycles_of(*plain), after = cycles_of(*counted);
        CHECK(after <= before);
        const bool some = std::ranges::any_of(counted->schedules, [](const auto& row) { return row.origin.counted; });
        CHECK(some == (after < before));
        CHECK(plain->schedules.empty());
        const auto again = compile_counting(graph, config, counting);
        CHECK(bundle::serialize(again->bundle) == bundle::serialize(counted->bundle));
      }
}

TEST_CASE("counted schedules: weights of 4 bits are counted as such, in a single task too") {
  ChainMaker make;
  make.int4 = true;
  int programs = 0, with_int4 = 0;
  const accel::CountCycles count = explore::cycle_counter(simulator::IdealMemory{});
  const auto counted = [&](const bundle::AccelCode& code, const bundle::MemorySpace& memory) {
    ++programs;
    with_int4 += std::ranges::any_of(code.program, [](const isa::Instruction& instruction) {
      const auto* const load = std::get_if<isa::Load>(&instruction.body);
      return load != nullptr && load->memory == isa::Memory::wgt4;
    });
    return count(code, memory);
  };
  REQUIRE(compile_counting(make.chain(), *isa::load_config("1x16x16-g3"), {counted, 3}).ok());
  CHECK(programs > 4);  // the region, and each of the three tasks with up to three schedules
  CHECK(with_int4 == programs);
}

TEST_CASE("counted schedules: some are faster than the default ones") {
  ChainMaker make;
  const graph::Graph graph = make.chain();
  int counted = 0;
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    const auto compiled = compile_counting(graph, config, {explore::cycle_counter(simulator::IdealMemory{}), 8});
    REQUIRE(compiled.ok());
    for (const ScheduleReport& row : compiled->schedules) counted += row.origin.counted;
  }
  CHECK(counted > 0);
}

TEST_CASE("counted schedules: decisions that are given stay") {
  ChainMaker make;
  const schedule::FindRecorded one_slot = [](const schedule::Task&, const schedule::Sketch&) {
    return schedule::Recorded{schedule::Decisions{{"slots_inp", "1"}, {"slots_wgt", "1"}}, "decided", true};
  };
  const accel::Counting counting{explore::cycle_counter(simulator::IdealMemory{}), 4};
  std::string traces;
  const auto compiled = compile_counting(make.chain(), *isa::load_config("1x16x16-ext"), counting, one_slot, &traces);
  REQUIRE(compiled.ok());
  CHECK(traces.find("sample slots_inp among 1,2,3,4 = 1\n") != std::string::npos);
  for (const char* more : {"2", "3", "4"})
    CHECK(traces.find(fmt::format("sample slots_inp among 1,2,3,4 = {}\n", more)) == std::string::npos);
  REQUIRE(compiled->schedules.size() >= 4);
  for (const ScheduleReport& row : compiled->schedules)
    if (row.kind == "convolution") {
      CHECK(row.origin.recorded);
      CHECK(row.origin.taken == std::set<std::string>{"slots_inp", "slots_wgt"});
    }
}

TEST_CASE("counted schedules: a task that cannot be counted is an error, not a default") {
  ChainMaker make;
  int asked = 0;
  const accel::Counting counting{[&](const bundle::AccelCode&, const bundle::MemorySpace&) -> Result<std::uint64_t> {
                                   ++asked;
                                   return Diagnostic{"cannot count", "", "the clock is broken", ""};
                                 },
                                 4};
  const auto compiled = compile_counting(make.chain(), {}, counting);
  REQUIRE_FALSE(compiled.ok());
  CHECK(compiled.errors().front().why == "the clock is broken");
  CHECK(asked == 1);
}
