// Expanded activations and normalizations, as exporters of several frameworks write them, and near misses.
#include "compiler/passes/list.h"
#include "compiler/passes/simplify_algebra.h"
#include "tests/text/compiler/passes/rewrite_case.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using test::RewriteCase;

namespace {

// Lines "%a = Op(%b, %c)" of float32[2, 8] values on %x; the last defines %y. Numbers become scalars.
std::string activation(const std::string& lines) {
  std::string text = "graph g(%x: float32[2, 8]) -> (%y)\n", nodes;
  int count = 0;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    std::string line = lines.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = line.find(" = ");
    std::string rest = line.substr(equals), made;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const bool starts = (std::isdigit(static_cast<unsigned char>(rest[i])) || rest[i] == '-') &&
                          (rest[i - 1] == '(' || rest[i - 1] == ' ');
      if (!starts) {
        made += rest[i];
        continue;
      }
      std::size_t stop = i;
      while (rest[stop] != ',' && rest[stop] != ')') ++stop;
      text += fmt::format("  constant %c{}: float32[] = {}\n", ++count, rest.substr(i, stop - i));
      made += fmt::format("%c{}", count);
      i = stop - 1;
    }
    nodes += "  " + line.substr(0, equals) + ": float32[2, 8]" + made + "\n";
  }
  return text + nodes;
}
std::string recognized(const std::string& lines) {
  RewriteCase rewritten(activation(lines));
  for (int round = 0; round < 3; ++round)
    rewritten.apply(passes::simplify_algebra).apply(passes::recognize_activations);
  const std::string nodes = rewritten.nodes();
  return nodes.substr(0, nodes.size() - 1);
}

}  // namespace

TEST_CASE("recognize_activations: Gelu in all its forms") {
  const std::string erf = "%y: float32[2, 8] = Gelu(%x)", tanh = "%y: float32[2, 8] = Gelu(%x) {approximate=\"tanh\"}";
  CHECK(recognized("%a = Div(%x, 1.4142135)\n%b = Erf(%a)\n%c = Add(%b, 1)\n%d = Mul(%x, %c)\n%y = Mul(%d, 0.5)") ==
        erf);
  CHECK(recognized("%a = Mul(%x, 0.70710677)\n%b = Erf(%a)\n%c = Add(1, %b)\n%h = Mul(0.5, %x)\n%y = Mul(%h, %c)") ==
        erf);
  CHECK(recognized("%a = Mul(%x, 0.70710677)\n%b = Erf(%a)\n%c = Add(1, %b)\n%d = Mul(%c, 0.5)\n%y = Mul(%d, %x)") ==
        erf);
  CHECK(recognized("%p = Pow(%x, 3)\n%q = Mul(%p, 0.044715)\n%s = Add(%x, %q)\n%a = Mul(%s, 0.7978846)\n%b = "
                   "Tanh(%a)\n%c = Add(%b, 1)\n%d = Mul(%x, %c)\n%y = Mul(%d, 0.5)") == tanh);
  // As JAX writes it.
  CHECK(recognized("%m = Mul(0.044715, %x)\n%n = Mul(%x, %m)\n%o = Mul(%x, %n)\n%s = Add(%x, %o)\n%a = Mul(0.7978846, "
                   "%s)\n%b = Tanh(%a)\n%c = Add(1, %b)\n%d = Mul(0.5, %c)\n%y = Mul(%x, %d)") == tanh);
  CHECK(recognized("%m = Mul(%x, %x)\n%n = Mul(%m, 0.044715)\n%o = Add(%n, 1)\n%s = Mul(%x, %o)\n%a = Mul(0.7978846, "
                   "%s)\n%b = Tanh(%a)\n%c = Add(1, %b)\n%d = Mul(0.5, %c)\n%y = Mul(%x, %d)") == tanh);
  // Near misses: another constant, another operand.
  CHECK(recognized("%a = Div(%x, 1.5)\n%b = Erf(%a)\n%c = Add(%b, 1)\n%d = Mul(%x, %c)\n%y = Mul(%d, 0.5)")
            .find("Gelu") == std::string::npos);
  CHECK(recognized(
            "%z = Neg(%x)\n%a = Div(%z, 1.4142135)\n%b = Erf(%a)\n%c = Add(%b, 1)\n%d = Mul(%x, %c)\n%y = Mul(%d, 0.5)")
            .find("Gelu") == std::string::npos);
}

TEST_CASE("recognize_activations: sigmoids and functions of them") {
  CHECK(recognized("%n = Neg(%x)\n%e = Exp(%n)\n%s = Add(%e, 1)\n%y = Div(1, %s)") ==
        "%y: float32[2, 8] = Sigmoid(%x)");
  CHECK(recognized("%n = Neg(%x)\n%e = Exp(%n)\n%s = Add(1, %e)\n%y = Div(%x, %s)") == "%y: float32[2, 8] = Swish(%x)");
  CHECK(recognized("%s = Sigmoid(%x)\n%y = Mul(%s, %x)") == "%y: float32[2, 8] = Swish(%x)");
  CHECK(recognized("%t = Mul(%x, 1.702)\n%s = Sigmoid(%t)\n%y = Mul(%x, %s)") ==
        "%y: float32[2, 8] = Swish(%x) {alpha=1.7020000219345093}");
  CHECK(recognized("%e = Exp(%x)\n%s = Add(%e, 1)\n%y = Log(%s)") == "%y: float32[2, 8] = Softplus(%x)");
  CHECK(recognized("%e = Exp(%x)\n%s = Add(%e, 1)\n%l = Log(%s)\n%t = Tanh(%l)\n%y = Mul(%x, %t)") ==
        "%y: float32[2, 8] = Mish(%x)");
  CHECK(recognized("%a = Add(%x, 3)\n%b = Clip(%a, 0, 6)\n%c = Mul(%x, %b)\n%y = Div(%c, 6)") ==
        "%y: float32[2, 8] = HardSwish(%x)");
  CHECK(recognized("%a = Add(%x, 3)\n%b = Clip(%a, 0, 6)\n%c = Div(%b, 6)\n%y = Mul(%x, %c)") ==
        "%y: float32[2, 8] = HardSwish(%x)");
  CHECK(recognized("%a = Add(%x, 3)\n%b = Clip(%a, 0, 6)\n%c = Div(%b, 6)\n%y = Neg(%c)").find("HardSigmoid(%x)") !=
        std::string::npos);
}

namespace {

const std::string kNormHead = R"(graph g(%x: float32[2, 3, 8]) -> (%y)
  constant %axes: int64[1] = [-1]
  constant %eps: float32[] = 1e-05
  constant %two: float32[] = 2
  constant %zero: float32[] = 0
  constant %n: float32[] = 8
  constant %part: float32[] = 0.125
  constant %gamma: float32[8]
  constant %beta: float32[8]
  constant %rows: int64[3] = [2, 3, 1]
  constant %wide: int64[3] = [2, 3, 8]
)";

std::string normalized(const std::string& nodes) {
  RewriteCase rewritten(kNormHead + nodes);
  for (int round = 0; round < 3; ++round)
    rewritten.apply(passes::simplify_movement).apply(passes::simplify_algebra).apply(passes::recognize_normalizations);
  return rewritten.nodes();
}

}  // namespace

TEST_CASE("recognize_normalizations: LayerNormalization of distances, as PyTorch writes it") {
  const std::string text = R"(  %m: float32[2, 3, 1] = ReduceMean(%x, %axes)
  %d: float32[2, 3, 8] = Sub(%x, %m)
  %q: float32[2, 3, 8] = Pow(%d, %two)
  %v: float32[2, 3, 1] = ReduceMean(%q, %axes)
  %e: float32[2, 3, 1] = Add(%v, %eps)
  %s: float32[2, 3, 1] = Sqrt(%e)
  %h: float32[2, 3, 8] = Div(%d, %s)
  %g: float32[2, 3, 8] = Mul(%h, %gamma)
  %y: float32[2, 3, 8] = Add(%g, %beta)
)";
  CHECK(normalized(text) ==
        "%y: float32[2, 3, 8] = LayerNormalization(%x, %gamma, %beta) {axis=2, epsilon=9.999999747378752e-06}\n");
  // The mean of something else is not a mean of x.
  std::string other = text;
  other.replace(other.find("ReduceMean(%x, %axes)"), 21, "ReduceMax(%x, %axes)");
  CHECK(normalized(other).find("LayerNormalization") == std::string::npos);
}

TEST_CASE("recognize_normalizations: LayerNormalization of squares, as JAX writes it") {
  CHECK(normalized(R"(  %sum: float32[2, 3] = ReduceSum(%x, %axes) {keepdims=0}
  %sq: float32[2, 3, 8] = Mul(%x, %x)
  %sum2: float32[2, 3] = ReduceSum(%sq, %axes) {keepdims=0}
  %m: float32[2, 3] = Mul(%sum, %part)
  %m2: float32[2, 3] = Mul(%sum2, %part)
  %mm: float32[2, 3] = Mul(%m, %m)
  %v0: float32[2, 3] = Sub(%m2, %mm)
  %v: float32[2, 3] = Max(%zero, %v0)
  %vr: float32[2, 3, 1] = Reshape(%v, %rows)
  %ve: float32[2, 3, 1] = Expand(%vr, %rows)
  %e: float32[2, 3, 1] = Add(%ve, %eps)
  %s: float32[2, 3, 1] = Sqrt(%e)
  %r: float32[2, 3, 1] = Reciprocal(%s)
  %rg: float32[2, 3, 8] = Mul(%r, %gamma)
  %mr: float32[2, 3, 1] = Reshape(%m, %rows)
  %me: float32[2, 3, 8] = Expand(%mr, %wide)
  %d: float32[2, 3, 8] = Sub(%x, %me)
  %h: float32[2, 3, 8] = Mul(%d, %rg)
  %y: float32[2, 3, 8] = Add(%h, %beta)
)") == "%y: float32[2, 3, 8] = LayerNormalization(%x, %gamma, %beta) {axis=2, epsilon=9.999999747378752e-06}\n");
}

TEST_CASE("recognize_normalizations: rows along another axis are between transposes") {
  CHECK(normalized(R"(  constant %a1: int64[1] = [1]
  constant %g1: float32[3, 1]
  constant %b1: float32[1, 3, 1]
  %m: float32[2, 1, 8] = ReduceMean(%x, %a1)
  %d: float32[2, 3, 8] = Sub(%x, %m)
  %q: float32[2, 3, 8] = Mul(%d, %d)
  %v: float32[2, 1, 8] = ReduceMean(%q, %a1)
  %e: float32[2, 1, 8] = Add(%v, %eps)
  %s: float32[2, 1, 8] = Sqrt(%e)
  %h: float32[2, 3, 8] = Div(%d, %s)
  %g: float32[2, 3, 8] = Mul(%h, %g1)
  %y: float32[2, 3, 8] = Add(%g, %b1)
)") == "%Div_h/rows: float32[2, 8, 3] = Transpose(%x) {perm=[0, 2, 1]}\n"
       "%Mul_g/row: float32[3] = Reshape(%g1, %Mul_g/row_shape)\n"
       "%Add_y/row: float32[3] = Reshape(%b1, %Add_y/row_shape)\n"
       "%Add_y/normalized: float32[2, 8, 3] = LayerNormalization(%Div_h/rows, %Mul_g/row, %Add_y/row) {axis=2, "
       "epsilon=9.999999747378752e-06}\n"
       "%y: float32[2, 3, 8] = Transpose(%Add_y/normalized) {perm=[0, 2, 1]}\n");
}

TEST_CASE("recognize_normalizations: without scale and shift; Softmax around its maximum") {
  CHECK(normalized(R"(  %t: float32[2, 3, 1] = ReduceSum(%x, %axes)
  %m: float32[2, 3, 1] = Div(%t, %n)
  %d: float32[2, 3, 8] = Sub(%x, %m)
  %q: float32[2, 3, 8] = Mul(%d, %d)
  %v: float32[2, 3, 1] = ReduceMean(%q, %axes)
  %e: float32[2, 3, 1] = Add(%v, %eps)
  %s: float32[2, 3, 1] = Sqrt(%e)
  %y: float32[2, 3, 8] = Div(%d, %s)
)") == "%y: float32[2, 3, 8] = LayerNormalization(%x, %Div_y/ones) {axis=2, epsilon=9.999999747378752e-06}\n");
  CHECK(normalized(R"(  %k: float32[2, 3] = ReduceMax(%x, %axes) {keepdims=0}
  %m: float32[2, 3, 1] = Reshape(%k, %rows)
  %d: float32[2, 3, 8] = Sub(%x, %m)
  %e: float32[2, 3, 8] = Exp(%d)
  %s: float32[2, 3, 1] = ReduceSum(%e, %axes)
  %y: float32[2, 3, 8] = Div(%e, %s)
)") == "%y: float32[2, 3, 8] = Softmax(%x) {axis=2}\n");
}

TEST_CASE("recognize_attention: scaled, masked, with the scale anywhere") {
  const auto attention = [](const std::string& lines) {
    RewriteCase rewritten(
        "graph g(%q: float32[2, 3, 5, 4], %k: float32[2, 3, 4, 6], %v: float32[2, 3, 6, 7], %m: float32[5, 6]) -> "
        "(%y)\n  constant %half: float32[] = 0.5\n  constant %two: float32[] = 2.0\n" +
        lines);
    return rewritten.apply(passes::recognize_attention).nodes();
  };
  const std::string
      scores = "  %s: float32[2, 3, 5, 6] = MatMul(%q, %k)\n",
      end = "  %p: float32[2, 3, 5, 6] = Softmax(%t) {axis=-1}\n  %y: float32[2, 3, 5, 7] = MatMul(%p, %v)\n";
  CHECK_THAT(attention(scores + "  %t: float32[2, 3, 5, 6] = Mul(%s, %half)\n" + end),
             ContainsSubstring("%y: float32[2, 3, 5, 7] = dovetail.attention(%q, %k, %v) {scale=0.5}"));
  CHECK_THAT(attention(scores + "  %t: float32[2, 3, 5, 6] = Div(%s, %two)\n" + end),
             ContainsSubstring("dovetail.attention(%q, %k, %v) {scale=0.5}"));
  CHECK_THAT(
      attention(scores + "  %u: float32[2, 3, 5, 6] = Div(%s, %two)\n  %t: float32[2, 3, 5, 6] = Add(%u, %m)\n" + end),
      ContainsSubstring("dovetail.attention(%q, %k, %v, %m) {scale=0.5}"));
  CHECK_THAT(
      attention("  %h: float32[2, 3, 5, 4] = Mul(%q, %half)\n  %t: float32[2, 3, 5, 6] = MatMul(%h, %k)\n" + end),
      ContainsSubstring("dovetail.attention(%q, %k, %v) {scale=0.5}"));
  // A condition that hides scores.
  const auto causal = [&](const std::string& choice, const std::string& low) {
    return attention("  constant %seen: bool[6] = [1, 1, 0, 1, 1, 0]\n  constant %low: float32[] = " + low + "\n" +
                     scores + "  %t: float32[2, 3, 5, 6] = Where(" + choice + ")\n" + end);
  };
  CHECK_THAT(causal("%seen, %s, %low", "-inf"), ContainsSubstring("dovetail.attention(%q, %k, %v, %y.mask)"));
  CHECK_THAT(causal("%seen, %s, %low", "-3.4028235e38"), ContainsSubstring("dovetail.attention(%q, %k, %v, %y.mask)"));
  CHECK_THAT(causal("%seen, %low, %s", "-inf"), ContainsSubstring("dovetail.attention(%q, %k, %v, %y.mask)"));
  CHECK_THAT(causal("%seen, %s, %low", "-1000.0"), !ContainsSubstring("attention"));
  // A softmax along another axis is not attention.
  CHECK_THAT(
      attention(scores +
                "  %p: float32[2, 3, 5, 6] = Softmax(%s) {axis=1}\n  %y: float32[2, 3, 5, 7] = MatMul(%p, %v)\n"),
      !ContainsSubstring("attention"));
  // Without keys the product is 0, while a quotient of sums would be 0 / 0.
  RewriteCase none(
      "graph g(%q: float32[5, 4], %k: float32[4, 0], %v: float32[0, 7]) -> (%y)\n  %s: float32[5, 0] = MatMul(%q, %k)\n"
      "  %p: float32[5, 0] = Softmax(%s) {axis=-1}\n  %y: float32[5, 7] = MatMul(%p, %v)\n");
  CHECK_THAT(none.apply(passes::recognize_attention).nodes(), !ContainsSubstring("attention"));
}

}  // namespace dovetail
