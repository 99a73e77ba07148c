#include "tests/fuzz/compiler/graphs/hold_graph.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/ops/op.h"
#include "compiler/passes/evaluate_node.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "loops/interpreter.h"
#include "loops/rewrite.h"
#include "runtime/executor.h"
#include "tests/fuzz/compiler/graphs/older_forms.h"
#include "tests/targets.h"

namespace dovetail::test {
namespace {

using graph::Graph;
using graph::ValueId;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool within(double a, double b, double relative) {
  return same(a, b) || (std::isfinite(a) && std::isfinite(b) &&
                        std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b)) + 1e-37);
}

// The rounding unit of the coarsest type of the graph; for binary32 a few units in the last place.
double unit(const Graph& graph) {
  double coarsest = std::exp2(-20);
  for (const graph::Value& value : graph.values) {
    if (value.type.dtype == DType::float16) coarsest = std::max(coarsest, std::exp2(-13));
    if (value.type.dtype == DType::bfloat16) coarsest = std::max(coarsest, std::exp2(-10));
  }
  return coarsest;
}
// Bounds in units of rounding. A function has more than one rounding, and its error may be all that remains after a
// subtraction.
constexpr double kSure = 16, kRounding = 1024;

// How often values are varied, to find those that rounding decides.
constexpr std::uint64_t kMoves = 3;

// Varies a value by up to a unit, each by its own amount: equal values no longer cancel.
double moved(double value, double unit, SplitMix64& random) {
  return value * (1 + unit * (static_cast<double>(random.next() >> 11) * 0x1p-52 - 1));
}

// Real values in binary64, each varied where `unit` is not 0.
NdArray widened(const NdArray& array, double unit, std::uint64_t seed = 0) {
  if (!is_floating(array.dtype())) return array;
  SplitMix64 random(seed);
  NdArray wide(DType::float64, array.shape());
  for (std::int64_t i = 0; i < array.count(); ++i) wide.set_double(i, moved(array.as_double(i), unit, random));
  return wide;
}

bool is_small_integer(double value) { return std::abs(value) <= 0x1p20 && value == std::floor(value); }

// The results of a node are rounded, which moves them too; except integers that it makes of integers, or by rounding.
void move_results(NdArray& results, const graph::Node& node, const std::vector<NdArray>& arguments, double unit,
                  std::uint64_t seed) {
  if (unit == 0 || !is_floating(results.dtype())) return;
  constexpr std::string_view kRounding[] = {"Cast", "CastLike", "Ceil", "Floor", "Round", "Sign"};
  const bool exact = std::ranges::find(kRounding, node.op) != std::end(kRounding) ||
                     std::ranges::all_of(arguments, [](const NdArray& array) {
                       for (std::int64_t i = 0; i < array.count(); ++i)
                         if (!is_small_integer(array.as_double(i))) return false;
                       return true;
                     });
  SplitMix64 random(seed);
  for (std::int64_t i = 0; i < results.count(); ++i)
    if (const double value = results.as_double(i); !exact || !is_small_integer(value))
      results.set_double(i, moved(value, unit, random));
}

// The graph in binary64, node by node; empty where a node has no value.
std::optional<Arrays> evaluate_wide(const Graph& graph, const Arrays& inputs, double moved_by, std::uint64_t move = 0) {
  std::map<ValueId, NdArray> values;
  const auto seed = [&](ValueId id) { return move << 32 | static_cast<std::uint32_t>(id.index); };
  for (const ValueId id : graph.inputs)
    values.emplace(id, widened(inputs.at(graph.value(id).name), moved_by, seed(id)));
  const auto at = [&](ValueId id) {
    return graph.is_constant(id) ? widened(*graph.value(id).constant, 0) : values.at(id);
  };
  for (const graph::NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    const auto program = ops::define(graph, id);
    if (!program) return std::nullopt;
    std::vector<NdArray> arguments;
    for (const std::size_t position : passes::operand_positions(*program))
      arguments.push_back(at(node.inputs[position]));
    auto results = loops::evaluate(*program, arguments, {}, loops::Precision::wide);
    if (!results) return std::nullopt;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      move_results((*results)[i], node, arguments, moved_by, seed(node.outputs[i]));
      values.insert_or_assign(node.outputs[i], (*results)[i]);
    }
  }
  Arrays outputs;
  for (const ValueId id : graph.outputs) outputs.insert_or_assign(graph.value(id).name, at(id));
  return outputs;
}

Arrays sure_elements(const Graph& graph, const Arrays& inputs, const Arrays& reference) {
  const double one = unit(graph);
  const auto wide = evaluate_wide(graph, inputs, 0);
  std::vector<std::optional<Arrays>> moved;
  for (std::uint64_t move = 0; move < kMoves; ++move) moved.push_back(evaluate_wide(graph, inputs, one, move));
  Arrays sure;
  for (const ValueId id : graph.outputs) {
    const std::string& name = graph.value(id).name;
    const NdArray& value = reference.at(name);
    NdArray mask(DType::boolean, value.shape());
    const auto stays = [&](const std::optional<Arrays>& run, std::int64_t i) {
      return run && within(run->at(name).as_double(i), wide->at(name).as_double(i), kSure * one);
    };
    for (std::int64_t i = 0; wide && i < value.count(); ++i)
      mask.set_int64(i, within(value.as_double(i), wide->at(name).as_double(i), kSure * one) &&
                            std::ranges::all_of(moved, [&](const auto& run) { return stays(run, i); }));
    sure.insert_or_assign(name, std::move(mask));
  }
  return sure;
}

struct Traits {
  bool functions = false;  // some node computes a function, which is more than one rounded operation
  bool sums = false;       // some node adds up real numbers along an axis
};

Traits traits_of(const Graph& graph) {
  Traits found;
  for (const graph::NodeId id : graph.topological_order()) {
    const auto program = ops::define(graph, id);
    if (!program) continue;
    loops::visit_exprs(program->body, [&](const loops::Expr& expr) {
      if (const auto* n = std::get_if<loops::Unary>(&expr->node))
        found.functions |= n->op >= loops::UnaryOp::rsqrt && n->op <= loops::UnaryOp::erf;
      if (const auto* n = std::get_if<loops::Binary>(&expr->node)) found.functions |= n->op == loops::BinaryOp::pow;
    });
    loops::visit_stmts(program->body, [&](const loops::Stmt& stmt) {
      if (const auto* block = std::get_if<loops::Block>(&stmt->node))
        found.sums |= std::ranges::any_of(
                          block->iterators,
                          [](const loops::Iterator& iterator) { return iterator.kind == loops::IterKind::reduce; }) &&
                      std::ranges::any_of(
                          block->writes, [](const loops::Region& region) { return is_floating(region.buffer->dtype); });
    });
  }
  return found;
}

// Finite, and so far from the ends of their type that no other order of a sum, and no factor moved into weights, leaves
// the type.
bool all_finite(const Arrays& values) {
  return std::ranges::all_of(values, [](const auto& each) {
    const double most = each.second.dtype() == DType::float16 ? 6e3 : 1e36;
    for (std::int64_t i = 0; is_floating(each.second.dtype()) && i < each.second.count(); ++i)
      if (!(std::abs(each.second.as_double(i)) <= most)) return false;
    return true;
  });
}

struct Way {
  std::string name;
  passes::Level level;
  std::vector<std::string> targets;
};

struct Ran {
  Graph integer;
  Arrays outputs;
};

Result<Ran> run(const FuzzGraph& made, const Way& way) {
  DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx(made.file, "random.onnx"));
  CompileOptions options;
  options.available = kit_targets();
  options.targets = way.targets;
  options.context.level = way.level;
  DOVETAIL_ASSIGN(Compiled compiled, compile(std::move(imported), options));
  DOVETAIL_ASSIGN(runtime::Executor executor,
                  runtime::Executor::make(compiled.bundle, *runtime::simulator_factory("functional"), {1}));
  DOVETAIL_ASSIGN(runtime::RunResult result, executor.run(made.inputs));
  return Ran{std::move(compiled.integer), std::move(result.outputs)};
}

// How close two arrays must be: equal bits, or within rounding where `sure` is given; `slack` is added to either.
struct Bound {
  bool exact = false;
  double relative = 0, slack = 0;
  const Arrays* sure = nullptr;
};

void compare(const std::string& who, const Arrays& expected, const Arrays& actual, const Graph& graph,
             const Bound& bound, std::vector<std::string>& broken) {
  for (const ValueId id : graph.outputs) {
    const std::string& name = graph.value(id).name;
    const NdArray &a = expected.at(name), &b = actual.at(name);
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
      broken.push_back(fmt::format("{}: {} is {}{}, expected {}{}", who, name, dovetail::name(b.dtype()),
                                   to_string(b.shape()), dovetail::name(a.dtype()), to_string(a.shape())));
      continue;
    }
    for (std::int64_t i = 0; i < a.count(); ++i) {
      const double x = a.as_double(i), y = b.as_double(i);
      if (same(x, y) || std::abs(x - y) <= bound.slack) continue;
      if (!bound.exact &&
          ((bound.sure != nullptr && bound.sure->at(name).as_int64(i) == 0) || within(x, y, bound.relative)))
        continue;
      broken.push_back(fmt::format("{}: {}[{}] is {}, expected {}", who, name, i, y, x));
      break;
    }
  }
}

// Every level on the interpreter, which fuses as the CPU does and needs no machine code; one of the levels, in turn, as
// kernels of the CPU, and on the accelerator where there are nodes for it.
std::vector<Way> ways(const FuzzGraph& made, bool quantized) {
  std::vector<Way> list;
  for (int level = 0; level <= 3; ++level)
    list.push_back({fmt::format("level {}", level), static_cast<passes::Level>(level), {"host"}});
  const auto turn = static_cast<int>(made.file.size() % 4);
  list.push_back({fmt::format("level {} compiled", turn), static_cast<passes::Level>(turn), {"cpu"}});
  if (quantized) list.push_back({"level 2 accelerated", passes::Level::tolerant, {"accel", "host"}});
  return list;
}

bool is_quantized(const Graph& graph) {
  return std::ranges::any_of(graph.live_nodes(), [&](graph::NodeId id) {
    const std::string& op = graph.node(id).op;
    return op.starts_with("dovetail.") || op.ends_with("QuantizeLinear") || op == "DequantizeLinear";
  });
}

}  // namespace

Held hold_graph(const FuzzGraph& made) {
  Held held;
  const auto reference = Reference::make(made.graph);
  if (!reference) {
    held.broken.push_back("the reference does not take the graph: " + to_string(reference.errors()));
    return held;
  }
  const auto expected = reference->run(made.inputs);
  const bool quantized = is_quantized(made.graph);
  if (!expected) {
    held.refused = to_string(expected.errors());
    for (const Way& way : ways(made, quantized)) static_cast<void>(run(made, way).ok());
    return held;
  }
  for (const ValueId id : made.graph.outputs)
    held.reference.insert_or_assign(made.graph.value(id).name, expected->at(made.graph.value(id).name));
  held.sure = sure_elements(made.graph, made.inputs, held.reference);
  const double rounding = kRounding * unit(made.graph);
  const Traits traits = traits_of(made.graph);
  const bool finite = all_finite(*expected);
  Arrays integers;  // of the quantized graph in integer form, which kernels are compared with
  for (const Way& way : ways(made, quantized)) {
    const auto ran = run(made, way);
    if (!ran) {
      held.broken.push_back(fmt::format("{}: {}", way.name, to_string(ran.errors())));
      continue;
    }
    held.runs.emplace(way.name, ran->outputs);
    const Bound bound{
        .exact = way.level <= passes::Level::exact && !traits.functions, .relative = rounding, .sure = &held.sure};
    // Whether a sum that overflows temporarily is infinite or NaN depends on the order of its terms.
    if (!finite && (way.level == passes::Level::trading || (way.level == passes::Level::tolerant && traits.sums)))
      continue;
    if (!quantized) {
      compare(way.name, held.reference, ran->outputs, made.graph, bound, held.broken);
      continue;
    }
    if (integers.empty()) {
      const auto values = Reference::make(ran->integer).value().run(made.inputs);
      if (!values) {
        held.broken.push_back("the integer form: " + to_string(values.errors()));
        return held;
      }
      integers = *values;
      if (made.step != 0)
        compare("the integer form", held.reference, integers, made.graph,
                {.relative = rounding, .slack = 2 * made.step, .sure = &held.sure}, held.broken);
    }
    compare(way.name, integers, ran->outputs, made.graph, bound, held.broken);
  }
  return held;
}

FuzzGraph smallest_broken(const FuzzGraph& made) {
  for (const graph::NodeId id : made.graph.topological_order()) {
    for (const ValueId output : made.graph.node(id).outputs) {
      FuzzGraph part = made;
      part.graph.outputs = {output};
      // Removes nodes that the result does not need.
      bool removed = true;
      while (removed) {
        removed = false;
        for (const graph::NodeId node : part.graph.live_nodes())
          if (std::ranges::all_of(part.graph.node(node).outputs, [&](ValueId value) {
                return !part.graph.is_output(value) && part.graph.users(value).empty();
              }))
            part.graph.remove_node(node), removed = true;
      }
      std::vector<ValueId> inputs;
      part.inputs.clear();
      for (const ValueId input : part.graph.inputs)
        if (!part.graph.users(input).empty() || part.graph.is_output(input)) {
          inputs.push_back(input);
          part.inputs.emplace(part.graph.value(input).name, made.inputs.at(part.graph.value(input).name));
        }
      part.graph.inputs = inputs;
      const auto file = file_of_opset(part.graph, made.opset);
      if (!file) continue;
      part.file = *file;
      if (!hold_graph(part).broken.empty()) return part;
    }
  }
  return made;
}

}  // namespace dovetail::test
