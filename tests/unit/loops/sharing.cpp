// Expressions with shared nodes: written out they would have 2^60 nodes, so a traversal that visits a shared node more
// than once does not end.
#include "loops/sharing.h"

#include "loops/facts.h"
#include "loops/interpreter.h"
#include "loops/linear.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/range.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

constexpr int kLinks = 60;

template <typename Link>
Expr chain(Expr x, const Link& link, int links = kLinks) {
  for (int i = 0; i < links; ++i) x = link(x);
  return x;
}

Expr doubled(const Expr& x) { return x + x; }
Expr smaller(const Expr& x) { return binary(BinaryOp::min, x, binary(BinaryOp::max, x, int_imm(3, x->dtype))); }

// y[i] = value
Program program_of(DType dtype, const std::function<Expr(const Expr&)>& value) {
  const Buffer x = make_buffer("x", dtype, {4}), y = make_buffer("y", dtype, {4});
  const Var i = make_var("i"), loop = make_var("l");
  Block block;
  block.name = "b";
  block.iterators = {{i, 4, IterKind::spatial, ref(loop)}};
  block.reads = {{x, {{ref(i), 1}}}};
  block.writes = {{y, {{ref(i), 1}}}};
  block.body = store(y, {ref(i)}, value(load(x, {ref(i)})));
  return {"p",
          {{x, ParameterRole::input}, {y, ParameterRole::output}},
          {},
          make_stmt(For{loop, 4, ForKind::serial, "", {}, make_stmt(std::move(block))})};
}

std::vector<NdArray> run(const Program& program, const NdArray& x) {
  const auto verified = verify(program);
  REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
  auto results = evaluate(program, std::vector{x});
  REQUIRE((results.ok() ? "" : to_string(results.errors())) == "");
  return *std::move(results);
}

}  // namespace

TEST_CASE("sharing: traversals visit a shared node once, and their results share it too") {
  const Var v = make_var("v"), w = make_var("w");
  const Expr expr = chain(ref(v) * 3, doubled);
  int visited = 0;
  visit_exprs(expr, [&](const Expr&) { ++visited; });
  CHECK(visited == kLinks + 3);

  int rewritten = 0;
  const Expr other = rewrite_expr(substitute(expr, {{v.get(), ref(w)}}), [&](const Expr& e) -> Expr {
    ++rewritten;
    return std::holds_alternative<IntImm>(e->node) ? int_imm(5) : e;
  });
  CHECK(rewritten == kLinks + 3);
  CHECK(structurally_equal(other, chain(ref(w) * 5, doubled)));
  CHECK_FALSE(structurally_equal(other, chain(ref(v) * 5, doubled)));
}

TEST_CASE("sharing: linear forms, ranges and rules") {
  const Var v = make_var("v");
  const Linear form = linear_form(chain(ref(v), doubled, 40));
  REQUIRE(form.terms.size() == 1);
  CHECK(form.terms[0].coefficient == std::int64_t{1} << 40);
  CHECK(to_string(simplify(chain(ref(v), doubled, 40))) == "v * 1099511627776");

  const Bounds bounds{{v.get(), {0, 9}}};
  const Expr limited = chain(ref(v), smaller);
  CHECK(bound(limited, bounds) == Interval{0, 9});
  CHECK(bound(simplify(limited, bounds), bounds)->max <= 9);

  Facts facts(bounds);
  const Expr condition = chain(binary(BinaryOp::lt, ref(v), int_imm(5)),
                               [](const Expr& c) { return binary(BinaryOp::logical_and, c, c); });
  facts.assume(condition);
  CHECK(facts.in_range(ref(v), 5));
}

TEST_CASE("sharing: a long expression is printed with names, a short one directly, and both are read back") {
  const auto square = [](const Expr& x) { return x * unary(UnaryOp::abs, x + 1); };
  const auto of_links = [&](int links) {
    return program_of(DType::int32, [&](const Expr& x) { return chain(x, square, links); });
  };
  CHECK_THAT(to_string(of_links(5)), !Catch::Matchers::ContainsSubstring("let"));
  const std::string text = to_string(of_links(kLinks));
  CHECK(text.size() < 100 * kLinks);
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("let s0 = "));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("y[i] = s"));
  const auto parsed = parse_program(text, "text");
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(to_string(*parsed) == text);
  CHECK_THAT(to_string(chain(ref(make_var("v")), square)), Catch::Matchers::ContainsSubstring(" where s0 = "));
}

TEST_CASE("sharing: names in a text belong to the following store") {
  const auto errors = [](const std::string& lines) {
    const auto parsed = parse_program(
        "program p {\n  output y: int32[4]\n  block b {\n    spatial i in 4 = 0\n"
        "    writes y[i]\n" +
            lines + "  }\n}\n",
        "text");
    return parsed.ok() ? "" : to_string(parsed.errors());
  };
  CHECK(errors("    let a = 2 + 3\n    let b = a * a\n    y[i] = int32(b)\n") == "");
  CHECK_THAT(errors("    let a = 2\n    y[0] = 1\n    y[i] = int32(a)\n"),
             Catch::Matchers::ContainsSubstring("no variable named a"));
  CHECK_THAT(errors("    let i = 2\n    y[i] = 1\n"), Catch::Matchers::ContainsSubstring("i is already defined"));
  CHECK_THAT(errors("    let a = 2\n"), Catch::Matchers::ContainsSubstring("expected the store"));
}

TEST_CASE("sharing: the interpreter computes a shared node once") {
  const NdArray x = NdArray::from<std::int32_t>({4}, {-2, 0, 1, 7});
  const auto halve = [](const Expr& e) {
    return binary(BinaryOp::max, e, binary(BinaryOp::shr, e, int_imm(1, e->dtype)));
  };
  CHECK(run(program_of(DType::int32, [&](const Expr& e) { return chain(e, halve); }), x)[0] ==
        NdArray::from<std::int32_t>({4}, {-1, 0, 1, 7}));
}

TEST_CASE("sharing: both sides of a select may need the value that it selects by") {
  const auto step = [](const Expr& e) {
    const Expr even = binary(BinaryOp::eq, binary(BinaryOp::bit_and, e, int_imm(1, e->dtype)), int_imm(0, e->dtype));
    return select(even, binary(BinaryOp::shr, e, int_imm(1, e->dtype)), e * 3 + 1);  // Collatz
  };
  const NdArray x = NdArray::from<std::int32_t>({4}, {1, 6, 7, 27});
  NdArray expected = x;
  for (std::int64_t i = 0; i < 4; ++i) {
    std::int64_t value = x.as_int64(i);
    for (int link = 0; link < kLinks; ++link) value = value % 2 == 0 ? value / 2 : value * 3 + 1;
    expected.set_int64(i, value);
  }
  CHECK(run(program_of(DType::int32, [&](const Expr& e) { return chain(e, step); }), x)[0] == expected);
}

TEST_CASE("sharing: nodes that a select's sides share below their own condition are computed only there") {
  // x[i] is read at i + 2 only where that exists.
  const Program program = program_of(DType::int32, [](const Expr& x) {
    const auto& load_x = std::get<LoadExpr>(x->node);
    const Expr i = load_x.indices[0], ahead = load(load_x.buffer, {i + 2}) + 1;
    const Expr exists = binary(BinaryOp::lt, i, int_imm(2)), zero = int_imm(0, DType::int32);
    const Expr large = chain(
        x, [](const Expr& e) { return binary(BinaryOp::max, e, binary(BinaryOp::shr, e, int_imm(1, e->dtype))); });
    return select(binary(BinaryOp::gt, large, zero), select(exists, ahead * ahead, zero),
                  select(exists, ahead + ahead, int_imm(9, DType::int32)));
  });
  Program declared = program;
  declared.body = rewrite_stmt(declared.body, [](const Stmt& stmt) -> Stmt {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr) return stmt;
    Block copy = *block;
    const BlockRegions regions = infer_regions(copy);
    copy.reads = regions.reads, copy.writes = regions.writes;
    return make_stmt(std::move(copy));
  });
  CHECK(run(declared, NdArray::from<std::int32_t>({4}, {1, -1, 4, 6}))[0] ==
        NdArray::from<std::int32_t>({4}, {25, 14, 0, 0}));
}
