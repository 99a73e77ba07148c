// The forms of loops, conditions and accesses.
#include <fmt/format.h>

#include "mlir/syntax_parser.h"

namespace dovetail::mlir {

void SyntaxParser::iteration_arguments(const Operation& op) {
  if (is_next("iter_args"))
    fail(position(), fmt::format("{} carries values from iteration to iteration", op.name),
         "keep them in a memref, for example in a memref of one element");
}

void SyntaxParser::map_operands(Operation& op, const Attribute& map) {
  const std::size_t expected_count =
      map.kind == Attribute::Kind::set ? map.set.dims + map.set.symbols : map.map.dims + map.map.symbols;
  const std::size_t before = op.operands.size();
  const auto list = [&](std::string_view close) {
    if (accept(close)) return;
    values(op);
    expect(close, "after the operands of a map");
  };
  if (accept("(")) list(")");
  if (accept("[")) list("]");
  if (op.operands.size() - before != expected_count)
    fail(
        op.at,
        fmt::format("{} operands are given for {} dimensions and symbols", op.operands.size() - before, expected_count),
        "give one for each");
}

// A number, a value, or a map with its operands: an attribute and operands that follow those before.
void SyntaxParser::affine_bound(Operation& op, std::string_view name) {
  Attribute bound;
  bound.kind = Attribute::Kind::map;
  if (accept_word("min") || accept_word("max"))
    fail(position(), "the bound of the loop is a minimum or maximum", "give the loop constant bounds");
  if (is_value()) {
    op.operands.push_back(value());
    bound.map = {0, 1, {affine_operand(0)}};
  } else if (peek() == '#' || is_next("affine_map")) {
    bound = attribute();
    if (bound.kind != Attribute::Kind::map || bound.map.results.size() != 1)
      fail(op.at, "the bound is not a map with one result", "give the loop constant bounds");
    map_operands(op, bound);
  } else {
    bound.map = {0, 0, {affine_constant(integer("a bound"))}};
  }
  op.attributes[std::string(name)] = std::move(bound);
}

void SyntaxParser::affine_for(Operation& op) {
  std::pair<Operand, Type> var{value(), {}};
  var.second.kind = Type::Kind::index;
  expect("=", "after the loop's variable");
  affine_bound(op, "lowerBoundMap");
  const std::size_t lower = op.operands.size();
  if (!accept_word("to")) expected("\"to\" after the lower bound");
  affine_bound(op, "upperBoundMap");
  Attribute segments;
  segments.kind = Attribute::Kind::array;
  segments.elements = {integer_attribute(static_cast<std::int64_t>(lower)),
                       integer_attribute(static_cast<std::int64_t>(op.operands.size() - lower)), integer_attribute(0)};
  op.attributes["operandSegmentSizes"] = std::move(segments);
  op.attributes["step"] = integer_attribute(accept_word("step") ? integer("the step") : 1);
  iteration_arguments(op);
  op.regions.push_back(region({var}));
  optional_attributes(op);
}

void SyntaxParser::affine_parallel(Operation& op) {
  std::vector<std::pair<Operand, Type>> vars;
  expect("(", "before the loops' variables");
  if (!accept(")")) {
    do {
      vars.emplace_back(value(), Type{});
      vars.back().second.kind = Type::Kind::index;
    } while (accept(","));
    expect(")", "after the loops' variables");
  }
  const auto bounds = [&](std::string_view name) {
    Attribute map;
    map.kind = Attribute::Kind::map;
    expect("(", "before the bounds");
    std::vector<Operand> operands;
    do map.map.results.push_back(affine_sum(nullptr, &operands));
    while (accept(","));
    expect(")", "after the bounds");
    map.map.symbols = operands.size();
    if (!operands.empty()) fail(op.at, "the bounds of affine.parallel are not constants", "give constant bounds");
    op.attributes[std::string(name)] = std::move(map);
  };
  expect("=", "after the loops' variables");
  bounds("lowerBoundsMap");
  if (!accept_word("to")) expected("\"to\" after the lower bounds");
  bounds("upperBoundsMap");
  Attribute steps;
  steps.kind = Attribute::Kind::array;
  if (accept_word("step")) {
    expect("(", "before the steps");
    do steps.elements.push_back(integer_attribute(integer("a step")));
    while (accept(","));
    expect(")", "after the steps");
  } else {
    steps.elements.assign(vars.size(), integer_attribute(1));
  }
  op.attributes["steps"] = std::move(steps);
  if (is_next("reduce")) fail(op.at, "affine.parallel reduces values", "accumulate in a memref");
  op.regions.push_back(region(std::move(vars)));
  optional_attributes(op);
}

void SyntaxParser::affine_if(Operation& op) {
  Attribute condition = attribute();
  if (condition.kind != Attribute::Kind::set) fail(op.at, "the condition is not a set", "write affine_set<...>");
  map_operands(op, condition);
  op.attributes["condition"] = std::move(condition);
  if (accept("->")) op.result_types = results_list();
  op.regions.push_back(region());
  op.regions.push_back(accept_word("else") ? region() : SyntaxRegion{});
  optional_attributes(op);
}

void SyntaxParser::affine_apply(Operation& op) {
  Attribute map = attribute();
  if (map.kind != Attribute::Kind::map) fail(op.at, "the operation has no map", "write affine_map<...>");
  map_operands(op, map);
  op.attributes["map"] = std::move(map);
  optional_attributes(op);
  op.result_types.emplace_back();
  op.result_types.back().kind = Type::Kind::index;
}

// %memref[indices]; the operands are the stored value, the memref, and the operands of the map, which is an attribute.
void SyntaxParser::indexed_access(Operation& op, bool stores) {
  if (stores) {
    op.operands.push_back(value());
    expect(",", "after the stored value");
  }
  op.operands.push_back(value());
  expect("[", "before the indices");
  if (op.name.starts_with("memref.")) {
    values(op);
  } else {
    Attribute map;
    map.kind = Attribute::Kind::map;
    std::vector<Operand> operands;
    if (!is_next("]")) {
      do map.map.results.push_back(affine_sum(nullptr, &operands));
      while (accept(","));
    }
    map.map.dims = operands.size();
    op.operands.insert(op.operands.end(), operands.begin(), operands.end());
    op.attributes["map"] = std::move(map);
  }
  expect("]", "after the indices");
  optional_attributes(op);
  colon_types(op);
  if (!stores) op.result_types = {op.operand_types.back()};
}

void SyntaxParser::scf_for(Operation& op) {
  std::pair<Operand, Type> var{value(), {}};
  var.second.kind = Type::Kind::index;
  expect("=", "after the loop's variable");
  op.operands.push_back(value());
  if (!accept_word("to")) expected("\"to\" after the lower bound");
  op.operands.push_back(value());
  if (!accept_word("step")) expected("\"step\" after the upper bound");
  op.operands.push_back(value());
  iteration_arguments(op);
  if (accept(":")) var.second = type();
  op.regions.push_back(region({var}));
  optional_attributes(op);
}

void SyntaxParser::scf_parallel(Operation& op) {
  std::vector<std::pair<Operand, Type>> vars;
  expect("(", "before the loops' variables");
  do {
    vars.emplace_back(value(), Type{});
    vars.back().second.kind = Type::Kind::index;
  } while (accept(","));
  expect(")", "after the loops' variables");
  const auto bounds = [&] {
    expect("(", "before the bounds");
    values(op);
    expect(")", "after the bounds");
  };
  expect("=", "after the loops' variables");
  bounds();
  if (!accept_word("to")) expected("\"to\" after the lower bounds");
  bounds();
  if (!accept_word("step")) expected("\"step\" after the upper bounds");
  bounds();
  if (is_next("init")) fail(op.at, "scf.parallel reduces values", "accumulate in a memref");
  op.regions.push_back(region(std::move(vars)));
  optional_attributes(op);
}

void SyntaxParser::scf_if(Operation& op) {
  op.operands.push_back(value());
  if (accept("->")) op.result_types = results_list();
  op.regions.push_back(region());
  op.regions.push_back(accept_word("else") ? region() : SyntaxRegion{});
  optional_attributes(op);
}

void SyntaxParser::execute_region(Operation& op) {
  if (accept("->")) op.result_types = results_list();
  accept_word("no_inline");
  op.regions.push_back(region());
  optional_attributes(op);
}

}  // namespace dovetail::mlir
