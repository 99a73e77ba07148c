// Programs that are scheduled by hand, by random steps: each becomes instructions that compute the values of the
// written program, or is refused with a reason. The sketches' programs have one form; here any form may come.
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/target/accel/programs/intrinsics.h"
#include "driver/loop_program.h"
#include "loops/print.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/property/compiler/schedule/step_generator.h"

using namespace dovetail;

namespace {

// y = clamp(((sum of x w) + b) >> 4), and a second result z that reads the sums too.
std::string product(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool two_results) {
  const auto nest = [&](std::string_view block, std::string_view body) {
    return fmt::format(
        "for {0}.i in {1} {{ for {0}.j in {2} {{ block {0} {{ spatial i in {1} = {0}.i spatial j in {2} = {0}.j {3} "
        "}} }} }}\n",
        block, rows, columns, body);
  };
  std::string text = fmt::format(
      "program product {{ input x: int8[{0}, {2}] input w: int8[{1}, {2}] input b: int32[{0}, {1}] output y: int8[{0}, "
      "{1}] {3} alloc acc: int32[{0}, {1}] alloc bias: int32[{0}, {1}] alloc added: int32[{0}, {1}] alloc high: "
      "int32[{0}, {1}] alloc low: int32[{0}, {1}] alloc clamped: int32[{0}, {1}]\n",
      rows, columns, depth, two_results ? fmt::format("output z: int8[{}, {}]", rows, columns) : "");
  text += fmt::format(
      "for acc.i in {0} {{ for acc.j in {1} {{ for acc.k in {2} {{ block acc {{ spatial i in {0} = acc.i spatial j in "
      "{1} = acc.j reduce k in {2} = acc.k init {{ acc[i, j] = 0 }} acc[i, j] = acc[i, j] + int32(x[i, k]) * "
      "int32(w[j, "
      "k]) }} }} }} }}\n",
      rows, columns, depth);
  text += nest("bias", "bias[i, j] = b[i, j]");
  if (two_results) text += nest("z", "z[i, j] = int8(acc[i, j])");
  text += nest("added", "added[i, j] = acc[i, j] + bias[i, j]");
  text += nest("high", "high[i, j] = added[i, j] >> 4");
  text += nest("low", "low[i, j] = max(high[i, j], -128)");
  text += nest("clamped", "clamped[i, j] = min(low[i, j], 127)");
  text += nest("y", "y[i, j] = int8(clamped[i, j])");
  return text + "}\n";
}

// Steps to a program of the accelerator: tiles, copies, elements, intrinsics.
std::vector<std::string> steps_for(const isa::HardwareConfig& config, bool two_results, std::int64_t rows,
                                   std::int64_t columns, std::int64_t depth) {
  const std::int64_t n = config.batch, in = config.block_in, out = config.block_out;
  std::vector<std::string> steps;
  const auto step = [&]<typename... Words>(fmt::format_string<Words...> text, Words&&... words) {
    steps.push_back(fmt::format(text, std::forward<Words>(words)...));
  };
  for (const char* stage : {"acc", "bias", "added", "high", "low", "clamped"}) step("set_scope {} accel.acc", stage);
  step("split y.i {} -> it ii", rows);
  step("split y.j {} -> jt ji", columns);
  step("reorder it jt ii ji");
  if (two_results) {
    step("split z.i {} -> zit z.i", rows);
    step("split z.j {} -> zjt z.j", columns);
    step("reorder zit zjt z.i z.j");
    step("merge zit it -> it");
    step("merge zjt jt -> jt");
  }
  for (const char* stage : {"clamped", "low", "high", "added"}) step("compute_at {} jt", stage);
  for (const char* stage : {"bias", "acc"}) step("compute_at {} jt", stage);
  step("split acc.k {} -> kt ki", depth);
  step("reorder kt acc.i acc.j ki");
  step("decompose_reduction acc kt -> zero");
  step("cache_read acc x accel.inp -> xc");
  step("cache_read acc w accel.wgt -> wc");
  step("compute_at xc kt");
  step("compute_at wc kt");
  const auto element = [&](const std::string& i, std::int64_t by_i, const std::string& j, std::int64_t by_j) {
    step("split {0} {1} -> {0}b {0}e", i, by_i);
    step("split {0} {1} -> {0}b {0}e", j, by_j);
    step("reorder {0}b {1}b {0}e {1}e", i, j);
  };
  element("xc.0", n, "xc.1", in);
  element("wc.0", out, "wc.1", in);
  for (const char* stage : {"bias", "added", "high", "low", "clamped"})
    element(fmt::format("{}.i", stage), n, fmt::format("{}.j", stage), out);
  if (two_results) element("z.i", n, "z.j", out);
  element("ii", n, "ji", out);
  element("zero.acc.i", n, "zero.acc.j", out);
  step("split acc.i {} -> acc.ib acc.ie", n);
  step("split acc.j {} -> acc.jb acc.je", out);
  step("split ki {} -> kb ke", in);
  step("reorder acc.ib acc.jb kb acc.ie acc.je ke");
  const auto map = [](std::int64_t i, std::int64_t j) { return fmt::format("i0/{0},i1/{1},i0%{0},i1%{1}", i, j); };
  for (const char* buffer : {"x", "xc"}) step("transform_layout {} {}", buffer, map(n, in));
  for (const char* buffer : {"w", "wc"}) step("transform_layout {} {}", buffer, map(out, in));
  for (const char* buffer : {"acc", "b", "bias", "added", "high", "low", "clamped", "y"})
    step("transform_layout {} {}", buffer, map(n, out));
  if (two_results) step("transform_layout z {}", map(n, out));
  step("tensorize acc.ie accel.gemm");
  step("tensorize zero.acc.ie accel.fill");
  step("tensorize added.ie accel.add");
  step("tensorize high.ie accel.shr_imm");
  step("tensorize low.ie accel.max_imm");
  step("tensorize clamped.ie accel.min_imm");
  return steps;
}

NdArray random_array(DType dtype, const Shape& shape, std::mt19937_64& random) {
  NdArray array(dtype, shape);
  const std::int64_t most = dtype == DType::int8 ? 127 : 20'000;
  for (std::int64_t i = 0; i < array.count(); ++i)
    array.set_int64(i, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * most)) - most);
  return array;
}

// Mostly of primitives that leave a program one of the accelerator.
std::string random_step(schedule::test::StepGenerator& generator, const driver::LoopProgram& program,
                        std::mt19937_64& draw) {
  constexpr std::string_view kUsual[] = {
      "split", "fuse", "reorder", "merge", "slots", "vthread", "pipeline", "compute_at", "reverse_compute_at", "pad"};
  const bool usual = draw() % 8 != 0;
  while (true) {
    const schedule::Step step = generator.next(program.program());
    if (!usual || std::ranges::find(kUsual, step.primitive) != std::end(kUsual)) return schedule::to_string(step);
  }
}

struct Counts {
  int compiled = 0, refused = 0;
};

void check(const driver::LoopProgram& program, const std::map<std::string, NdArray>& inputs,
           const std::vector<std::pair<std::string, NdArray>>& expected, Counts& counts) {
  const auto compiled = program.compile("accel", false, nullptr);
  if (!compiled.ok()) {
    ++counts.refused;
    for (const Diagnostic& problem : compiled.errors()) {
      INFO(to_string(problem));
      CHECK(problem.why.find("findings") == std::string::npos);
      CHECK(!problem.hint.empty());
    }
    return;
  }
  ++counts.compiled;
  const auto make = runtime::simulator_factory("functional");
  auto executor = runtime::Executor::make(compiled->bundle, *make, {.threads = 1});
  REQUIRE(executor.ok());
  const auto run = executor->run(inputs, {});
  INFO(to_string(run.ok() ? Diagnostics{} : run.errors()));
  REQUIRE(run.ok());
  for (const auto& [name, array] : expected) CHECK(run->outputs.at(name) == array);
}

}  // namespace

TEST_CASE("accelerator: programs scheduled by hand are right, or refused with a reason") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      Counts counts;
      for (const bool two_results : {false, true}) {
        const std::int64_t rows = 4 * config.batch, columns = 2 * config.block_out, depth = 2 * config.block_in;
        const std::string text = product(rows, columns, depth, two_results);
        const driver::LoopMachines machines{.hardware = config.name, .cpu = std::string("interpreter")};
        const auto written = driver::LoopProgram::parse(text, "product", machines);
        REQUIRE(written.ok());
        std::mt19937_64 random(7);
        const std::map<std::string, NdArray> inputs{{"x", random_array(DType::int8, {rows, depth}, random)},
                                                    {"w", random_array(DType::int8, {columns, depth}, random)},
                                                    {"b", random_array(DType::int32, {rows, columns}, random)}};
        const auto expected = written->run(inputs, nullptr);
        REQUIRE(expected.ok());
        const loops::IntrinsicTable intrinsics = accel::make_intrinsics(config);
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
          schedule::test::StepGenerator generator(seed, intrinsics, true);
          std::mt19937_64 draw(seed);
          const std::int64_t tile = seed % 3 == 0 ? 1 : 2;  // tiles of the whole, or halves
          driver::LoopProgram program = *written;
          for (const std::string& step :
               steps_for(config, two_results, rows / tile, columns / tile, depth / (seed % 2 == 0 ? 1 : 2))) {
            // Refused steps, random ones and those of the list that do not suit them, are left out.
            while (seed > 2 && draw() % 16 == 0) (void)program.apply(random_step(generator, program, draw));
            const auto taken = program.apply(step);
            INFO(step << "\n" << (taken.ok() ? "" : to_string(taken.errors())));
            if (seed <= 2) REQUIRE(taken.ok());
          }
          for (std::uint64_t more = draw() % 4; seed > 2 && more > 0; --more)
            (void)program.apply(random_step(generator, program, draw));
          INFO("seed " << seed << (two_results ? ", two results" : "") << "\n"
                       << program.to_json().at("trace").get<std::string>() << loops::to_string(program.program()));
          const auto interpreted = program.run(inputs, nullptr);
          INFO((interpreted.ok() ? "" : to_string(interpreted.errors())));
          REQUIRE(interpreted.ok());
          CHECK(*interpreted == *expected);
          check(program, inputs, *expected, counts);
          // The text is the program: it compiles where the program does, but with the layouts as shapes.
          const auto again = driver::LoopProgram::parse(loops::to_string(program.program()), "again", machines);
          REQUIRE(again.ok());
          CHECK(again->compile("accel", false, nullptr).ok() == program.compile("accel", false, nullptr).ok());
        }
      }
      INFO(counts.compiled << " compiled, " << counts.refused << " refused");
      CHECK(counts.compiled > 6);  // the six without random steps, and others
      CHECK(counts.refused > 10);
    }
  }
}
