// Random loop programs as machine code and on the interpreter: integers bit for bit, floats within rounding, for every
// class of processor that this machine belongs to. Programs that fail on the interpreter (an index out of bounds, a
// division by zero) must fail as code too. DOVETAIL_TEST_SCALE multiplies the number of programs, DOVETAIL_TEST_SEED
// chooses the first seed.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/processor.h"
#include "compiler/schedule/loop_kinds.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/jit.h"
#include "loops/interpreter.h"
#include "loops/print.h"
#include "loops/rewrite.h"
#include "loops/verify.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_program.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

int scaled(int count) {
  const char* text = std::getenv("DOVETAIL_TEST_SCALE");
  return static_cast<int>(count * (text ? std::atof(text) : 1.0));
}
std::uint64_t first_seed() {
  const char* text = std::getenv("DOVETAIL_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

// Long chains of float operations may cancel: differences that rounding can explain are judged by the binary64 result
// of the same program.
bool agrees(const NdArray& code, const NdArray& native, const NdArray& wide) {
  for (std::int64_t i = 0; i < code.count(); ++i) {
    if (!is_floating(code.dtype())) {
      if (code.as_int64(i) != native.as_int64(i)) return false;
      continue;
    }
    const double a = code.as_double(i), b = native.as_double(i), exact = wide.as_double(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    const double slack = 4 * std::abs(b - exact) + 1e-4 * std::max(1.0, std::abs(b));
    if (a != b && !(std::abs(a - b) <= slack)) return false;
  }
  return true;
}

// A conversion of a float to an integer or a truth value turns a rounding into a step: such programs cannot be
// compared.
bool rounds_floats_to_steps(const Program& program) {
  bool found = false;
  visit_exprs(program.body, [&](const Expr& e) {
    const auto floating = [](const Expr& operand) { return is_floating(operand->dtype); };
    if (const auto* n = std::get_if<Cast>(&e->node)) found |= floating(n->a) && !is_floating(e->dtype);
    if (const auto* n = std::get_if<Bitcast>(&e->node)) found |= floating(n->a);
    if (const auto* n = std::get_if<Binary>(&e->node))
      found |= floating(n->a) && (n->op >= BinaryOp::eq || n->op == BinaryOp::floor_div || n->op == BinaryOp::mod ||
                                  n->op == BinaryOp::floor_mod || n->op == BinaryOp::pow);
    if (const auto* n = std::get_if<Unary>(&e->node))
      found |= floating(n->a) && (n->op == UnaryOp::sign || n->op == UnaryOp::floor || n->op == UnaryOp::ceil ||
                                  n->op == UnaryOp::round_even || n->op == UnaryOp::trunc || n->op >= UnaryOp::is_nan);
  });
  return found;
}

// The generator gives loops any kind. Kinds whose promise does not hold become serial, as a schedule would not have
// made them; so do kinds that the back end refuses.
void keep_promises(Program& program) {
  const bool broken = schedule::first_broken_kind(program, {}).has_value();
  program.body = rewrite_stmt(program.body, [&](const Stmt& stmt) -> Stmt {
    const auto* loop = std::get_if<For>(&stmt->node);
    const bool honored =
        loop != nullptr && std::ranges::find(cpu::kLoopSupport.kinds, loop->kind) != cpu::kLoopSupport.kinds.end();
    if (loop == nullptr || loop->kind == ForKind::serial || (honored && !broken)) return stmt;
    For serial = *loop;
    serial.kind = ForKind::serial;
    serial.thread_axis.clear();
    return make_stmt(std::move(serial));
  });
}

}  // namespace

TEST_CASE("random loop programs compute the same as machine code and on the interpreter") {
  int compared = 0, failing = 0;
  for (int i = 0; i < scaled(400); ++i) {
    const std::uint64_t seed = first_seed() + static_cast<std::uint64_t>(i);
    loops::test::RandomProgram random = loops::test::ProgramGenerator(seed).generate();
    keep_promises(random.program);
    if (!verify(random.program).ok() || rounds_floats_to_steps(random.program)) continue;
    const auto native = evaluate(random.program, random.arguments);
    INFO("seed " << seed << "\n" << to_string(random.program));
    for (const cpu::Cpu& processor : cpu::cpus()) {
      if (!runs_here(processor.name)) continue;
      INFO("processor " << processor.name);
      auto code = cpu::JitProgram::make(random.program, {}, processor, 2);
      REQUIRE((code.ok() ? "" : to_string(code.errors())) == "");
      const auto result = code->run(random.arguments);
      if (!native.ok()) {
        // Only the interpreter detects reads of unwritten elements.
        const std::string why = native.errors().front().why;
        if (why.find("never written") != std::string::npos || why.find("undefined") != std::string::npos) break;
        CHECK(!result.ok());
        ++failing;
        continue;
      }
      REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
      const auto wide = evaluate(random.program, random.arguments, {}, Precision::wide);
      REQUIRE(wide.ok());
      for (std::size_t o = 0; o < native->size(); ++o) REQUIRE(agrees((*result)[o], (*native)[o], (*wide)[o]));
      ++compared;
    }
  }
  INFO(compared << " compared, " << failing << " failing ones");
  CHECK(compared >= scaled(100));
}

TEST_CASE("functions of float32 are within 4 units in the last place") {
  struct Row {
    UnaryOp op;
    double low, high;
    double (*exact)(double);
    double absolute;      // bound near the function's zeros
    double exponent = 0;  // the power, for powers
  };
  const Row rows[] = {{UnaryOp::exp, -103, 88.7, std::exp, 1e-44},
                      {UnaryOp::log, 1e-40, 3e38, std::log, 3e-7},
                      {UnaryOp::tanh, -20, 20, std::tanh, 0},
                      {UnaryOp::erf, -6, 6, std::erf, 0},
                      {UnaryOp::sqrt, 0, 3e38, std::sqrt, 0},
                      {UnaryOp::sqrt, 0, 3e38, [](double x) { return std::pow(x, 0.25); }, 0, 0.25},
                      {UnaryOp::sqrt, 0, 3e38, [](double x) { return std::pow(x, 0.75); }, 0, 0.75}};
  constexpr std::int64_t kCount = 4096;
  const auto processor = cpu::find_cpu("native");
  REQUIRE(processor.ok());
  for (const Row& row : rows) {
    INFO(name(row.op) << " " << row.exponent);
    const Buffer x = make_buffer("x", DType::float32, {kCount}), y = make_buffer("y", DType::float32, {kCount});
    const Var o = make_var("o"), l = make_var("l"), i = make_var("i");
    Block block{
        "f",
        {{i, kCount, IterKind::spatial, ref(o) * 16 + ref(l)}},
        nullptr,
        {{x, {{ref(i), 1}}}},
        {{y, {{ref(i), 1}}}},
        nullptr,
        store(y, {ref(i)},
              row.exponent == 0 ? unary(row.op, load(x, {ref(i)}))
                                : binary(BinaryOp::pow, load(x, {ref(i)}), float_imm(row.exponent, DType::float32))),
        {}};
    const Stmt inner = make_stmt(For{l, 16, ForKind::vectorized, "", {}, make_stmt(block)});
    const Program program{"f",
                          {{x, ParameterRole::input}, {y, ParameterRole::output}},
                          {},
                          make_stmt(For{o, kCount / 16, ForKind::serial, "", {}, inner})};
    NdArray input(DType::float32, {kCount});
    for (std::int64_t n = 0; n < kCount; ++n) {
      const double t = static_cast<double>(n) / (kCount - 1);
      input.set_double(n, row.op == UnaryOp::log
                              ? std::exp(std::log(row.low) + t * (std::log(row.high) - std::log(row.low)))
                              : row.low + t * (row.high - row.low));
    }
    auto code = cpu::JitProgram::make(program, {}, *processor);
    REQUIRE((code.ok() ? "" : to_string(code.errors())) == "");
    const std::vector<NdArray> arguments{input};
    const auto result = code->run(arguments);
    REQUIRE(result.ok());
    for (std::int64_t n = 0; n < kCount; ++n) {
      const double exact = row.exact(input.as_double(n)), got = (*result)[0].as_double(n);
      const double unit = std::abs(std::nextafter(static_cast<float>(exact), 3e38F) - static_cast<float>(exact));
      INFO("f(" << input.as_double(n) << ") = " << got << ", exactly " << exact);
      REQUIRE(std::abs(got - exact) <= 4 * unit + row.absolute);
    }
  }
}
