// A node of a given operator, with operands and attributes drawn from those that its signature allows.
#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "tests/generator_graphs/draw.h"
#include "tests/generator_graphs/fitting_operands.h"

namespace dovetail::test {

class RandomNode {
 public:
  // Extents of all shapes are drawn from `extents`.
  RandomNode(const ops::OpDef& def, std::uint64_t seed, std::vector<std::int64_t> extents)
      : def_(def), draw_(seed), extents_(std::move(extents)) {}

  // Values that the node may read instead of inputs, where its operator accepts their type.
  void offer(std::vector<graph::ValueId> values) { offered_ = std::move(values); }

  // Adds the node to `graph`, its other operands as inputs named `prefix`0, ... and constants, its results as outputs.
  // Returns false and leaves the graph unchanged where the operator refuses the draw, which is the usual case.
  bool add_to(graph::Graph& graph, const std::string& prefix) {
    graph::Graph candidate = graph;
    fitting_ = fitting_operands(def_.op);
    if (fitting_ && draw_.one_in(4)) fitting_ = nullptr;
    fitted_.clear();
    graph::Node node;
    node.name = prefix;
    node.op = std::string(def_.op);
    node.origins = {prefix};
    const Shape common =
        offered_.empty() || draw_.one_in(4) ? shape() : candidate.value(draw_.one_of(offered_)).type.shape;
    for (std::size_t i = 0; i < def_.signature.inputs.size(); ++i) {
      const ops::InputRule& rule = def_.signature.inputs[i];
      if (rule.presence == ops::Presence::optional && (draw_.coin() || !fits(i))) {
        node.inputs.emplace_back();
        continue;
      }
      const std::int64_t times = rule.presence == ops::Presence::variadic ? draw_.between(1, 3) : 1;
      for (std::int64_t k = 0; k < times; ++k) node.inputs.push_back(operand(candidate, prefix, i, rule, common));
    }
    while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
    for (const ops::AttributeRule& rule : def_.signature.attributes)
      if (fitting_ && fitting_->attributes.contains(rule.name))
        node.attributes[std::string(rule.name)] = fitting_attribute(rule);
      else if (rule.presence == ops::Presence::required || draw_.one_in(fitting_ ? 12 : 4))
        node.attributes[std::string(rule.name)] = attribute(rule, common);
    const std::int64_t outputs = draw_.between(1, std::max(1, def_.signature.max_outputs));
    for (std::int64_t i = 0; i < outputs; ++i) {
      node.outputs.push_back(candidate.add_value(fmt::format("{}_y{}", prefix, i), {}));
      candidate.outputs.push_back(node.outputs.back());
    }
    const graph::NodeId id = candidate.add_node(std::move(node));
    if (!ops::infer(candidate, id) || !ops::define(candidate, id)) return false;
    graph = std::move(candidate);
    return true;
  }

  NdArray values(const graph::TensorType& type) {
    NdArray array(type.dtype, type.shape);
    for (std::int64_t i = 0; i < array.count(); ++i) {
      if (is_floating(type.dtype)) array.set_double(i, static_cast<double>(draw_.between(-64, 64)) / 16);
      else array.set_int64(i, draw_.between(0, type.dtype == DType::boolean ? 1 : 3));
    }
    return array;
  }

 private:
  Shape shape() {
    Shape drawn(static_cast<std::size_t>(draw_.between(0, 4)));
    for (std::int64_t& extent : drawn) extent = draw_.one_of(extents_);
    return drawn;
  }
  // Often the common shape, or one number for each channel of it.
  Shape operand_shape(const Shape& common) {
    switch (draw_.between(0, 7)) {
      case 0: return shape();
      case 1: return common.size() > 1 ? Shape{common[1]} : Shape{};
      case 2: return common.empty() ? Shape{} : Shape{common[0]};
      case 3: return common.empty() ? Shape{} : Shape{common.back()};
      case 4: return Shape{256};  // a table
      default: return common;
    }
  }
  DType type(ops::DTypeSet allowed) {
    for (const DType likely : {DType::float32, DType::int8, DType::int64})
      if (ops::contains(allowed, likely) && draw_.between(0, 2) != 0) return likely;
    while (true)
      if (const DType any = draw_.one_of(std::vector<DTypeInfo>(std::begin(kDTypes), std::end(kDTypes))).dtype;
          ops::contains(allowed, any))
        return any;
  }
  std::vector<std::int64_t> ints(const Shape& like) {
    std::vector<std::int64_t> drawn(draw_.between(0, 2) ? like.size() : static_cast<std::size_t>(draw_.between(0, 8)));
    for (std::int64_t& value : drawn) value = draw_.coin() ? draw_.one_of(extents_) : draw_.between(0, 3);
    return drawn;
  }

  // Two times in three one of the offered values that the rule allows, if there is any.
  graph::ValueId offered(const graph::Graph& graph, const ops::InputRule& rule) {
    if (offered_.empty() || draw_.one_in(3)) return {};
    const auto given = types_.find(rule.variable);
    std::vector<graph::ValueId> allowed;
    for (const graph::ValueId value : offered_)
      if (const DType dtype = graph.value(value).type.dtype;
          ops::contains(rule.types, dtype) && (rule.variable == 0 || given == types_.end() || given->second == dtype))
        allowed.push_back(value);
    if (allowed.empty()) return {};
    const graph::ValueId value = draw_.one_of(allowed);
    if (rule.variable != 0) types_.try_emplace(rule.variable, graph.value(value).type.dtype);
    return value;
  }
  // Whether the operand may be present; with fitting operands, only those of the table are.
  bool fits(std::size_t position) const { return !fitting_ || position < fitting_->operands.size(); }
  // The numbers of a row of the table: "2 4h".
  std::vector<std::int64_t> fitting_numbers(std::string_view words) {
    std::vector<std::int64_t> numbers;
    std::istringstream stream{std::string(words)};
    for (std::string word; stream >> word;) {
      std::int64_t number = std::isdigit(static_cast<unsigned char>(word[0])) ? word[0] - '0' : 1;
      if (const char letter = word.back(); std::isalpha(static_cast<unsigned char>(letter))) {
        if (!fitted_.contains(letter)) fitted_[letter] = draw_.one_of(extents_);
        number *= fitted_[letter];
      }
      numbers.push_back(number);
    }
    return numbers;
  }
  graph::Attribute fitting_attribute(const ops::AttributeRule& rule) {
    std::vector<std::int64_t> numbers = fitting_numbers(fitting_->attributes.at(rule.name));
    if (rule.kind == ops::AttributeKind::integer) return numbers.front();
    return numbers;
  }
  graph::ValueId fitting_operand(graph::Graph& graph, const std::string& name, std::size_t position, DType dtype) {
    const std::string_view words = fitting_->operands[position];
    const bool list = words[0] == '!';
    const std::vector<std::int64_t> numbers = fitting_numbers(list ? words.substr(1) : words);
    if (list) {
      NdArray array(dtype, {static_cast<std::int64_t>(numbers.size())});
      for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, numbers[static_cast<std::size_t>(i)]);
      return graph.add_constant(name, std::move(array));
    }
    graph.inputs.push_back(graph.add_value(name, {dtype, numbers}));
    return graph.inputs.back();
  }

  graph::ValueId operand(graph::Graph& graph, const std::string& prefix, std::size_t position,
                         const ops::InputRule& rule, const Shape& common) {
    const std::string name = fmt::format("{}_x{}", prefix, position);
    const auto& constants = def_.compile_time_inputs;
    const bool compile_time =
        std::find(constants.begin(), constants.end(), static_cast<int>(position)) != constants.end();
    if (const graph::ValueId value = compile_time || fitting_ ? graph::ValueId{} : offered(graph, rule); value.valid())
      return value;
    DType dtype = type(rule.types);
    if (rule.variable != 0) dtype = types_.try_emplace(rule.variable, dtype).first->second;
    if (fitting_ && fits(position)) return fitting_operand(graph, name, position, dtype);
    if (compile_time) {
      const std::vector<std::int64_t> drawn = ints(common);
      NdArray array(dtype, draw_.between(0, 3) ? Shape{static_cast<std::int64_t>(drawn.size())} : Shape{});
      for (std::int64_t i = 0; i < array.count(); ++i)
        array.set_int64(i, drawn.empty() ? 0 : drawn[static_cast<std::size_t>(i)]);
      return graph.add_constant(name, std::move(array));
    }
    const graph::TensorType drawn{dtype, operand_shape(common)};
    if (draw_.between(0, 3) == 0) return graph.add_constant(name, values(drawn));
    graph.inputs.push_back(graph.add_value(name, drawn));
    return graph.inputs.back();
  }

  graph::Attribute attribute(const ops::AttributeRule& rule, const Shape& common) {
    static const std::vector<std::string> kTexts{
        "SAME_UPPER", "SAME_LOWER", "VALID", "linear", "nearest",       "cubic", "constant", "edge", "none",
        "asymmetric", "floor",      "DCR",   "CRD",    "align_corners", "tanh",  "LEFT",     "RIGHT"};
    static const std::vector<std::string> kEquations{"...",     "...,...", "ij->ji",         "ij,jk",
                                                     "i,ij->j", "ii->i",   "...i,...i->...", "a,b,c->abc"};
    switch (rule.kind) {
      case ops::AttributeKind::integer: return draw_.between(-1, 3);
      case ops::AttributeKind::real: return 0.5;
      case ops::AttributeKind::text: return draw_.one_of(rule.name == "equation" ? kEquations : kTexts);
      case ops::AttributeKind::integers: return ints(common);
      case ops::AttributeKind::reals: return std::vector<double>{0.5, 2};
      case ops::AttributeKind::texts: return std::vector<std::string>{"Tanh"};
      case ops::AttributeKind::tensor: return values({DType::float32, {draw_.one_of(extents_)}});
    }
    return std::int64_t{0};
  }

  const ops::OpDef& def_;
  Draw draw_;
  std::vector<std::int64_t> extents_;
  std::vector<graph::ValueId> offered_;
  std::map<char, DType> types_;  // by variable of the signature
  const FittingOperands* fitting_ = nullptr;
  std::map<char, std::int64_t> fitted_;  // the extents of its letters
};

}  // namespace dovetail::test
