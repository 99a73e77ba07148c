#include "loops/simplify.h"

#include <functional>
#include <limits>
#include <map>
#include <random>

#include "loops/linear.h"
#include "loops/print.h"
#include "loops/rewrite.h"
#include "loops/simplify_rules.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

const Var kI = make_var("i"), kJ = make_var("j"), kX = make_var("x");
Expr i() { return ref(kI); }
Expr j() { return ref(kJ); }
Expr x() { return ref(kX); }
const Bounds kBounds{{kI.get(), {0, 6}}, {kJ.get(), {0, 3}}, {kX.get(), {-9, 9}}};

// Calls f with every assignment of the variables within their bounds.
template <typename F>
void each_assignment(const F& f) {
  std::map<const VarNode*, std::int64_t> values;
  for (values[kI.get()] = 0; values[kI.get()] <= 6; ++values[kI.get()])
    for (values[kJ.get()] = 0; values[kJ.get()] <= 3; ++values[kJ.get()])
      for (values[kX.get()] = -9; values[kX.get()] <= 9; ++values[kX.get()]) f(values);
}

void check_same(const Expr& a, const Expr& b) {
  INFO(to_string(a) << "  ->  " << to_string(b));
  each_assignment([&](const auto& values) {
    const auto before = evaluate(a, values);
    if (before && evaluate(b, values) != before) {
      for (const auto& [var, value] : values) UNSCOPED_INFO(var->name << " = " << value);
      REQUIRE(evaluate(b, values) == before);
    }
  });
}

// The number of nodes of the expression written out: a shared node counts at every use.
int nodes(const Expr& expr) {
  int count = 1;
  each_operand(expr, [&](const Expr& operand) { count += nodes(operand); });
  return count;
}

Expr compare(BinaryOp op, Expr a, std::int64_t b) { return binary(op, a, int_imm(b)); }

// For every rule, expressions to which it applies (children are simplified already).
std::map<std::string_view, std::vector<Expr>> rule_cases() {
  const Expr cond = compare(BinaryOp::lt, x(), 3);
  const auto op = [](BinaryOp o, Expr a, Expr b) { return binary(o, a, b); };
  return {
      {"fold_constants",
       {int_imm(7) + int_imm(5), floor_div(int_imm(-7), 2), floor_mod(int_imm(-7), 2),
        op(BinaryOp::pow, int_imm(3), int_imm(5)), op(BinaryOp::lt, int_imm(1), int_imm(2)),
        cast(DType::int8, int_imm(200))}},
      {"single_value",
       {floor_div(j(), 4), compare(BinaryOp::lt, i(), 7), compare(BinaryOp::ge, i() * 2 + j(), 0),
        compare(BinaryOp::gt, x(), 9), op(BinaryOp::le, i(), i() + j()), compare(BinaryOp::ne, x(), 10),
        op(BinaryOp::min, j(), int_imm(-2)) - j() * 0}},
      {"neutral_operand",
       {x() + 0, x() * 1, x() * 0, floor_div(x(), 1), floor_mod(x(), 1), logical_and(bool_imm(true), cond),
        logical_and(cond, bool_imm(false)), op(BinaryOp::logical_or, cond, bool_imm(true)),
        op(BinaryOp::shl, x(), int_imm(0)), op(BinaryOp::bit_or, x(), int_imm(0)),
        op(BinaryOp::bit_xor, int_imm(0), x())}},
      {"same_operands",
       {op(BinaryOp::min, x(), x()), op(BinaryOp::le, x(), x()), op(BinaryOp::lt, x(), x()),
        op(BinaryOp::bit_and, x(), x()), op(BinaryOp::bit_xor, x(), x()), logical_and(cond, cond)}},
      {"double_negation", {unary(UnaryOp::logical_not, unary(UnaryOp::logical_not, cond))}},
      {"select_decided", {select(bool_imm(true), x(), i()), select(bool_imm(false), x(), i()), select(cond, i(), i())}},
      {"collect_terms",
       {x() + i() - x(), i() * 3 + i(), (i() + 2) * 4 + 1, int_imm(3) - x() - x(), unary(UnaryOp::neg, x() + 1),
        int_imm(2) * x()}},
      {"join_div_mod",
       {floor_div(x(), 4) * 4 + floor_mod(x(), 4), floor_mod(x() + i(), 3) * 2 + floor_div(x() + i(), 3) * 6 + j(),
        floor_mod(floor_div(x(), 2), 3) * 2 + floor_mod(x(), 2), x() - floor_div(x(), 4) * 4,
        x() * 2 + i() * 6 - floor_div(x() + i() * 3, 5) * 10, floor_div(x(), 4) * -4 - floor_mod(x(), 4)}},
      {"truncating_to_floor", {op(BinaryOp::div, i() * 4 + j(), int_imm(3)), op(BinaryOp::mod, i() + j(), int_imm(3))}},
      {"div_of_div", {floor_div(floor_div(x(), 2), 3)}},
      {"mod_of_mod", {floor_mod(floor_mod(x(), 6), 3), floor_mod(floor_mod(x(), 6), 6)}},
      {"div_of_mod", {floor_div(floor_mod(x(), 6), 2), floor_div(floor_mod(x(), 6), 3)}},
      {"mod_in_range", {floor_mod(j(), 4), floor_mod(j() + 4, 4), floor_mod(j() - 8, 4), floor_mod(i() + j(), 10)}},
      {"div_of_multiples",
       {floor_div(i() * 4 + j(), 4), floor_div(x() * 6 + i(), 3), floor_div(x() + 7, 3), floor_div(x() - 7, 3),
        floor_div(x() * -4 + j(), 4)}},
      {"mod_of_multiples",
       {floor_mod(i() * 4 + j(), 4), floor_mod(x() * 6 + i(), 3), floor_mod(x() + 7, 3), floor_mod(x() - 1, 3)}},
      {"div_by_common_factor",
       {floor_div(x() * 4 + j(), 8), floor_div(x() * 4 + j(), 12), floor_div(x() * 8 + i() * 4 + j(), 16),
        floor_div(x() * 4 + 1, 8)}},
      {"mod_by_common_factor",
       {floor_mod(x() * 4 + j(), 8), floor_mod(x() * 4 + j(), 12), floor_mod(x() * 6, 4), floor_mod(x() * 4 + 1, 8)}},
      {"nested_min_max",
       {op(BinaryOp::min, op(BinaryOp::min, x(), int_imm(5)), int_imm(-3)),
        op(BinaryOp::max, op(BinaryOp::max, x(), int_imm(-2)), int_imm(1)), op(BinaryOp::min, int_imm(4), x())}},
      {"compare_quotient",
       {compare(BinaryOp::lt, floor_div(x(), 4), 2), compare(BinaryOp::le, floor_div(x(), 4), -2),
        compare(BinaryOp::gt, floor_div(x() + i(), 3), -1), compare(BinaryOp::ge, floor_div(x(), 2), -3),
        op(BinaryOp::lt, int_imm(-2), floor_div(x(), 5)), op(BinaryOp::ge, int_imm(1), floor_div(x(), 5))}},
      {"compare_by_common_factor",
       {compare(BinaryOp::lt, x() * 4 + j(), 8), compare(BinaryOp::le, x() * 4 + j(), 7),
        compare(BinaryOp::gt, x() * 4 + j(), -5), compare(BinaryOp::ge, x() * 8 + i(), -17),
        compare(BinaryOp::lt, x() * 3, 7), compare(BinaryOp::ge, x() * -3, 7),
        compare(BinaryOp::eq, x() * 4 + i() * 2, 3), compare(BinaryOp::ne, x() * 4, 7),
        compare(BinaryOp::eq, x() * 4, 8), op(BinaryOp::lt, x() * 8 - j(), i() * 8 + 5),
        compare(BinaryOp::le, x() * 5 - j(), -5), compare(BinaryOp::lt, x() * 6 + i() * 12 + j(), 6)}},
      {"collect_comparison",
       {compare(BinaryOp::lt, x() + 3, 5), op(BinaryOp::le, x() + i(), i() + j()), op(BinaryOp::gt, int_imm(3), x()),
        op(BinaryOp::eq, int_imm(3) - x(), i()), compare(BinaryOp::ge, int_imm(0) - x(), -4),
        op(BinaryOp::ne, j() - x() + 2, i() * 2)}},
      {"implied_conjunct",
       {logical_and(cond, compare(BinaryOp::lt, x(), 5)),
        logical_and(compare(BinaryOp::ge, x(), -4), compare(BinaryOp::gt, x(), -2)),
        logical_and(logical_and(cond, compare(BinaryOp::gt, i(), 2)), cond),
        logical_and(compare(BinaryOp::lt, x() + i(), 4), op(BinaryOp::ge, int_imm(6) - x(), i())),
        logical_and(compare(BinaryOp::le, x(), 4), compare(BinaryOp::lt, x(), 5))}},
      {"min_max_decided",
       {op(BinaryOp::min, i(), i() + j()), op(BinaryOp::max, i(), int_imm(6)), op(BinaryOp::min, x(), int_imm(9)),
        op(BinaryOp::max, x() - 1, x())}},
  };
}

}  // namespace

TEST_CASE("every simplifier rule fires on its cases and keeps their value") {
  const auto cases = rule_cases();
  for (const SimplifyRule& rule : simplify_rules()) {
    INFO("rule " << rule.name);
    REQUIRE(cases.count(rule.name) == 1);
    for (const Expr& expr : cases.at(rule.name)) {
      const Expr replaced = rule.apply(expr, kBounds);
      INFO("case " << to_string(expr));
      REQUIRE(replaced != nullptr);
      CHECK((rule.shapes & shape_of(expr)) != 0);
      check_same(expr, replaced);
    }
  }
  CHECK(cases.size() == simplify_rules().size());
}

TEST_CASE("index expressions of split and fused loops become what a person would write") {
  const auto text = [](const Expr& expr) { return to_string(simplify(expr, kBounds)); };
  CHECK(text(floor_div(i() * 4 + j(), 4)) == "i");
  CHECK(text(floor_mod(i() * 4 + j(), 4)) == "j");
  CHECK(text(floor_div(x(), 4) * 4 + floor_mod(x(), 4)) == "x");
  CHECK(text(floor_div(i() * 4 + j(), 8)) == "i // 2");
  CHECK(text(floor_mod(i() * 4 + j(), 8)) == "i % 2 * 4 + j");
  CHECK(text(floor_div(floor_mod(x(), 12), 4) * 4 + floor_mod(x(), 4)) == "x % 12");
  CHECK(text(binary(BinaryOp::lt, i() * 4 + j(), int_imm(28))) == "true");
  CHECK(text(binary(BinaryOp::lt, i() * 4 + j(), int_imm(27))) == "i * 4 + j < 27");
  CHECK(text(select(binary(BinaryOp::ge, i(), int_imm(0)), x() + 1 - 1, i())) == "x");
  CHECK(text(binary(BinaryOp::min, i(), int_imm(6))) == "i");
  CHECK(text(int_imm(5) - x()) == "5 - x");
}

TEST_CASE("simplify keeps the value of random expressions, and bound contains it") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
    const std::function<Expr(int)> make = [&](int depth) -> Expr {
      if (depth == 0 || pick(5) == 0) {
        const Expr leaves[] = {i(), j(), x(), int_imm(pick(15) - 7)};
        return leaves[pick(4)];
      }
      switch (pick(12)) {
        case 0: return make(depth - 1) + make(depth - 1);
        case 1: return make(depth - 1) - make(depth - 1);
        case 2: return make(depth - 1) * (pick(9) - 4);
        case 3: return floor_div(make(depth - 1), 1 + pick(6));
        case 4: return floor_mod(make(depth - 1), 1 + pick(6));
        case 5: return binary(BinaryOp::div, make(depth - 1), int_imm(1 + pick(6)));
        case 6: return binary(BinaryOp::mod, make(depth - 1), int_imm(1 + pick(6)));
        case 7: return binary(pick(2) == 0 ? BinaryOp::min : BinaryOp::max, make(depth - 1), make(depth - 1));
        case 8:
          return select(
              binary(static_cast<BinaryOp>(static_cast<int>(BinaryOp::eq) + pick(6)), make(depth - 1), make(depth - 1)),
              make(depth - 1), make(depth - 1));
        case 9:
          return binary(static_cast<BinaryOp>(static_cast<int>(BinaryOp::bit_and) + pick(3)), make(depth - 1),
                        make(depth - 1));
        case 10: return cast(DType::int64, cast(pick(2) == 0 ? DType::int8 : DType::uint16, make(depth - 1)));
        default: return make(depth - 1) * make(depth - 1);
      }
    };
    const Expr expr = make(4);
    INFO("seed " << seed);
    const Expr simple = simplify(expr, kBounds);
    check_same(expr, simple);
    check_same(simple, simplify(simple, kBounds));
    INFO(to_string(expr) << "  ->  " << to_string(simple));
    REQUIRE(nodes(simple) <= 2 * nodes(expr));  // a product may move into a sum
    const auto range = bound(expr, kBounds);
    const auto form = affine(expr, kBounds);
    each_assignment([&](const auto& values) {
      const auto value = evaluate(expr, values);
      if (!value) return;
      if (range && (*value < range->min || *value > range->max))
        FAIL(to_string(expr) << " = " << *value << " outside " << range->min << ".." << range->max);
      if (!form) return;
      std::int64_t sum = form->constant;
      for (const auto& [var, coefficient] : form->coefficients) sum += coefficient * values.at(var);
      if (sum != *value) FAIL(to_string(expr) << " is not its affine form");
    });
  }
}

TEST_CASE("sums that are reported as collected equal their collected form") {
  int collected = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
    const std::function<Expr(int)> make = [&](int depth) -> Expr {
      const Expr leaves[] = {i(), j(), x(), floor_div(x(), 2), int_imm(pick(5) - 1)};
      if (depth == 0) return leaves[pick(5)];
      switch (pick(4)) {
        case 0: return make(depth - 1) - make(pick(2));
        case 1: return make(depth - 1) * (pick(5) - 1);
        case 2: return make(depth - 1) * leaves[pick(4)];
        default: return make(depth - 1) + make(pick(2));
      }
    };
    const Expr sum = make(1 + pick(4));
    if (!is_linear_op(sum)) continue;
    INFO("seed " << seed << ", " << to_string(sum));
    if (!is_collected(sum)) continue;
    ++collected;
    REQUIRE(structurally_equal(to_expr(linear_form(sum)), sum));
  }
  CHECK(collected > 100);
  CHECK(is_collected(i() * 4 + x() - j() * 2 + 7));
  CHECK_FALSE(is_collected(i() + 1 + j()));
  CHECK_FALSE(is_collected(i() + j() * 1));
  CHECK_FALSE(is_collected(i() + j() + i()));
}

TEST_CASE("indices through random splits and fuses keep their value and do not grow") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
    struct Loop {
      Var var;
      std::int64_t extent;
    };
    std::vector<Loop> loops;
    std::vector<Expr> indices;  // the first loops' variables, in terms of the present loops
    Expr predicate = bool_imm(true);
    int made = 0;
    const auto add_loop = [&](std::size_t at, std::int64_t extent) {
      loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(at), {make_var("l" + std::to_string(made++)), extent});
      return ref(loops[at].var);
    };
    const auto replace = [&](const VarMap& vars) {
      for (Expr& index : indices) index = substitute(index, vars);
      predicate = substitute(predicate, vars);
    };
    std::vector<std::int64_t> extents;
    for (int axis = 0; axis < 2; ++axis) {
      extents.push_back(1 + pick(9));
      indices.push_back(add_loop(loops.size(), extents.back()));
    }
    for (int step = 0; step < 4; ++step) {
      if (pick(2) == 0 || loops.size() < 2) {
        const auto at = static_cast<std::size_t>(pick(static_cast<int>(loops.size())));
        const Loop loop = loops[at];
        const std::int64_t factor = 1 + pick(5);
        loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(at));
        const Expr inner = add_loop(at, factor), outer = add_loop(at, (loop.extent + factor - 1) / factor);
        const Expr value = outer * factor + inner;
        replace({{loop.var.get(), value}});
        predicate = logical_and(compare(BinaryOp::lt, value, loop.extent), predicate);
      } else {
        const auto at = static_cast<std::size_t>(pick(static_cast<int>(loops.size()) - 1));
        const Loop outer = loops[at], inner = loops[at + 1];
        loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(at),
                    loops.begin() + static_cast<std::ptrdiff_t>(at) + 2);
        const Expr fused = add_loop(at, outer.extent * inner.extent);
        replace({{outer.var.get(), floor_div(fused, inner.extent)}, {inner.var.get(), floor_mod(fused, inner.extent)}});
      }
    }
    std::vector<Expr> exprs = indices;
    exprs.push_back(predicate);
    exprs.push_back(indices[0] * extents[1] + indices[1]);
    exprs.push_back(floor_div(indices[0] * extents[1] + indices[1], 3));
    for (std::size_t axis = 0; axis < 2; ++axis) {
      exprs.push_back(compare(BinaryOp::lt, indices[axis], extents[axis]));
      exprs.push_back(compare(BinaryOp::ge, indices[axis] - 1, 0));
      exprs.push_back(binary(BinaryOp::min, indices[axis] + 2, int_imm(extents[axis] - 1)));
    }
    Bounds bounds;
    for (const Loop& loop : loops) bounds[loop.var.get()] = {0, loop.extent - 1};
    for (const Expr& expr : exprs) {
      const Expr simple = simplify(expr, bounds);
      INFO("seed " << seed << ": " << to_string(expr) << "  ->  " << to_string(simple));
      REQUIRE(nodes(simple) <= nodes(expr));
      std::map<const VarNode*, std::int64_t> values;
      const std::function<void(std::size_t)> each = [&](std::size_t loop) {
        if (loop == loops.size()) {
          if (evaluate(expr, values) != evaluate(simple, values)) FAIL("differs");
          return;
        }
        for (std::int64_t value = 0; value < loops[loop].extent; ++value) {
          values[loops[loop].var.get()] = value;
          each(loop + 1);
        }
      };
      each(0);
    }
  }
}

TEST_CASE("bounds, affine forms and values of single expressions") {
  CHECK(bound(i() * 4 + j(), kBounds) == Interval{0, 27});
  CHECK(bound(i() - i(), kBounds) == Interval{0, 0});
  CHECK(bound(floor_mod(x(), 4), kBounds) == Interval{0, 3});
  CHECK(bound(floor_div(x(), 4), kBounds) == Interval{-3, 2});
  CHECK(bound(ref(make_var("free")), kBounds) == std::nullopt);
  CHECK(bound(load(make_buffer("b", DType::int64, {4}), {i()}), kBounds) == std::nullopt);
  CHECK(affine(i() * 4 + j() - 3, kBounds)->coefficients.at(kI.get()) == 4);
  CHECK(affine(i() * j(), kBounds) == std::nullopt);
  CHECK(evaluate(floor_div(x(), 4), {{kX.get(), -9}}) == -3);
  CHECK(evaluate(x() + i(), {{kX.get(), -9}}) == std::nullopt);
  CHECK(evaluate(binary(BinaryOp::floor_div, int_imm(1), int_imm(0)), {}) == std::nullopt);
}

TEST_CASE("a requantized value is bounded where its scale is known") {
  const Var acc = make_var("acc", DType::int32);
  const Bounds bounds{{acc.get(), {-1000, 50}}};
  const auto by = [&](double scale) {
    return bound(call(Function::requantize, {ref(acc), float_imm(scale), int_imm(7, DType::int32)}), bounds);
  };
  CHECK(by(0.5) == Interval{-500 - 1 + 7, 25 + 1 + 7});
  CHECK(by(-2) == Interval{-100 - 1 + 7, 2000 + 1 + 7});
  // Saturated, or unknown.
  const Interval all{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  CHECK(by(1e9) == all);
  CHECK(by(std::numeric_limits<double>::infinity()) == all);
}

TEST_CASE("expressions that may overflow are not changed") {
  const Var v = make_var("v", DType::int32);
  const Expr e = binary(BinaryOp::lt, ref(v), ref(v) + 1);
  CHECK(simplify(e) != nullptr);
  CHECK(!std::holds_alternative<IntImm>(simplify(e)->node));  // int32 may wrap
  const Expr wide = load(make_buffer("b", DType::int64, {1}), {int_imm(0)});
  CHECK(to_string(simplify(floor_div(wide * 4, 4))) == "b[0] * 4 // 4");
}
