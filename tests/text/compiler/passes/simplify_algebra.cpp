// Each rule of the table: the graph before and after, both evaluated on infinities, NaN, zeros of both signs, huge and
// tiny numbers, as far as the rule's level promises.
#include "compiler/passes/simplify_algebra.h"

#include <set>

#include "tests/text/compiler/passes/rewrite_case.h"

namespace dovetail {

using passes::Level;
using test::Agreement;
using test::RewriteCase;

namespace {

struct Example {
  const char* rule;
  Level level;        // at which it is applied
  const char* types;  // "float32" or "int32": of all values below
  const char* nodes;  // before, %x and %y being inputs of shape [2, 3]; the last line defines %r
  const char* after;  // the line of %r; "" where it must not change
  Agreement agreement = test::kEqualOnSpecials;
};

const Agreement kZeros{0, false, true};  // the sign of zeros is open
const Agreement kRounds{2e-6, false, true};
const Agreement kFinite{2e-6, false, false};  // of finite numbers alone

// clang-format off
const Example kExamples[] = {
    {"constants to the right of + and *", Level::exact, "float32", "%r = Add(2.5, %x)", "Add(%x, c)"},
    {"constants to the right of + and *", Level::exact, "int32", "%r = Mul(2, %x)", "Mul(%x, c)"},
    {"x + 0 -> x", Level::exact, "float32", "%r = Add(%x, -0.0)", "x"},
    {"x + 0 -> x", Level::exact, "float32", "%r = Add(%x, 0.0)", ""},
    {"x + 0 -> x", Level::tolerant, "float32", "%r = Add(%x, 0.0)", "x", kZeros},
    {"x + 0 -> x", Level::exact, "int32", "%r = Add(0, %x)", "x"},
    {"x - 0 -> x", Level::exact, "float32", "%r = Sub(%x, 0.0)", "x"},
    {"x - 0 -> x", Level::exact, "float32", "%r = Sub(%x, -0.0)", ""},
    {"0 - x -> -x", Level::exact, "float32", "%r = Sub(-0.0, %x)", "Neg(%x)"},
    {"0 - x -> -x", Level::exact, "float32", "%r = Sub(0.0, %x)", ""},
    {"0 - x -> -x", Level::tolerant, "float32", "%r = Sub(0.0, %x)", "Neg(%x)", kZeros},
    {"0 - x -> -x", Level::exact, "int32", "%r = Sub(0, %x)", "Neg(%x)"},
    {"x * 1 -> x", Level::exact, "float32", "%r = Mul(%x, 1.0)", "x"},
    {"x * -1 -> -x", Level::exact, "float32", "%r = Mul(%x, -1.0)", "Neg(%x)"},
    {"x * 0 -> 0", Level::tolerant, "float32", "%r = Mul(%x, 0.0)", ""},
    {"x * 0 -> 0", Level::trading, "float32", "%z = Mul(%x, 0.0)\n%r = Add(%y, %z)", "Add(%y, c)", kFinite},
    {"x * 0 -> 0", Level::exact, "int32", "%z = Mul(%x, 0)\n%r = Add(%y, %z)", "Add(%y, c)"},
    {"x / 1 -> x", Level::exact, "float32", "%r = Div(%x, 1.0)", "x"},
    {"x / c -> x * (1 / c)", Level::exact, "float32", "%r = Div(%x, 8.0)", "Mul(%x, c)"},
    {"x / c -> x * (1 / c)", Level::tolerant, "float32", "%r = Div(%x, 3.0)", ""},
    {"x / c -> x * (1 / c)", Level::trading, "float32", "%r = Div(%x, 3.0)", "Mul(%x, c)", kFinite},
    {"x / c -> x * (1 / c)", Level::trading, "int32", "%r = Div(%x, 4)", ""},
    {"1 / x -> reciprocal", Level::exact, "float32", "%r = Div(1.0, %x)", "Reciprocal(%x)"},
    {"x * reciprocal y -> x / y", Level::exact, "float32", "%z = Reciprocal(%y)\n%r = Mul(%x, %z)", ""},
    {"x * reciprocal y -> x / y", Level::tolerant, "float32", "%z = Reciprocal(%y)\n%r = Mul(%z, %x)", "Div(%x, %y)", kFinite},
    {"x ^ 1 -> x", Level::exact, "float32", "%r = Pow(%x, 1.0)", "x"},
    {"x ^ 2 -> x * x", Level::tolerant, "float32", "%r = Pow(%x, 2.0)", "Mul(%x, %x)", kRounds},
    {"x ^ 2 -> x * x", Level::exact, "int32", "%r = Pow(%x, 2)", "Mul(%x, %x)"},
    {"x ^ -1 -> reciprocal x", Level::tolerant, "float32", "%r = Pow(%x, -1.0)", "Reciprocal(%x)", kRounds},
    {"x ^ 0.5 -> root x", Level::tolerant, "float32", "%r = Pow(%x, 0.5)", ""},
    {"x ^ 0.5 -> root x", Level::trading, "float32", "%z = Mul(%x, %x)\n%r = Pow(%z, 0.5)", "Sqrt(%z)", kFinite},
    {"-(-x) -> x", Level::exact, "float32", "%z = Neg(%x)\n%r = Neg(%z)", "x"},
    {"x + (-y) -> x - y", Level::exact, "float32", "%z = Neg(%y)\n%r = Add(%z, %x)", "Sub(%x, %y)"},
    {"x + (-y) -> x - y", Level::exact, "int32", "%z = Neg(%y)\n%r = Add(%x, %z)", "Sub(%x, %y)"},
    {"x - (-y) -> x + y", Level::exact, "float32", "%z = Neg(%y)\n%r = Sub(%x, %z)", "Add(%x, %y)"},
    {"x - c -> x + (-c)", Level::exact, "float32", "%r = Sub(%x, 2.5)", "Add(%x, c)"},
    {"|±x|, ||x|| -> |x|", Level::exact, "float32", "%z = Neg(%x)\n%r = Abs(%z)", "Abs(%x)"},
    {"|±x|, ||x|| -> |x|", Level::exact, "float32", "%z = Abs(%x)\n%r = Abs(%z)", "Abs(%x)"},
    {"not not x -> x", Level::exact, "bool", "%z = Not(%x)\n%r = Not(%z)", "x"},
    {"(x * a) * b -> x * (a * b)", Level::exact, "float32", "%z = Mul(%x, 3.0)\n%r = Mul(%z, 0.7)", ""},
    {"(x * a) * b -> x * (a * b)", Level::tolerant, "float32", "%z = Mul(%x, 3.0)\n%r = Mul(%z, 0.7)", "Mul(%x, c)", kFinite},
    {"(x * a) * b -> x * (a * b)", Level::tolerant, "float32", "%z = Mul(%x, 1e30)\n%r = Mul(%z, 1e30)", ""},
    {"(x * a) * b -> x * (a * b)", Level::trading, "float32", "%z = Add(%x, 1e8)\n%r = Add(%z, -1e8)", ""},
    {"(x * a) * b -> x * (a * b)", Level::exact, "int32", "%z = Add(%x, 2147483647)\n%r = Add(%z, 5)", "Add(%x, c)"},
    {"(x * a) * b -> x * (a * b)", Level::exact, "int32", "%z = Mul(%x, 65537)\n%r = Mul(%z, 65537)", "Mul(%x, c)"},
    {"min, max with a number -> clip", Level::exact, "float32", "%r = Min(%x, 3.0)", "Clip(%x, _, c)", kZeros},
    {"min, max with a number -> clip", Level::exact, "float32", "%r = Max(-3.0, %x)", "Clip(%x, c)", kZeros},
    {"min, max with a number -> clip", Level::exact, "int8", "%r = Max(%x, -3)", "Clip(%x, c)"},
    {"clip of clip -> clip", Level::exact, "float32", "%z = Clip(%x, -3.0, 3.0)\n%r = Clip(%z, -1.0, 6.0)", "Clip(%x, c, c)", kZeros},
    {"clip of clip -> clip", Level::exact, "float32", "%z = Clip(%x, -3.0, -2.0)\n%r = Clip(%z, -1.0, 6.0)", "Clip(%x, c, c)", kZeros},
    {"clip of clip -> clip", Level::exact, "float32", "%z = Relu(%x)\n%r = Clip(%z, -1.0, 6.0)", "Clip(%x, c, c)", kZeros},
    {"clip of clip -> clip", Level::exact, "float32", "%z = Clip(%x, _, 6.0)\n%r = Relu(%z)", "Clip(%x, c, c)", kZeros},
    {"clip of clip -> clip", Level::exact, "float32", "%z = Relu(%x)\n%r = Relu(%z)", "Relu(%x)", kZeros},
    {"clip of clip -> clip", Level::exact, "int8", "%z = Relu(%x)\n%r = Clip(%z, -1, 6)", "Clip(%x, c, c)"},
    {"clip of clip -> clip", Level::exact, "float32", "%z = Clip(%x, 5.0, 3.0)\n%r = Clip(%z, -1.0, 6.0)", ""},  // low > high is high, by the standard
    {"clip from 0 -> relu", Level::exact, "float32", "%r = Clip(%x, 0.0)", "Relu(%x)", kZeros},
};
// clang-format on

// Numbers among the operands become scalar constants.
std::string graph_text(const Example& example) {
  const std::string type = example.types;
  std::string text = fmt::format("graph g(%x: {0}[2, 3], %y: {0}[2, 3]) -> (%r)\n", type), constants;
  int count = 0;
  const std::string nodes = example.nodes;
  for (std::size_t begin = 0; begin < nodes.size();) {
    const std::size_t end = std::min(nodes.find('\n', begin), nodes.size());
    std::string line = nodes.substr(begin, end - begin), operands;
    begin = end + 1;
    const std::size_t open = line.find('(');
    for (std::size_t at = open + 1; at < line.size() - 1;) {
      const std::size_t comma = std::min(line.find(", ", at), line.size() - 1);
      std::string operand = line.substr(at, comma - at);
      at = comma + 2;
      if (operand[0] != '%' && operand != "_") {
        constants += fmt::format("  constant %c{}: {}[] = {}\n", ++count, type, operand);
        operand = fmt::format("%c{}", count);
      }
      operands += (operands.empty() ? "" : ", ") + operand;
    }
    text += fmt::format("  {}: {}[2, 3]{}{})\n", line.substr(0, 2), type, line.substr(2, open - 1), operands);
  }
  return text + constants;
}

// The definition of %r: "Add(%x, c)" with c for every constant; without a node, the name of the value.
std::string definition(const graph::Graph& graph) {
  graph::ValueId r = graph.outputs[0];
  const graph::Node& node = graph.node(graph.value(r).producer);
  if (node.op == "Identity") return graph.value(node.inputs[0]).name;
  std::string text = node.op + "(";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::ValueId input = node.inputs[i];
    text += (i ? ", " : "") + (!input.valid() ? "_" : graph.is_constant(input) ? "c" : "%" + graph.value(input).name);
  }
  return text + ")";
}

}  // namespace

TEST_CASE("simplify_algebra: every rule keeps the promise of its level") {
  std::set<std::string_view> seen;
  for (const Example& example : kExamples) {
    INFO(example.rule << " on " << example.types << ": " << example.nodes);
    // A graph output keeps its name: a copy after %r lets rules replace it.
    std::string text = graph_text(example);
    text.replace(text.find("(%r)"), 4, "(%out)");
    text += fmt::format("  %out: {}[2, 3] = Identity(%r)\n", example.types);
    RewriteCase rewritten(text);
    const std::string before = definition(rewritten.graph());
    const auto rule = std::find_if(passes::algebra_rules().begin(), passes::algebra_rules().end(),
                                   [&](const passes::AlgebraRule& row) { return row.name == example.rule; });
    REQUIRE(rule != passes::algebra_rules().end());
    rewritten.apply([&](graph::Graph& graph, const passes::PassContext&) -> Result<passes::PassOutcome> {
      passes::PassOutcome outcome;
      if (rule->level > example.level) return outcome;
      for (int round = 0; round < 3; ++round)
        for (const graph::NodeId id : graph.topological_order())
          if (!graph.node(id).removed && rule->apply(graph, id, example.level)) ++outcome.changes;
      return outcome;
    });
    rewritten.compare(example.agreement);
    const graph::Graph& graph = rewritten.graph();
    const graph::Node& copy = graph.node(graph.value(graph.outputs[0]).producer);
    const graph::ValueId r = copy.inputs[0];
    std::string after = graph.value(r).name;
    if (graph.value(r).producer.valid()) {
      graph::Graph shown = graph;
      shown.outputs = {r};
      after = definition(shown);
    }
    if (std::string_view(example.after).empty()) {
      CHECK(rewritten.changes() == 0);
    } else {
      CHECK(rewritten.changes() > 0);
      CHECK(after == example.after);
      seen.insert(rule->name);
    }
  }
  for (const passes::AlgebraRule& rule : passes::algebra_rules())
    if (rule.name != "maxpool of relu -> relu of maxpool" && rule.name != "cast of cast -> cast" &&
        rule.name != "concat(-a, b) * c -> concat(a, b) * c'")
      CHECK_THAT(std::string(seen.count(rule.name) ? rule.name : ""), Catch::Matchers::Equals(std::string(rule.name)));
}

TEST_CASE("simplify_algebra: signs of a Concat's operands become those of the factors") {
  const std::string begin =
      "graph g(%x: float32[2, 3], %y: float32[2, 3]) -> (%r)\n"
      "  %n: float32[2, 3] = Neg(%x)\n";
  RewriteCase columns(begin +
                      "  constant %f: float32[6] = [1, 2, 3, 4, 5, 6]\n"
                      "  %w: float32[2, 6] = Concat(%n, %y) {axis=-1}\n"
                      "  %r: float32[2, 6] = Mul(%f, %w)\n");
  CHECK(columns.apply(passes::simplify_algebra).nodes() ==
        "%Concat_w: float32[2, 6] = Concat(%x, %y) {axis=-1}\n%r: float32[2, 6] = Mul(%Concat_w, %Mul_r/turned)\n");
  columns.compare(test::kEqualOnSpecials);
  RewriteCase rows(begin +
                   "  constant %f: float32[4, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n"
                   "  %w: float32[4, 3] = Concat(%y, %n) {axis=0}\n"
                   "  %r: float32[4, 3] = Mul(%w, %f)\n");
  CHECK(rows.apply(passes::simplify_algebra).nodes() ==
        "%Concat_w: float32[4, 3] = Concat(%y, %x) {axis=0}\n%r: float32[4, 3] = Mul(%Concat_w, %Mul_r/turned)\n");
  rows.compare(test::kEqualOnSpecials);
  // One factor serves both signs.
  RewriteCase one(begin +
                  "  constant %f: float32[2, 1] = [1, 2]\n"
                  "  %w: float32[2, 6] = Concat(%n, %y) {axis=1}\n"
                  "  %r: float32[2, 6] = Mul(%w, %f)\n");
  CHECK(one.apply(passes::simplify_algebra).changes() == 0);
}

TEST_CASE("simplify_algebra: Relu is moved after MaxPool where no preceding node takes it") {
  const std::string pool = R"(
  %r: float32[1, 4, 6, 6] = Relu(%c)
  %p: float32[1, 4, 3, 3] = MaxPool(%r) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]}
)";
  RewriteCase concat("graph g(%x: float32[1, 2, 6, 6]) -> (%p)\n  %c: float32[1, 4, 6, 6] = Concat(%x, %x) {axis=1}" +
                     pool);
  CHECK(
      concat.apply(passes::simplify_algebra).nodes({0, false, true}) ==
      "%c: float32[1, 4, 6, 6] = Concat(%x, %x) {axis=1}\n"
      "%MaxPool_p/pooled: float32[1, 4, 3, 3] = MaxPool(%c) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]}\n"
      "%p: float32[1, 4, 3, 3] = Relu(%MaxPool_p/pooled)\n");
  RewriteCase conv(
      "graph g(%x: float32[1, 2, 6, 6]) -> (%p)\n  constant %w: float32[4, 2, 1, 1]\n  %c: float32[1, 4, 6, 6] = "
      "Conv(%x, %w)" +
      pool);
  CHECK(conv.apply(passes::simplify_algebra).changes() == 0);
}

TEST_CASE("simplify_algebra: a Cast through a type that holds every value") {
  const auto cast = [](const char* from, const char* between, const char* to) {
    const auto number = [](const char* name) { return info(*dtype_from_name(name)).onnx; };
    RewriteCase rewritten(fmt::format(
        "graph g(%x: {0}[5]) -> (%y)\n  %b: {1}[5] = Cast(%x) {{to={3}}}\n  %y: {2}[5] = Cast(%b) {{to={4}}}\n", from,
        between, to, number(between), number(to)));
    rewritten.apply(passes::simplify_algebra).compare(test::kEqual);
    return rewritten.changes() > 0;
  };
  CHECK(cast("int8", "float32", "int32"));
  CHECK(cast("int32", "float64", "int8"));
  CHECK(cast("uint8", "int16", "float32"));
  CHECK(cast("float16", "float32", "float64"));
  CHECK_FALSE(cast("int32", "float32", "int64"));
  CHECK_FALSE(cast("int8", "uint8", "int32"));
  CHECK_FALSE(cast("float32", "int32", "float64"));
  CHECK_FALSE(cast("float32", "float16", "float64"));
}

}  // namespace dovetail
