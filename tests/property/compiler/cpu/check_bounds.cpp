// Kernels that check their bounds, with planted faults: an operand of a scheduled kernel lacks its first or its last
// slice, and another operand's memory is in its place. The kernel must report the access exactly where the interpreter
// does, which checks every index; without a fault it must report nothing.
#include <algorithm>

#include "base/aligned_bytes.h"
#include "base/processor.h"
#include "base/random.h"
#include "bundle/code/kernel_host.h"
#include "compiler/fuse/fuse.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/jit.h"
#include "compiler/target/cpu/schedule_group.h"
#include "compiler/target/cpu/sketches/conv_operands.h"
#include "loops/core/dissolve_blocks.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/rewrite.h"
#include "tests/catch.h"
#include "tests/property/compiler/random_float_graph.h"
#include "tests/property/compiler/random_int8_graph.h"

using namespace dovetail;
using namespace dovetail::loops;
using Catch::Matchers::ContainsSubstring;

namespace {

enum class Missing { first, last };

std::optional<std::size_t> outermost(const Shape& shape) {  // first dimension with more than one element
  const auto found = std::ranges::find_if(shape, [](std::int64_t extent) { return extent > 1; });
  if (found == shape.end()) return std::nullopt;
  return static_cast<std::size_t>(found - shape.begin());
}

// The program with an operand that is a slice shorter, used as if it were not.
Program with_fault(const Program& program, std::size_t operand, Missing missing) {
  const Buffer& whole = program.parameters[operand].buffer;
  const std::size_t dimension = outermost(whole->shape).value();
  Shape shape = whole->shape;
  --shape[dimension];
  const Buffer cut = make_buffer(whole->name, whole->dtype, shape, whole->scope);
  const auto moved = [&](std::vector<Expr> indices) {
    if (missing == Missing::first) indices[dimension] = indices[dimension] - 1;
    return indices;
  };
  Program result = program;
  result.parameters[operand].buffer = cut;
  result.body = rewrite_stmt(
      program.body,
      [&](const Stmt& stmt) -> Stmt {
        if (const auto* found = std::get_if<Store>(&stmt->node)) {
          Store changed = *found;
          for (StoreTarget& target : changed.targets)
            if (target.buffer == whole) target.buffer = cut, target.indices = moved(target.indices);
          return make_stmt(std::move(changed));
        }
        if (const auto* found = std::get_if<IntrinsicCall>(&stmt->node)) {
          IntrinsicCall changed = *found;
          for (IntrinsicOperand& used : changed.operands)
            if (used.buffer == whole) used.buffer = cut, used.indices = moved(used.indices);
          return make_stmt(std::move(changed));
        }
        return stmt;
      },
      [&](const Expr& expr) {
        const auto* found = std::get_if<LoadExpr>(&expr->node);
        return found != nullptr && found->buffer == whole ? load(cut, moved(found->indices)) : expr;
      });
  return result;
}

struct Tally {
  int clean = 0, missed_first = 0, missed_last = 0, unused = 0;
  std::map<std::string, int> kinds;
};

std::vector<NdArray> arguments_of(const Program& program, SplitMix64& random) {
  std::vector<NdArray> arguments;
  for (const Parameter& parameter : program.parameters) {
    if (parameter.role == ParameterRole::output) continue;
    arguments.emplace_back(parameter.buffer->dtype, parameter.buffer->shape);
    for (std::int64_t i = 0; i < arguments.back().count(); ++i)
      arguments.back().set_double(i, static_cast<double>(random.next() % 4));
  }
  return arguments;
}

std::string said_by_code(const Program& program, const std::vector<NdArray>& arguments, const cpu::Cpu& cpu) {
  const auto code = cpu::JitProgram::make(program, cpu::intrinsics(cpu), cpu, 2);
  REQUIRE((code.ok() ? "" : to_string(code.errors())) == "");
  const auto result = code->run(arguments);
  return result.ok() ? "" : to_string(result.errors());
}
std::string said_by_interpreter(const Program& program, const std::vector<NdArray>& arguments, const cpu::Cpu& cpu) {
  const auto compiled = compile(program, dissolve_blocks(program, cpu::intrinsics(cpu)));
  const auto result = run(*compiled, arguments);
  return result.ok() ? "" : to_string(result.errors());
}

void check(const graph::Graph& graph, const cpu::Cpu& cpu, SplitMix64& random, Tally& tally) {
  const auto groups = fuse_groups(graph, graph.topological_order());
  REQUIRE(groups.ok());
  for (const FusedGroup& group : *groups) {
    const auto layout = [&](graph::ValueId value) {
      const std::size_t rank = graph.value(value).type.shape.size();
      return rank == 4 && random.next() % 2 == 0 ? cpu::channels_last(rank) : std::string();
    };
    cpu::GroupLayouts layouts;
    for (const graph::ValueId value : group.arguments) layouts.arguments.push_back(layout(value));
    for (const graph::ValueId value : group.results) layouts.results.push_back(layout(value));
    std::vector<std::string> notes;
    const cpu::ScheduledGroup scheduled = cpu::schedule_group(group, layouts, cpu, {}, notes);
    const Program& program = scheduled.program;
    ++tally.kinds[scheduled.kind];
    INFO(cpu.name << " " << scheduled.kind << "\n" << to_string(program));
    CHECK(said_by_code(program, arguments_of(program, random), cpu) == "");
    ++tally.clean;

    const std::size_t operand = random.next() % program.parameters.size();
    if (!outermost(program.parameters[operand].buffer->shape)) continue;
    const Missing missing = random.next() % 2 == 0 ? Missing::first : Missing::last;
    INFO(program.parameters[operand].buffer->name << " lacks its " << (missing == Missing::first ? "first" : "last")
                                                  << " slice");
    const Program fault = with_fault(program, operand, missing);
    const std::vector<NdArray> arguments = arguments_of(fault, random);
    const std::string expected = said_by_interpreter(fault, arguments, cpu);
    const std::string found = said_by_code(fault, arguments, cpu);
    INFO("interpreter: " << expected);
    if (expected.empty()) {
      CHECK(found == "");
      ++tally.unused;
    } else {
      CHECK_THAT(found, ContainsSubstring("of " + program.parameters[operand].buffer->name + " "));
      ++(missing == Missing::first ? tally.missed_first : tally.missed_last);
    }
  }
}

}  // namespace

TEST_CASE("property: kernels that check their bounds detect that an operand lacks a slice") {
  // On each class separately, so that no expectation depends on how many of them run here.
  for (const char* processor : {"baseline", "avx2", "avx512-vnni", "avx512-amx"}) {
    const cpu::Cpu cpu = cpu::with_checked_bounds(*cpu::find_cpu(processor));
    if (!runs_here(cpu.name)) continue;
    Tally tally;
    SplitMix64 random(19);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      INFO("seed " << seed);
      test::RandomFloatGraph floats(seed);
      floats.build(4);
      check(floats.graph, cpu, random, tally);
      test::RandomInt8Graph integers(seed, false, test::Forms::all);
      integers.build(4);
      check(integers.graph, cpu, random, tally);
    }
    INFO(processor << ": " << tally.clean << " clean, " << tally.missed_first << " and " << tally.missed_last
                   << " faults, " << tally.unused << " slices that no kernel uses");
    CHECK(tally.missed_first >= 15);
    CHECK(tally.missed_last >= 15);
    CHECK(tally.kinds["generic"] > 0);
    const bool tiles = cpu.tile_registers > 0;
    CHECK(tally.kinds["convolution"] + (tiles ? tally.kinds["tile_convolution"] : 0) > 0);
    CHECK(tally.kinds["matmul"] + (tiles ? tally.kinds["tile_matmul"] : 0) > 0);
    CHECK(tally.kinds["window"] > 0);
  }
}

TEST_CASE("kernels that check their bounds report an access to the tensor next to an operand, and do not make it") {
  const auto program = parse_program(R"(program p { input x: float32[16] output y: float32[16]
    for i in 16 vectorized { block b { spatial v in 16 = i reads x[v] writes y[v] y[v] = x[v] } } })",
                                     "test");
  REQUIRE(program.ok());
  const Program fault = with_fault(*program, 1, Missing::first);
  for (const cpu::Cpu& each : cpu::cpus()) {
    if (!runs_here(each.name)) continue;
    auto object = cpu::compile_kernel(fault, {}, "kernel", cpu::with_checked_bounds(each));
    REQUIRE(object.ok());
    const auto loaded = cpu::LoadedKernel::load(*std::move(object), "kernel");
    REQUIRE(loaded.ok());
    AlignedBytes memory(2 * 16 * sizeof(float));  // x, then y immediately after it
    auto* x = reinterpret_cast<float*>(memory.data());
    for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
    void* const buffers[] = {x, x + 16};
    bundle::KernelHost host(1, 0, 0);
    const auto result = host.run(loaded->kernel(), buffers, loaded->object().failures, "step");
    REQUIRE_FALSE(result.ok());
    CHECK_THAT(to_string(result.errors()), ContainsSubstring("an access of y ") && ContainsSubstring("is -4"));
    CHECK(x[15] == 15);
  }
}
