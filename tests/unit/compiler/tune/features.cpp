// Features of schedules of both targets: as many as there are names, finite, and different for different schedules.
#include "compiler/tune/features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/fuse/fuse.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/programs/programs.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "loops/parse.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/rewrite_case.h"

using namespace dovetail;

namespace {

using Named = std::map<std::string_view, double>;

Named named(const schedule::Task& task, const schedule::Scheduled& scheduled) {
  const std::vector<double> values = tune::features(task, scheduled);
  const auto names = tune::feature_names();
  REQUIRE(values.size() == names.size());
  Named result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(names[i]);
    CHECK(std::isfinite(values[i]));
    result[names[i]] = values[i];
  }
  return result;
}

Named of_program(const std::string& body) {
  auto program = loops::parse_program("program p { " + body + " }", "test");
  if (!program.ok()) FAIL(to_string(program.errors()));
  const schedule::Task task{"test", "any", *program};
  return named(task, {*program, {}, {}, {}, {}});
}

double log_of(double count) { return std::log2(1 + count); }

// The default schedule of a task, and one for each open decision, which differs from the default.
template <typename Run>
void check_variations(const schedule::Task& task, const Run& run) {
  const auto chosen = run(schedule::Decisions{});
  REQUIRE(chosen.ok());
  const Named first = named(task, *chosen);
  int differ = 0;
  for (const schedule::Decision& decision : chosen->decisions)
    for (const std::string& value : decision.space.values) {
      if (value == decision.value) continue;
      const auto varied = run(schedule::Decisions{{decision.name, value}});
      if (!varied.ok()) continue;
      INFO(decision.name << "=" << value);
      CHECK(named(task, *varied) != first);
      ++differ;
    }
  CHECK(differ > 3);
}

}  // namespace

TEST_CASE("features: each name is unique") {
  const auto names = tune::feature_names();
  CHECK(names.size() > 100);
  CHECK(std::set<std::string_view>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("features: operations, touches, bytes and loops of a small product") {
  const Named f = of_program(R"(
    input a: float32[64, 32]
    input b: float32[32, 16]
    output c: float32[64, 16]
    for i in 64 parallel { for j in 16 vectorized { for k in 32 {
      block gemm {
        spatial vi in 64 = i  spatial vj in 16 = j  reduce vk in 32 = k
        reads a[vi, vk], b[vk, vj]  writes c[vi, vj]
        init { c[vi, vj] = 0.0 }
        c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]
      }
    } } })");
  const double points = 64 * 16 * 32;
  CHECK(f.at("operations.float_multiply") == Approx(log_of(points)));
  CHECK(f.at("operations.float_add") == Approx(log_of(points)));
  CHECK(f.at("operations.all") == Approx(log_of(2 * points)));
  CHECK(f.at("input.loads") == Approx(log_of(2 * points)));
  CHECK(f.at("output.stores") == Approx(log_of(points + 64 * 16)));  // the init once for each sum
  CHECK(f.at("input.bytes") == Approx(log_of((64 * 32 + 32 * 16) * 4)));
  CHECK(f.at("main.vectorized") == Approx(log_of(16)));
  CHECK(f.at("main.parallel") == Approx(log_of(64)));
  CHECK(f.at("loop_steps") == Approx(log_of(points)));  // only those of k
  CHECK(f.at("touched_bytes") == Approx(log_of((64 * 32 + 32 * 16 + 64 * 16) * 4)));
  // b is read again for every row. 8 KiB hold all of it; 1 KiB holds just what one column of it needs.
  CHECK(f.at("past_16m.loaded_bytes") == Approx(log_of((64 * 32 + 32 * 16 + 64 * 16) * 4)));
  CHECK(f.at("past_8k.loaded_bytes") == Approx(log_of((64 * 32 + 64 * 32 * 16 + 64 * 16) * 4)));
  // With j in the lanes, a does not move; b and c advance by one element.
  CHECK(f.at("loads.still") == Approx(1.0 / 3));
  CHECK(f.at("loads.next") == Approx(2.0 / 3));
  CHECK(f.at("loads.far") == Approx(0));
}

TEST_CASE("features: copies to an on-chip memory are transfers") {
  const Named f = of_program(R"(
    input x: int8[8, 64]
    output y: int8[8, 64]
    alloc t: int8[2, 64] in accel.inp
    for o in 4 {
      for i in 2 { for j in 64 {
        block load { spatial vi in 8 = o * 2 + i  spatial vj in 64 = j  reads x[vi, vj]  writes t[vi % 2, vj]
          t[vi % 2, vj] = x[vi, vj] } } }
      for i in 2 { for j in 64 {
        block store { spatial vi in 8 = o * 2 + i  spatial vj in 64 = j  reads t[vi % 2, vj]  writes y[vi, vj]
          y[vi, vj] = t[vi % 2, vj] } } }
    })");
  CHECK(f.at("in.transfers") == Approx(log_of(4)));
  CHECK(f.at("in.bytes") == Approx(log_of(512)));
  CHECK(f.at("in.bytes_of_transfer") == Approx(log_of(512) - log_of(4)));
  CHECK(f.at("in.bytes_of_run") == Approx(log_of(512) - log_of(4)));  // whole rows are adjacent
  CHECK(f.at("out.transfers") == Approx(log_of(4)));
  CHECK(f.at("on_chip.bytes") == Approx(log_of(128)));
  CHECK(f.at("allocated.scope0_bytes") == Approx(log_of(128)));
  CHECK(f.at("copied.transfers") == Approx(0));
}

TEST_CASE("features: accelerator schedules differ where their decisions do") {
  const isa::HardwareConfig config;
  const auto intrinsics = std::make_shared<loops::IntrinsicTable>(accel::make_intrinsics(config));
  accel::ConvSpec spec;
  spec.name = "conv";
  spec.x = accel::make_layout(config, 1, 64, 14, 14);
  spec.y = accel::make_layout(config, 1, 64, 14, 14);
  spec.kernel_h = spec.kernel_w = 3;
  spec.pad_top = spec.pad_left = 1;
  spec.x.border = {1, 1, 1, 1};
  spec.epilogue.saturate = config.saturate;
  if (!config.requant) spec.epilogue.form = accel::Epilogue::Form::fixed_point;
  const schedule::Task task =
      accel::make_task(accel::kConvolution, accel::conv_program(spec, config), config, intrinsics);
  const auto run = [&](const schedule::Decisions& given) {
    return schedule::run(accel::sketch_of(accel::kConvolution, config), task, given);
  };
  check_variations(task, run);
  const auto chosen = run({});
  REQUIRE(chosen.ok());
  const Named f = named(task, *chosen);
  CHECK(f.at("intrinsics.calls") > 10);
  CHECK(f.at("intrinsics.work") >= std::log2(14.0 * 14 * 64 * 64 * 9));
  CHECK(f.at("in.transfers") > 0);
  CHECK(f.at("out.bytes") > 0);
}

TEST_CASE("features: CPU schedules differ where their decisions do") {
  const graph::Graph graph = test::RewriteCase(R"(graph g(%x: float32[1, 16, 28, 28]) -> (%y)
  constant %w: float32[32, 16, 3, 3]
  %c: float32[1, 32, 28, 28] = Conv(%x, %w) {pads = [1, 1, 1, 1]}  // c
  %y: float32[1, 32, 28, 28] = Relu(%c)  // y
)")
                                 .graph();
  const auto groups = fuse_groups(graph, graph.topological_order());
  REQUIRE(groups.ok());
  const cpu::Cpu processor = cpu::find_cpu("avx512").value();
  const cpu::Kind& kind = *cpu::find_kind("convolution");
  cpu::Preparation made((*groups)[0], {{"", ""}, {""}}, processor, kind.name);
  kind.prepare(made);
  const schedule::Sketch sketch{kind.name, kind.version,
                                [&](schedule::Context& context) { return kind.write(context, processor); }};
  const auto run = [&](const schedule::Decisions& given) { return schedule::run(sketch, made.task, given); };
  check_variations(made.task, run);
  const auto chosen = run({});
  REQUIRE(chosen.ok());
  const Named f = named(made.task, *chosen);
  CHECK(f.at("operations.float_multiply") == Approx(log_of(28.0 * 28 * 32 * 16 * 9)).epsilon(0.01));
  CHECK(f.at("main.vectorized") == Approx(log_of(16)));
  CHECK(f.at("allocated.register_bytes") > 0);
}
