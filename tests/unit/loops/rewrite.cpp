#include "loops/rewrite.h"

#include "loops/print.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

struct Fixture {
  Var loop = make_var("l"), v = make_var("v"), outside = make_var("o");
  Buffer a = make_buffer("a", DType::int32, {8}), b = make_buffer("b", DType::int32, {8});
  Stmt block, nest;

  Fixture() {
    Block n;
    n.name = "blk";
    n.iterators = {{v, 8, IterKind::spatial, ref(loop)}};
    n.reads = {{a, {{ref(v), 1}}}};
    n.writes = {{b, {{ref(v), 1}}}};
    n.body = store(b, {ref(v)}, load(a, {ref(v)}) + load(a, {ref(outside)}));
    block = make_stmt(n);
    nest = make_stmt(For{loop, 8, ForKind::serial, "", {}, block});
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "substitute replaces free occurrences and leaves bound ones") {
  const VarMap map{{loop.get(), int_imm(1)}, {v.get(), int_imm(2)}, {outside.get(), int_imm(3)}};
  const std::string text = to_string(substitute(nest, map));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("spatial v in 8 = l"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("b[v] = a[v] + a[3]"));
  CHECK_THAT(to_string(substitute(block, map)), Catch::Matchers::ContainsSubstring("spatial v in 8 = 1"));
  CHECK(to_string(substitute(ref(v) + 1, map)) == "2 + 1");
}

TEST_CASE_METHOD(Fixture, "a rewrite that changes nothing shares the whole tree") {
  CHECK(substitute(nest, {{make_var("p").get(), int_imm(0)}}) == nest);
  CHECK(rewrite_stmt(
            nest, [](const Stmt& s) { return s; }, [](const Expr& e) { return e; }) == nest);
  CHECK(replace_buffers(nest, {{make_buffer("c", DType::int32, {8}).get(), b}}) == nest);
}

TEST_CASE_METHOD(Fixture, "replace_buffers reaches loads, stores and regions") {
  const Buffer c = make_buffer("c", DType::int32, {8}), d = make_buffer("d", DType::int32, {8});
  const std::string text = to_string(replace_buffers(nest, {{a.get(), c}, {b.get(), d}}));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("reads c[v]"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("writes d[v]"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("d[v] = c[v] + c[o]"));
}

TEST_CASE_METHOD(Fixture, "a removed statement leaves its sequence, or an empty one where a body is needed") {
  const Stmt two = sequence({nest, store(b, {int_imm(0)}, int_imm(1, DType::int32))});
  const auto drop_stores = [](const Stmt& s) { return std::holds_alternative<Store>(s->node) ? nullptr : s; };
  CHECK(std::get<Sequence>(rewrite_stmt(two, drop_stores)->node).body.size() == 1);
  CHECK_THAT(to_string(rewrite_stmt(nest, drop_stores)), !Catch::Matchers::ContainsSubstring("b[v] ="));
}

TEST_CASE_METHOD(Fixture, "visits are pre-order and see every expression once") {
  std::vector<std::string> loads;
  visit_exprs(nest, [&](const Expr& e) {
    if (std::holds_alternative<LoadExpr>(e->node)) loads.push_back(to_string(e));
  });
  CHECK(loads == std::vector<std::string>{"a[v]", "a[o]"});
  int stmts = 0;
  visit_stmts(nest, [&](const Stmt&) { ++stmts; });
  CHECK(stmts == 3);
}

TEST_CASE_METHOD(Fixture, "structural equality looks at types, bits, variables and buffers") {
  CHECK(structurally_equal(ref(v) + 1, ref(v) + 1));
  CHECK(!structurally_equal(ref(v) + 1, ref(make_var("v")) + 1));
  CHECK(!structurally_equal(float_imm(0.0), float_imm(-0.0)));
  CHECK(!structurally_equal(int_imm(1), int_imm(1, DType::int32)));
  CHECK(structurally_equal(load(a, {ref(v)}), load(a, {ref(v)})));
  CHECK(!structurally_equal(load(a, {ref(v)}), load(b, {ref(v)})));
}

TEST_CASE("construction checks types") {
  CHECK_THROWS_AS(int_imm(1) + int_imm(1, DType::int32), InternalError);
  CHECK_THROWS_AS(int_imm(300, DType::int8), InternalError);
  CHECK_THROWS_AS(constant(0.5, DType::int32), InternalError);
  CHECK_THROWS_AS(unary(UnaryOp::exp, int_imm(1)), InternalError);
  CHECK_THROWS_AS(load(make_buffer("a", DType::int8, {2, 2}), {int_imm(0)}), InternalError);
  CHECK(sequence({sequence({}), sequence({})})->node.index() == 2);
  CHECK(float_imm(0.1)->node.index() == 1);
  CHECK(std::get<FloatImm>(float_imm(0.1)->node).value == static_cast<double>(0.1F));
}
