// Attention of one position with a cache of keys and values: its rows are written at a position that the caller gives,
// its mask is computed, and the cache stays in the accelerator's memory if it is a state.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/assemble/combine_shapes.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/host/target.h"
#include "explore/measure/count_cycles.h"
#include "tests/catch.h"
#include "tests/differential/compiler/accel/cache_graph.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator/generator.h"

using namespace dovetail;

namespace {

using graph::ValueId;
using test::add_extensions;
using test::CacheMaker;
using test::decoder;
using Extents = test::CacheExtents;

Compiled compiled_for(const graph::Graph& graph, const isa::HardwareConfig& config, bool states,
                      const accel::Counting& counting = {}) {
  CompileOptions options;
  options.available = {accel::make_target(config, 1000, nullptr, counting), host::make_target()};
  options.targets = {"accel"};
  auto compiled = compile({graph, {}}, options);
  INFO((compiled.ok() ? "" : to_string(compiled.errors())));
  REQUIRE(compiled.ok());
  bundle::Bundle& bundle = compiled->bundle;
  const auto named = [&](const std::vector<bundle::TensorIndex>& tensors, const std::string& name) {
    return *std::ranges::find(
        tensors, name, [&](bundle::TensorIndex index) { return bundle.tensors[static_cast<std::size_t>(index)].name; });
  };
  for (const char* name : {"key", "value"})
    if (states)
      bundle.states.push_back(
          {named(bundle.inputs, std::string("past.") + name), named(bundle.outputs, std::string("present.") + name)});
  return *std::move(compiled);
}

using Values = std::map<std::string, NdArray>;

Values run(runtime::Executor& executor, const Values& inputs, const runtime::RunOptions& options = {}) {
  auto result = executor.run(inputs, options);
  INFO((result.ok() ? "" : to_string(result.errors())));
  REQUIRE(result.ok());
  return std::move(result->outputs);
}

bool is_on_accelerator(const Compiled& compiled, std::string_view op) {
  return std::ranges::all_of(compiled.placement,
                             [&](const NodePlacement& node) { return node.op != op || node.target == "accel"; });
}

}  // namespace

TEST_CASE("accel: attention with a cache equals the reference at every position") {
  std::uint64_t seed = 0;
  for (const char* name : {"1x16x16-ext", "1x8x8", "1x32x32"})
    for (const Extents& extents : {Extents{2, 16, 32}, Extents{3, 40, 48}, Extents{1, 7, 16}, Extents{2, 24, 32, 3},
                                   Extents{4, 1, 16}, Extents{6, 256, 48}}) {
      INFO(name << ": " << extents.heads << " x " << extents.length << " x " << extents.size << ", " << extents.rows);
      CacheMaker make(extents, ++seed);
      make.attention();
      const Compiled compiled = compiled_for(make.graph, decoder(name), true);
      CHECK(is_on_accelerator(compiled, "TensorScatter"));
      CHECK(is_on_accelerator(compiled, "dovetail.qsoftmax"));
      auto reference = Reference::make(make.graph);
      REQUIRE(reference.ok());
      for (const char* engine : {"functional", "cycle"}) {
        auto executor = runtime::Executor::make(compiled.bundle, *runtime::simulator_factory(engine));
        REQUIRE(executor.ok());
        const Shape past{1, extents.heads, extents.length, extents.size};
        Values states{{"past.key", NdArray(DType::int8, past)}, {"past.value", NdArray(DType::int8, past)}};
        const std::int64_t last = extents.length - extents.rows;
        for (const std::int64_t position : {std::int64_t{0}, std::min<std::int64_t>(1, last), last / 2, last}) {
          Values inputs{{"position", NdArray::from<std::int64_t>({1}, std::vector{position})},
                        {"x", make.draw.int8({1, extents.rows, 3 * extents.heads * extents.size})}};
          const Values got = run(*executor, inputs, {.copy_states = false});
          inputs.insert(states.begin(), states.end());
          const auto expected = reference->run(inputs);
          REQUIRE(expected.ok());
          CHECK((got.at("merged") == expected->at("merged")));
          for (const char* each : {"key", "value"})
            states.at(std::string("past.") + each) = expected->at(std::string("present.") + each);
        }
        for (const auto& [state, value] : **executor->states()) CHECK((value == states.at(state)));
      }
    }
}

TEST_CASE("accel: schedules of a region that writes rows of a cache can be counted") {
  CacheMaker make(Extents{2, 24, 32}, 5);
  make.attention();
  const Compiled compiled =
      compiled_for(make.graph, decoder("1x16x16-ext"), false, {explore::cycle_counter(simulator::IdealMemory{}), 4});
  CHECK(is_on_accelerator(compiled, "TensorScatter"));
  const Shape past{1, 2, 24, 32};
  const Values inputs{{"past.key", make.draw.int8(past)},
                      {"past.value", make.draw.int8(past)},
                      {"position", NdArray::from<std::int64_t>({1}, std::vector<std::int64_t>{17})},
                      {"x", make.draw.int8({1, 1, 3 * 2 * 32})}};
  auto executor = runtime::Executor::make(compiled.bundle, *runtime::simulator_factory("functional"));
  REQUIRE(executor.ok());
  const auto expected = Reference::make(make.graph)->run(inputs);
  REQUIRE(expected.ok());
  const Values got = run(*executor, inputs);
  CHECK(got.size() == 3);
  for (const auto& [name, value] : got) CHECK((value == expected->at(name)));
}

TEST_CASE("accel: a state is the same wherever it is kept") {
  const Extents extents{2, 24, 32};
  CacheMaker make(extents, 77);
  make.attention();
  const Compiled compiled = compiled_for(make.graph, decoder("1x16x16-ext"), true);
  CHECK(compiled.bundle.residents.size() == 2);
  auto parsed = bundle::parse(bundle::serialize(compiled.bundle), "bundle", bundle::MachineCode::trusted);
  REQUIRE(parsed.ok());
  CHECK(parsed->residents == compiled.bundle.residents);
  auto reference = Reference::make(make.graph);
  REQUIRE(reference.ok());
  auto executor = runtime::Executor::make(*std::move(parsed), *runtime::simulator_factory("functional"));
  REQUIRE(executor.ok());
  const Shape past{1, extents.heads, extents.length, extents.size};
  const Values zeros{{"past.key", NdArray(DType::int8, past)}, {"past.value", NdArray(DType::int8, past)}};
  Values states = zeros;
  test::Draw& draw = make.draw;
  for (int i = 0; i < 200; ++i) {
    INFO("step " << i);
    const std::int64_t position = draw.between(0, extents.length - 1);
    Values inputs{{"position", NdArray::from<std::int64_t>({1}, std::vector{position})},
                  {"x", draw.int8({1, 1, 3 * extents.heads * extents.size})}};
    switch (draw.between(0, 9)) {
      case 0: {  // read
        for (const auto& [state, value] : **executor->states()) CHECK((value == states.at(state)));
        continue;
      }
      case 1: {  // set
        states = zeros;
        if (draw.coin()) states.at("past.key") = draw.int8(past);
        executor->set_states(states);
        continue;
      }
      case 2: {  // a run that fails
        inputs.at("position").set_int64(0, draw.coin() ? -1 : extents.length);
        const auto failed = executor->run(inputs, {.copy_states = draw.coin()});
        REQUIRE_FALSE(failed.ok());
        CHECK_THAT(to_string(failed.errors()), Catch::Matchers::ContainsSubstring("have positions from 0 to 23"));
        continue;
      }
      case 3:  // one state is given
        states.at("past.value") = draw.int8(past);
        inputs.emplace("past.value", states.at("past.value"));
        break;
      default: break;
    }
    const bool bound = draw.between(0, 4) == 0 && !inputs.contains("past.value");
    Values got;
    if (bound) {
      std::vector<std::span<const std::byte>> bytes;
      for (const bundle::TensorIndex input : executor->bundle().inputs) {
        const auto found = inputs.find(executor->bundle().tensors[static_cast<std::size_t>(input)].name);
        bytes.push_back(found == inputs.end() ? std::span<const std::byte>() : found->second.bytes());
      }
      REQUIRE(executor->run_in_place(bytes, {}, draw.coin()).ok());
      got.emplace("merged", *executor->copied_output("merged"));
    } else {
      got = run(*executor, inputs, {.keep_tensors = draw.between(0, 5) == 0, .copy_states = draw.between(0, 3) == 0});
    }
    for (const auto& [state, value] : states) inputs.insert_or_assign(state, value);
    const auto expected = reference->run(inputs);
    REQUIRE(expected.ok());
    for (const auto& [output, value] : got) CHECK((value == expected->at(output)));
    for (const char* each : {"key", "value"})
      states.at(std::string("past.") + each) = expected->at(std::string("present.") + each);
  }
}

TEST_CASE("accel: the length of a state that was given selects the next program") {
  std::vector<bundle::Bundle> programs;
  for (const std::int64_t length : {16, 32}) {
    CacheMaker make({2, length, 32}, 5);
    make.attention();
    programs.push_back(compiled_for(make.graph, decoder("1x16x16-ext"), true).bundle);
  }
  auto executor =
      runtime::Executor::make(combine_shapes(std::move(programs)).value(), *runtime::simulator_factory("functional"));
  REQUIRE(executor.ok());
  test::Draw draw(6);
  const Values inputs{{"position", NdArray::from<std::int64_t>({1}, {3})}, {"x", draw.int8({1, 1, 192})}};
  run(*executor, inputs, {.copy_states = false});
  Values longer = inputs;
  for (const char* name : {"past.key", "past.value"}) longer.emplace(name, draw.int8({1, 2, 32, 32}));
  const Values first = run(*executor, longer, {.copy_states = false});
  // The same row is written again, over a state that only the device has.
  CHECK((run(*executor, inputs, {.copy_states = false}).at("merged") == first.at("merged")));
  CHECK(executor->states().value()->at("past.key").shape() == Shape{1, 2, 32, 32});
}

TEST_CASE("accel: a cache without states is an input and an output") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    isa::HardwareConfig config = test::random_config(seed);
    add_extensions(config);
    if (!isa::validate(config).ok()) continue;
    INFO("configuration " << seed);
    test::Draw draw(seed);
    const std::int64_t length = draw.between(1, 40);
    CacheMaker make(
        {draw.between(1, 4), length, draw.between(1, 40), draw.between(1, std::min<std::int64_t>(length, 3))}, seed);
    make.attention();
    const Extents& extents = make.extents;
    const Shape past{1, extents.heads, extents.length, extents.size};
    test::run_on_accelerator(
        make.graph, config,
        {{"position", NdArray::from<std::int64_t>({1}, std::vector{draw.between(0, length - extents.rows)})},
         {"x", draw.int8({1, extents.rows, 3 * extents.heads * extents.size})},
         {"past.key", draw.int8(past)},
         {"past.value", draw.int8(past)}},
        test::Demand::none);
  }
}

TEST_CASE("accel: a computed mask may hide rows, which then count as a whole") {
  std::uint64_t seed = 40;
  for (const char* name : {"1x16x16-ext", "1x8x8", "4x8x8"})
    for (const auto& [groups, rows, columns] :
         {std::tuple<int, int, int>{1, 5, 16}, {3, 4, 33}, {2, 8, 7}, {1, 6, 48}}) {
      INFO(name << ": " << groups << " x " << rows << " x " << columns);
      test::Draw draw(++seed);
      CacheMaker make({1, columns, 1}, seed);
      const Shape shape{groups, rows, columns}, own = groups == 1 ? Shape{rows, columns} : Shape{1, rows, columns};
      const ValueId x = make.input("x", DType::int8, shape), mask = make.input("mask", DType::boolean, own);
      make.output(make.softmax(x, mask));
      NdArray visible(DType::boolean, own);
      for (std::int64_t i = 0; i < visible.count(); ++i)
        visible.set_int64(i, i / columns % 2 == 0 ? draw.between(0, 1) : draw.between(0, 9) == 0);
      isa::HardwareConfig config = decoder(name);
      const test::Ran ran = test::run_on_accelerator(
          make.graph, config, {{"position", NdArray(DType::int64, {1})}, {"x", draw.int8(shape)}, {"mask", visible}},
          test::Demand::none);
      CHECK((config.batch > 1 || ran.by_row.at("softmax") == 1));
    }
}

TEST_CASE("accel: rows times one value for each channel, and blocks that become rows") {
  std::uint64_t seed = 60;
  for (const char* name : {"1x16x16-ext", "1x8x8", "1x32x16"})
    for (const auto& [rows, columns] : {std::pair(6, 32), std::pair(1, 64), std::pair(9, 96)}) {
      INFO(name << ": " << rows << " x " << columns);
      CacheMaker make({1, 1, 1}, ++seed);
      const ValueId x = make.input("x", DType::int8, {1, 1, rows * columns}),
                    factors = make.input("factors", DType::int8, {1, 1, columns});
      const ValueId y = make.node("Reshape", "rows", {x, make.integers("k", {1, rows, columns})}, {});
      make.output(make.node("dovetail.qmul", "product", {y, factors},
                            {{"a_zero_point", std::int64_t{3}}, {"scale", 0.0078125}}));
      const test::Ran ran = test::run_on_accelerator(make.graph, decoder(name),
                                                     {{"position", NdArray(DType::int64, {1})},
                                                      {"x", make.draw.int8({1, 1, rows * columns})},
                                                      {"factors", make.draw.int8({1, 1, columns})}},
                                                     test::Demand::none);
      CHECK(ran.by_row.at("product") == 1);
      CHECK((rows == 1 || ran.by_row.at("movement of rows") == 1));
    }
}
