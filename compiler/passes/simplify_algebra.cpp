// Algebraic simplification by a table of rules. Each rule has the level from which it may be used, which determines the
// values that it preserves: exact     every value: NaN, infinities, and the sign of zeros, except zeros from a minimum
// or maximum
//   tolerant  values within a few roundings; the sign of zeros may change
//   trading   rules that hold only for finite numbers: x * 0 is 0, x / c is x * (1 / c)
// Integers wrap, and for them every rule of the table is exact.
#include "compiler/passes/simplify_algebra.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "compiler/passes/list.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

struct Place {
  Graph& graph;
  NodeId id;
  Level level;

  const graph::Node& node() const { return graph.node(id); }
  bool is(std::string_view op) const { return node().op == op && node().outputs.size() == 1; }
  ValueId in(std::size_t i) const { return node().inputs[i]; }
  ValueId out() const { return node().outputs[0]; }
  DType dtype() const { return graph.value(out()).type.dtype; }
  bool floating() const { return is_floating(dtype()); }
  // Whether a rule that is always exact for integers, and valid for floats from level `least`, may be applied.
  bool allowed(Level least) const { return !floating() || level >= least; }
  std::optional<double> constant(std::size_t i) const { return uniform(graph, in(i)); }
  bool is_constant(std::size_t i, double number) const {
    const auto value = constant(i);
    return value && *value == number;
  }
  // -0.0 == 0.0, but they differ as summands.
  bool is_negative_zero(std::size_t i) const { return is_constant(i, 0) && std::signbit(*constant(i)); }
  bool keeps_type(ValueId value) const { return graph.value(value).type == graph.value(out()).type; }
  bool pass(ValueId value) const { return keeps_type(value) && bypass(graph, id, value); }
  bool turn(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes = {},
            const std::vector<NodeId>& absorbed = {}) const {
    return become(graph, id, op, std::move(inputs), std::move(attributes), absorbed);
  }
  std::optional<NodeId> from(std::size_t i, std::string_view op) const { return produced_by(graph, in(i), op); }
  ValueId scalar(std::string_view stem, double number) const {
    return add_scalar(graph, fmt::format("{}/{}", node().name, stem), dtype(), number);
  }
};

// ---- Neutral and absorbing elements
// --------------------------------------------------------------------------------------------------

bool add_zero(const Place& p) {
  if (!p.is("Add")) return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (p.is_constant(i, 0) && (p.is_negative_zero(i) || p.allowed(Level::tolerant)) && p.pass(p.in(1 - i)))
      return true;
  return false;
}
bool subtract_zero(const Place& p) {
  return p.is("Sub") && p.is_constant(1, 0) && (!p.is_negative_zero(1) || p.allowed(Level::tolerant)) &&
         p.pass(p.in(0));
}
bool subtract_from_zero(const Place& p) {
  return p.is("Sub") && p.is_constant(0, 0) && (p.is_negative_zero(0) || p.allowed(Level::tolerant)) &&
         p.keeps_type(p.in(1)) && p.turn("Neg", {p.in(1)});
}
bool multiply_by_one(const Place& p) {
  if (!p.is("Mul")) return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (p.is_constant(i, 1) && p.pass(p.in(1 - i))) return true;
  return false;
}
bool multiply_by_minus_one(const Place& p) {
  if (!p.is("Mul")) return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (p.is_constant(i, -1) && p.keeps_type(p.in(1 - i)) && p.turn("Neg", {p.in(1 - i)})) return true;
  return false;
}
bool multiply_by_zero(const Place& p) {
  if (!p.is("Mul")) return false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!p.is_constant(i, 0) || !p.allowed(Level::trading)) continue;
    const graph::TensorType& type = p.graph.value(p.out()).type;
    if (p.graph.is_output(p.out()) || element_count(type.shape) * size_bytes(type.dtype) > (std::int64_t{1} << 20))
      return false;
    return bypass(p.graph, p.id, p.graph.add_constant(p.node().name + "/zero", NdArray(type.dtype, type.shape)));
  }
  return false;
}
bool divide_by_one(const Place& p) { return p.is("Div") && p.is_constant(1, 1) && p.pass(p.in(0)); }

// ---- Quotients, powers
// ---------------------------------------------------------------------------------------------------------------

bool divide_by_constant(const Place& p) {
  if (!p.is("Div") || !p.floating() || !p.graph.is_constant(p.in(1))) return false;
  const NdArray& divisor = *p.graph.value(p.in(1)).constant;
  std::vector<double> reciprocals;
  bool exact = true;
  for (std::int64_t i = 0; i < divisor.count(); ++i) {
    int exponent = 0;
    exact &= std::abs(std::frexp(divisor.as_double(i), &exponent)) == 0.5;
    reciprocals.push_back(1 / divisor.as_double(i));
  }
  if (!exact && p.level < Level::trading) return false;
  auto array = rounded(divisor.dtype(), divisor.shape(), reciprocals);
  if (!array) return false;
  return p.turn("Mul", {p.in(0), p.graph.add_constant(p.node().name + "/reciprocal", *std::move(array))});
}
bool one_divided(const Place& p) {
  return p.is("Div") && p.floating() && p.is_constant(0, 1) && p.keeps_type(p.in(1)) && p.turn("Reciprocal", {p.in(1)});
}
bool multiply_by_reciprocal(const Place& p) {
  if (!p.is("Mul") || !p.allowed(Level::tolerant)) return false;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}})
    if (const auto reciprocal = p.from(i, "Reciprocal");
        reciprocal && used_once(p.graph, p.in(i)) &&
        p.keeps_type(p.in(i)))  // few divisions before the broadcast are cheaper than many after it
      return p.turn("Div", {p.in(1 - i), p.graph.node(*reciprocal).inputs[0]}, {}, {*reciprocal});
  return false;
}
bool power_of_one(const Place& p) { return p.is("Pow") && p.is_constant(1, 1) && p.pass(p.in(0)); }
bool power_of_two(const Place& p) {
  return p.is("Pow") && p.allowed(Level::tolerant) && p.is_constant(1, 2) && p.keeps_type(p.in(0)) &&
         p.turn("Mul", {p.in(0), p.in(0)});
}
bool power_of_minus_one(const Place& p) {
  return p.is("Pow") && p.floating() && p.allowed(Level::tolerant) && p.is_constant(1, -1) && p.keeps_type(p.in(0)) &&
         p.turn("Reciprocal", {p.in(0)});
}
// pow(-inf, 0.5) is inf, but the root of -inf is NaN.
bool power_of_half(const Place& p) {
  return p.is("Pow") && p.floating() && p.allowed(Level::trading) && p.is_constant(1, 0.5) && p.keeps_type(p.in(0)) &&
         p.turn("Sqrt", {p.in(0)});
}

// ---- Signs
// ---------------------------------------------------------------------------------------------------------------------------

bool negate_twice(const Place& p) {
  const auto inner = p.is("Neg") ? p.from(0, "Neg") : std::nullopt;
  return inner && p.pass(p.graph.node(*inner).inputs[0]);
}
bool add_negated(const Place& p) {
  if (!p.is("Add")) return false;
  for (const std::size_t i : {std::size_t{1}, std::size_t{0}})
    if (const auto negated = p.from(i, "Neg"))
      return p.turn("Sub", {p.in(1 - i), p.graph.node(*negated).inputs[0]}, {}, {*negated});
  return false;
}
bool subtract_negated(const Place& p) {
  const auto negated = p.is("Sub") ? p.from(1, "Neg") : std::nullopt;
  return negated && p.turn("Add", {p.in(0), p.graph.node(*negated).inputs[0]}, {}, {*negated});
}
bool subtract_constant(const Place& p) {
  if (!p.is("Sub") || !p.floating() || !p.graph.is_constant(p.in(1)) || p.graph.is_constant(p.in(0))) return false;
  NdArray negated = *p.graph.value(p.in(1)).constant;
  for (std::int64_t i = 0; i < negated.count(); ++i) negated.set_double(i, -negated.as_double(i));
  return p.turn("Add", {p.in(0), p.graph.add_constant(p.node().name + "/negated", std::move(negated))});
}
bool absolute_of(const Place& p) {
  if (!p.is("Abs")) return false;
  for (const char* op : {"Abs", "Neg"})
    if (const auto inner = p.from(0, op)) return p.turn("Abs", {p.graph.node(*inner).inputs[0]}, {}, {*inner});
  return false;
}
bool not_twice(const Place& p) {
  const auto inner = p.is("Not") ? p.from(0, "Not") : std::nullopt;
  return inner && p.pass(p.graph.node(*inner).inputs[0]);
}

// concat(-a, b) * c: the signs become those of the factors, as where halves of a vector are rotated.
bool turn_factors(const Place& p) {
  if (!p.is("Mul") || !p.floating() || p.node().inputs.size() != 2) return false;
  const std::size_t side = p.graph.is_constant(p.in(1)) ? 0 : 1;
  const auto joined = p.from(side, "Concat");
  if (!joined || !p.graph.is_constant(p.in(1 - side)) || !used_once(p.graph, p.in(side)) || !p.keeps_type(p.in(side)))
    return false;
  const graph::Node concat = p.graph.node(*joined);
  const Shape& shape = shape_of(p.graph, p.in(side));
  NdArray factors = *p.graph.value(p.in(1 - side)).constant;
  const std::int64_t rank = std::ssize(shape), given = graph::int_attribute(concat, "axis", 0),
                     axis = given < 0 ? given + rank : given, own_axis = axis - rank + std::ssize(factors.shape());
  if (own_axis < 0 || factors.shape()[static_cast<std::size_t>(own_axis)] != shape[static_cast<std::size_t>(axis)])
    return false;
  std::vector<ValueId> parts;
  std::vector<NodeId> absorbed{*joined};
  std::vector<bool> turned;  // by position along the axis
  for (const ValueId part : concat.inputs) {
    const auto negated = produced_by(p.graph, part, "Neg");
    parts.push_back(negated ? p.graph.node(*negated).inputs[0] : part);
    if (negated) absorbed.push_back(*negated);
    turned.insert(turned.end(), static_cast<std::size_t>(shape_of(p.graph, part)[static_cast<std::size_t>(axis)]),
                  negated.has_value());
  }
  if (absorbed.size() == 1) return false;
  std::int64_t inner = 1;
  for (std::int64_t d = own_axis + 1; d < std::ssize(factors.shape()); ++d)
    inner *= factors.shape()[static_cast<std::size_t>(d)];
  for (std::int64_t i = 0; i < factors.count(); ++i)
    if (turned[static_cast<std::size_t>(i / inner) % turned.size()]) factors.set_double(i, -factors.as_double(i));
  const ValueId whole = insert(p.graph, "Concat", concat.name, parts, concat.attributes, concat.origins);
  return p.turn("Mul", {whole, p.graph.add_constant(p.node().name + "/turned", std::move(factors))}, {}, absorbed);
}

// ---- Order and chains
// ----------------------------------------------------------------------------------------------------------------

// Constants become the right operand, where the other rules look for them.
bool constant_to_the_right(const Place& p) {
  if (!p.is("Add") && !p.is("Mul")) return false;
  return p.graph.is_constant(p.in(0)) && !p.graph.is_constant(p.in(1)) && p.turn(p.node().op, {p.in(1), p.in(0)});
}
// (x * a) * b. A sum of constants of very different size would lose x's digits, so Add is merged only for integers.
bool merge_constants(const Place& p) {
  if (!(p.is("Mul") && p.allowed(Level::tolerant)) && !(p.is("Add") && !p.floating())) return false;
  const auto inner = p.from(0, p.node().op);
  const auto outer_constant = p.constant(1);
  if (!inner || !outer_constant || !used_once(p.graph, p.in(0)) ||
      element_count(p.graph.value(p.in(1)).type.shape) != 1)
    return false;
  const graph::Node& before = p.graph.node(*inner);
  if (before.inputs.size() != 2 || !p.graph.is_constant(before.inputs[1])) return false;
  NdArray merged = *p.graph.value(before.inputs[1]).constant;
  if (p.floating()) {
    std::vector<double> products;
    for (std::int64_t i = 0; i < merged.count(); ++i) products.push_back(merged.as_double(i) * *outer_constant);
    auto array = rounded(merged.dtype(), merged.shape(), products);
    if (!array) return false;
    merged = *std::move(array);
  } else {
    const std::int64_t outer = p.graph.value(p.in(1)).constant->as_int64(0);
    for (std::int64_t i = 0; i < merged.count(); ++i) {
      const auto a = static_cast<std::uint64_t>(merged.as_int64(i)), b = static_cast<std::uint64_t>(outer);
      merged.set_int64(i, static_cast<std::int64_t>(p.is("Mul") ? a * b : a + b));
    }
  }
  return p.turn(p.node().op, {before.inputs[0], p.graph.add_constant(p.node().name + "/constant", std::move(merged))},
                {}, {*inner});
}

// The bounds of Relu, Clip, and Min and Max with a number.
struct Bounds {
  double low = -INFINITY, high = INFINITY;
};
std::optional<Bounds> bounds_of(const Graph& graph, const graph::Node& node) {
  if (node.op == "Relu") return Bounds{0, INFINITY};
  if (node.op == "Clip") {
    Bounds bounds;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      if (!has_input(node, i)) continue;
      const auto value = uniform(graph, node.inputs[i]);
      if (!value || std::isnan(*value)) return std::nullopt;
      (i == 1 ? bounds.low : bounds.high) = *value;
    }
    if (bounds.low > bounds.high) return std::nullopt;
    return bounds;
  }
  if ((node.op != "Min" && node.op != "Max") || node.inputs.size() != 2) return std::nullopt;
  const auto value = uniform(graph, node.inputs[1]);
  if (!value || std::isnan(*value) || graph.value(node.inputs[0]).type != graph.value(node.outputs[0]).type)
    return std::nullopt;
  return node.op == "Min" ? Bounds{-INFINITY, *value} : Bounds{*value, INFINITY};
}
// The bound in the element type; nullopt if the number bounds no value of the type.
std::optional<double> bound(double number, DType dtype, bool low) {
  if (std::isinf(number)) return std::nullopt;
  if (is_floating(dtype)) return number;
  NdArray lowest(dtype, {});
  lowest.set_double(0, low ? -INFINITY : INFINITY);
  return number == lowest.as_double(0) ? std::nullopt : std::optional(number);
}
bool set_bounds(const Place& p, ValueId x, const Bounds& bounds, const std::vector<NodeId>& absorbed) {
  if (bounds.low == 0 && std::isinf(bounds.high) && p.turn("Relu", {x}, {}, absorbed)) return true;
  const auto low = bound(bounds.low, p.dtype(), true), high = bound(bounds.high, p.dtype(), false);
  return p.turn("Clip", {x, low ? p.scalar("low", *low) : ValueId{}, high ? p.scalar("high", *high) : ValueId{}}, {},
                absorbed);
}
bool merge_clips(const Place& p) {
  if (p.node().outputs.size() != 1 || p.dtype() == DType::int64 || p.dtype() == DType::uint64)
    return false;  // cannot be checked in binary64
  const auto outer = bounds_of(p.graph, p.node());
  const NodeId before = outer ? p.graph.value(p.in(0)).producer : NodeId{};
  if (!before.valid() || p.graph.node(before).outputs.size() != 1) return false;
  const auto inner = bounds_of(p.graph, p.graph.node(before));
  if (!inner) return false;
  const Bounds both{std::clamp(inner->low, outer->low, outer->high), std::clamp(inner->high, outer->low, outer->high)};
  return set_bounds(p, p.graph.node(before).inputs[0], both, {before});
}
bool min_max_to_clip(const Place& p) {
  if ((!p.is("Min") && !p.is("Max")) || p.dtype() == DType::int64 || p.dtype() == DType::uint64) return false;
  if (p.node().inputs.size() == 2 && p.graph.is_constant(p.in(0)) && !p.graph.is_constant(p.in(1)))
    return p.turn(p.node().op, {p.in(1), p.in(0)});
  const auto bounds = bounds_of(p.graph, p.node());
  return bounds && set_bounds(p, p.in(0), *bounds, {});
}
bool clip_to_relu(const Place& p) {
  if (!p.is("Clip") || !p.floating()) return false;
  const auto bounds = bounds_of(p.graph, p.node());
  return bounds && bounds->low == 0 && std::isinf(bounds->high) && p.turn("Relu", {p.in(0)});
}
// The maximum of values clipped from below is the clipped maximum. This helps if no node before the Relu is fused with
// it: then only the results of the pool are clipped, which are fewer.
bool pool_before_relu(const Place& p) {
  const auto relu = p.is("MaxPool") ? p.from(0, "Relu") : std::nullopt;
  if (!relu || !used_once(p.graph, p.in(0))) return false;
  const ValueId x = p.graph.node(*relu).inputs[0];
  const NodeId before = p.graph.value(x).producer;
  // Operators whose kernels apply a following Relu at no cost.
  static constexpr std::string_view kTaking[] = {"Conv", "Gemm", "MatMul", "BatchNormalization",
                                                 "Add",  "Mul",  "Sub",    "Div"};
  if (!before.valid() ||
      std::find(std::begin(kTaking), std::end(kTaking), p.graph.node(before).op) != std::end(kTaking))
    return false;
  const ValueId pooled =
      insert(p.graph, "MaxPool", p.node().name + "/pooled", {x}, p.node().attributes, p.node().origins);
  return p.turn("Relu", {pooled}, {}, {*relu});
}
// A cast through a type that has all values of the first type.
bool cast_twice(const Place& p) {
  const auto inner = p.is("Cast") ? p.from(0, "Cast") : std::nullopt;
  if (!inner) return false;
  const ValueId x = p.graph.node(*inner).inputs[0];
  const DType from = p.graph.value(x).type.dtype, between = p.graph.value(p.in(0)).type.dtype;
  const auto digits = [](DType dtype) {
    switch (dtype) {
      case DType::float16: return 11;
      case DType::bfloat16: return 8;
      case DType::float32: return 24;
      case DType::float64: return 53;
      default: return size_bytes(dtype) * 8 - (is_signed_integer(dtype) ? 1 : 0);
    }
  };
  bool holds = false;
  if (from == DType::boolean) holds = true;
  else if (is_floating(from))
    holds = is_floating(between) && (size_bytes(between) > size_bytes(from) || between == from);
  else if (is_floating(between)) holds = digits(between) >= digits(from) && between != DType::float16;
  else if (between != DType::boolean)
    holds = digits(between) >= digits(from) && (is_signed_integer(between) || !is_signed_integer(from));
  if (!holds) return false;
  if (p.keeps_type(x)) return p.pass(x);
  return p.turn("Cast", {x}, p.node().attributes, {*inner});
}

template <bool (*rule)(const Place&)>
bool at(Graph& graph, NodeId id, Level level) {
  return rule({graph, id, level});
}

constexpr AlgebraRule kAlgebraRules[] = {
    {"constants to the right of + and *", Level::exact, at<constant_to_the_right>},
    {"x + 0 -> x", Level::exact, at<add_zero>},  // x + -0; from `tolerant` also x + 0, which turns -0 into 0
    {"x - 0 -> x", Level::exact, at<subtract_zero>},
    {"0 - x -> -x", Level::exact, at<subtract_from_zero>},
    {"x * 1 -> x", Level::exact, at<multiply_by_one>},
    {"x * -1 -> -x", Level::exact, at<multiply_by_minus_one>},
    {"x * 0 -> 0", Level::exact, at<multiply_by_zero>},  // integers; floats at `trading`, for infinities and NaN
    {"x / 1 -> x", Level::exact, at<divide_by_one>},
    {"x / c -> x * (1 / c)", Level::exact, at<divide_by_constant>},  // powers of two; any at `trading`
    {"1 / x -> reciprocal", Level::exact, at<one_divided>},
    {"x * reciprocal y -> x / y", Level::tolerant, at<multiply_by_reciprocal>},
    {"x ^ 1 -> x", Level::exact, at<power_of_one>},
    {"x ^ 2 -> x * x", Level::exact, at<power_of_two>},  // integers; floats from `tolerant`
    {"x ^ -1 -> reciprocal x", Level::tolerant, at<power_of_minus_one>},
    {"x ^ 0.5 -> root x", Level::trading, at<power_of_half>},
    {"-(-x) -> x", Level::exact, at<negate_twice>},
    {"x + (-y) -> x - y", Level::exact, at<add_negated>},
    {"x - (-y) -> x + y", Level::exact, at<subtract_negated>},
    {"x - c -> x + (-c)", Level::exact, at<subtract_constant>},
    {"concat(-a, b) * c -> concat(a, b) * c'", Level::exact, at<turn_factors>},
    {"|±x|, ||x|| -> |x|", Level::exact, at<absolute_of>},
    {"not not x -> x", Level::exact, at<not_twice>},
    {"(x * a) * b -> x * (a * b)", Level::exact, at<merge_constants>},  // integers, sums too; floats from `tolerant`
    {"min, max with a number -> clip", Level::exact, at<min_max_to_clip>},
    {"clip of clip -> clip", Level::exact, at<merge_clips>},
    {"clip from 0 -> relu", Level::exact, at<clip_to_relu>},
    {"maxpool of relu -> relu of maxpool", Level::exact, at<pool_before_relu>},
    {"cast of cast -> cast", Level::exact, at<cast_twice>},
};

}  // namespace

std::span<const AlgebraRule> algebra_rules() { return kAlgebraRules; }

bool turn_factors(Graph& graph, NodeId node) { return turn_factors(Place{graph, node, Level::exact}); }

Result<PassOutcome> simplify_algebra(Graph& graph, const PassContext& context) {
  PassOutcome outcome;
  std::map<std::string_view, int> used;
  for (const NodeId id : graph.topological_order())
    for (const AlgebraRule& rule : kAlgebraRules)
      if (!graph.node(id).removed && rule.level <= context.level && rule.apply(graph, id, context.level)) {
        ++outcome.changes;
        ++used[rule.name];
      }
  for (const auto& [name, times] : used) outcome.notes.push_back(fmt::format("{}: {} times", name, times));
  return outcome;
}

}  // namespace dovetail::passes
