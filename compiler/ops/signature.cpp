#include "compiler/ops/signature.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include <fmt/format.h>

#include "compiler/ops/op.h"

namespace dovetail::ops {
namespace {

constexpr std::array<std::string_view, 7> kKindNames{
    "an integer", "a number", "a string", "a list of integers", "a list of numbers", "a list of strings", "a tensor"};

std::string names_of(DTypeSet set) {
  std::string text;
  for (const DTypeInfo& row : kDTypes)
    if (contains(set, row.dtype)) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

bool repeats_last(const Signature& signature) {
  const Presence last = signature.inputs.back().presence;
  return last == Presence::variadic || last == Presence::any_number;
}

const InputRule* rule_of(const Signature& signature, std::size_t position) {
  if (position < signature.inputs.size()) return &signature.inputs[position];
  const bool repeats = !signature.inputs.empty() && repeats_last(signature);
  return repeats ? &signature.inputs.back() : nullptr;
}

void check_inputs(const OpDef& def, const Operands& operands, Diagnostics& errors) {
  const Signature& signature = def.signature;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i)
    if (signature.inputs[i].presence != Presence::optional && signature.inputs[i].presence != Presence::any_number &&
        !operands.has(i))
      errors.push_back(refuse(operands,
                              fmt::format("input {} ({}) is required, but the node has only {} inputs", i,
                                          signature.inputs[i].name, operands.count()),
                              "give the input, or fix the exporter"));
  std::map<char, std::size_t> first_of;  // the input that determined each type variable
  for (std::size_t i = 0; i < operands.count(); ++i) {
    const InputRule* rule = rule_of(signature, i);
    if (rule == nullptr) {
      errors.push_back(refuse(operands,
                              fmt::format("the node has {} inputs, but the operator accepts at most {}",
                                          operands.count(), signature.inputs.size()),
                              "remove the extra inputs"));
      return;
    }
    if (!operands.has(i)) {
      if (i >= signature.inputs.size())  // the first input of a variadic list is checked above
        errors.push_back(refuse(operands, fmt::format("input {} ({}) is omitted within a variadic list", i, rule->name),
                                "give the input, or shorten the list"));
      continue;
    }
    const DType dtype = operands.type(i).dtype;
    if (!contains(rule->types, dtype)) {
      errors.push_back(refuse(operands,
                              fmt::format("input {} ({}) has type {}, but must be one of {}", i, rule->name,
                                          name(dtype), names_of(rule->types)),
                              "insert a Cast before the node"));
    } else if (rule->variable != 0) {
      const std::size_t first = first_of.try_emplace(rule->variable, i).first->second;
      if (operands.type(first).dtype != dtype)
        errors.push_back(refuse(operands,
                                fmt::format("input {} ({}) has type {}, but input {} has {}; they must be equal", i,
                                            rule->name, name(dtype), first, name(operands.type(first).dtype)),
                                "insert a Cast before the node"));
    }
  }
  for (const int i : def.compile_time_inputs) {
    const auto position = static_cast<std::size_t>(i);
    if (operands.has(position) && operands.constant(position) == nullptr)
      errors.push_back(refuse(operands,
                              fmt::format("input {} ({}) is computed at run time, but shapes are fixed at compile time",
                                          i, rule_of(signature, position)->name),
                              "make it an initializer, or fold constants first"));
  }
}

void check_attributes(const OpDef& def, const Operands& operands, Diagnostics& errors) {
  const std::vector<AttributeRule>& rules = def.signature.attributes;
  for (const auto& [attribute, value] : operands.node.attributes) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&, &attribute = attribute](const AttributeRule& row) {
      return row.name == attribute;
    });
    if (rule == rules.end()) {
      errors.push_back(refuse(operands, fmt::format("this operator has no attribute {}", attribute),
                              "remove the attribute, or implement it in compiler/ops"));
    } else if (value.index() != static_cast<std::size_t>(rule->kind)) {
      errors.push_back(refuse(operands,
                              fmt::format("attribute {} is {}, expected {}", attribute, kKindNames[value.index()],
                                          kKindNames[static_cast<std::size_t>(rule->kind)]),
                              "fix the exporter"));
    }
  }
  for (const AttributeRule& rule : rules)
    if (rule.presence == Presence::required && !operands.node.attributes.contains(std::string(rule.name)))
      errors.push_back(refuse(operands, fmt::format("attribute {} is required", rule.name), "fix the exporter"));
}

}  // namespace

Diagnostic refuse(const Operands& operands, std::string why, std::string hint) {
  return {fmt::format("cannot accept {}", operands.node.op), fmt::format("node {}", operands.node.name), std::move(why),
          std::move(hint)};
}

Result<void> check_signature(const OpDef& def, const Operands& operands) {
  Diagnostics errors;
  check_inputs(def, operands, errors);
  check_attributes(def, operands, errors);
  const int outputs = static_cast<int>(operands.node.outputs.size());
  const int max_outputs = def.signature.max_outputs;
  if (outputs == 0 || (max_outputs >= 0 && outputs > max_outputs))
    errors.push_back(refuse(operands,
                            fmt::format("the node has {} outputs, but 1 to {} are supported", outputs, max_outputs),
                            "remove the unused outputs"));
  return errors;
}

}  // namespace dovetail::ops
