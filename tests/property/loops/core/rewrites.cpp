// Passes over the core form keep the bits of random programs, and a split that does not divide the extent adds no cost
// in its interior.
#include <functional>
#include <random>
#include <string>

#include "loops/core/dissolve_blocks.h"
#include "loops/core/hoist_conditions.h"
#include "loops/core/peel.h"
#include "loops/core/unroll.h"
#include "loops/interpreter.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_program.h"
#include "tests/generator_loops/same_values.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

using Pass = std::function<CoreProgram(const CoreProgram&)>;

void check_pass(const Pass& pass, std::uint64_t programs) {
  std::size_t failed_runs = 0, changed = 0;
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    const auto random = test::random_program(seed);
    const CoreProgram before = dissolve_blocks(random.program, {});
    const CoreProgram after = pass(before);
    const std::string text = to_string(after);
    INFO("seed " << seed << "\n" << to_string(random.program) << "\nbecomes\n" << text);
    changed += text != to_string(before);
    const auto expected = evaluate(random.program, random.arguments);
    const auto actual = run(*compile(random.program, after), random.arguments);
    if (!expected.ok()) {
      ++failed_runs;
      REQUIRE(!actual.ok());
      continue;
    }
    REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
    REQUIRE(actual->size() == expected->size());
    for (std::size_t i = 0; i < expected->size(); ++i) REQUIRE(test::same_values((*actual)[i], (*expected)[i]));
  }
  CHECK(failed_runs < programs / 4);
  CHECK(changed > programs / 20);
}

bool has_conditions(const Core& core) {
  if (!core) return false;
  if (const auto* n = std::get_if<CoreLoop>(&core->node)) return has_conditions(n->body);
  if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& inner : n->body)
      if (has_conditions(inner)) return true;
    return false;
  }
  return std::holds_alternative<CoreIf>(core->node);
}

}  // namespace

TEST_CASE("peeled random programs give the same bits") {
  check_pass([](const CoreProgram& core) { return peel_tails(core); }, 2000);
  check_pass([](const CoreProgram& core) { return peel_tails(core, {.max_statements = 6}); }, 500);
  check_pass([](const CoreProgram& core) { return peel_tails(core, {.long_nest = 8}); }, 500);
}

TEST_CASE("random programs whose conditions are hoisted give the same bits") {
  check_pass([](const CoreProgram& core) { return hoist_conditions(core); }, 1000);
  check_pass([](const CoreProgram& core) { return peel_tails(hoist_conditions(core), {.long_nest = 8}); }, 500);
}

TEST_CASE("unrolled random programs give the same bits") {
  check_pass([](const CoreProgram& core) { return unroll_loops(core).program; }, 1000);
  check_pass([](const CoreProgram& core) { return unroll_loops(peel_tails(core)).program; }, 1000);
}

TEST_CASE("splits that do not divide the extent leave no condition") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
    // y[a, b] = x[a, b], each axis split into two or three loops, the outer ones rounded up; the loops of the two axes
    // interleave.
    struct Loop {
      Var var;
      std::int64_t extent;
    };
    std::vector<Loop> axes[2];
    Shape shape;
    Block block;
    block.name = "copy";
    for (int axis = 0; axis < 2; ++axis) {
      shape.push_back(1 + pick(40));
      const std::string name(1, static_cast<char>('a' + axis));
      const Var var = make_var("v" + name);
      std::int64_t size = 1;
      Expr binding;
      for (std::int64_t level = pick(2); level >= 0; --level) {
        axes[axis].insert(axes[axis].begin(), {make_var(name + std::to_string(level)), 1 + pick(6)});
        const Expr digit = ref(axes[axis].front().var) * size;
        binding = binding ? digit + binding : digit;
        size *= axes[axis].front().extent;
      }
      axes[axis].insert(axes[axis].begin(), {make_var(name + "o"), (shape.back() + size - 1) / size});
      block.iterators.push_back({var, shape.back(), IterKind::spatial, ref(axes[axis].front().var) * size + binding});
      const Expr inside = binary(BinaryOp::lt, ref(var), int_imm(shape.back()));
      if (axes[axis].front().extent * size != shape.back())
        block.predicate = block.predicate ? logical_and(block.predicate, inside) : inside;
    }
    Program program;
    program.name = "copy";
    const Buffer x = make_buffer("x", DType::float32, shape), y = make_buffer("y", DType::float32, shape);
    program.parameters = {{x, ParameterRole::input}, {y, ParameterRole::output}};
    const std::vector<Expr> indices{ref(block.iterators[0].var), ref(block.iterators[1].var)};
    block.body = store(y, indices, load(x, indices));
    const BlockRegions regions = infer_regions(block);
    block.reads = regions.reads;
    block.writes = regions.writes;
    std::vector<Loop> loops;
    while (!axes[0].empty() || !axes[1].empty()) {
      auto& from = axes[1].empty() || (!axes[0].empty() && pick(2) == 0) ? axes[0] : axes[1];
      loops.push_back(from.front());
      from.erase(from.begin());
    }
    program.body = make_stmt(std::move(block));
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop)
      program.body = make_stmt(For{loop->var, loop->extent, ForKind::serial, "", {}, program.body});
    const auto verified = verify(program);
    INFO("seed " << seed << "\n" << to_string(program));
    REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
    const CoreProgram core = peel_tails(dissolve_blocks(program, {}));
    INFO(to_string(core));
    CHECK(!has_conditions(core.body));
    NdArray argument(DType::float32, shape);
    for (std::int64_t i = 0; i < argument.count(); ++i) argument.set_double(i, static_cast<double>(i));
    const auto result = run(*compile(program, core), {{argument}});
    REQUIRE(result.ok());
    CHECK(test::same_values((*result)[0], argument));
  }
}
