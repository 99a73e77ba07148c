#include "loops/facts.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

TEST_CASE("a condition on a split index bounds its simplified quotient") {
  const Var o = make_var("o"), i = make_var("i");
  const Bounds bounds{{o.get(), {0, 15}}, {i.get(), {0, 1}}};
  const Expr index = ref(o) * 2 + ref(i);
  Facts facts(bounds);
  facts.assume(binary(BinaryOp::lt, index, int_imm(16)));
  CHECK(facts.in_range(index, 16));
  CHECK(facts.in_range(ref(o), 8));
  CHECK(facts.in_range(simplify(floor_div(index, 8), bounds), 2));
  CHECK(!facts.in_range(ref(o), 7));
}

TEST_CASE("under a condition that never holds, everything is in range") {
  const Var o = make_var("o");
  const Bounds bounds{{o.get(), {0, 3}}};
  Facts facts(bounds);
  facts.assume(binary(BinaryOp::ge, ref(o) - 4, int_imm(0)));
  CHECK(facts.in_range(int_imm(-1), 1));
  Facts others(bounds);
  others.assume(binary(BinaryOp::ge, ref(o) - 3, int_imm(0)));  // holds for one value
  CHECK(!others.in_range(int_imm(-1), 1));
  CHECK(others.in_range(ref(o), 4));
}
