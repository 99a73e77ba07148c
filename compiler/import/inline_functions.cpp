#include "compiler/import/inline_functions.h"

#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"
#include "compiler/import/messages.h"
#include "compiler/import/operator_versions.h"

namespace dovetail::import {
namespace {

// Nested calls multiply: a few short functions must not become more nodes than any real model has.
constexpr std::size_t kMostNodes = 1'000'000;
constexpr int kDeepestCall = 64;

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

template <typename Message>
std::int64_t default_opset(const Message& message) {
  std::int64_t opset = 0;
  for (const onnx::OperatorSet& set : message.opset_imports)
    if (is_default_domain(set.domain)) opset = set.version;
  return opset;
}

using Nodes = std::vector<onnx::Node>;
using Names = std::unordered_map<std::string, std::string>;           // graph names of a function's values
using Attributes = std::unordered_map<std::string, onnx::Attribute>;  // attributes of a call

class Inliner {
 public:
  Inliner(onnx::Model& model, const std::string& where)
      : where_(where), opset_(default_opset(model)), functions_(std::exchange(model.functions, {})) {
    for (const onnx::Function& function : functions_)
      by_name_.emplace(std::tuple(function.domain, function.name, function.overload), &function);
  }

  Result<void> run(onnx::Graph& graph) {
    Nodes nodes = std::exchange(graph.nodes, {});
    out_ = &graph.nodes;
    for (onnx::Node& node : nodes) DOVETAIL_TRY(add(std::move(node), 0));
    return {};
  }

 private:
  Diagnostic refused(const onnx::Node& call, std::string why, std::string hint) const {
    return {"cannot import the model",
            fmt::format("{}, function {} called by node {}", where_, printable(call.op_type), printable(call.name)),
            std::move(why), std::move(hint)};
  }

  Result<void> add(onnx::Node&& node, int depth) {
    const auto found = by_name_.find(std::tuple(node.domain, node.op_type, node.overload));
    if (found != by_name_.end()) return expand(node, *found->second, depth);
    if (out_->size() >= kMostNodes)
      return refused(node, fmt::format("the functions expand to more than {} nodes", kMostNodes),
                     "export the model without functions");
    out_->push_back(std::move(node));
    return {};
  }

  Result<void> expand(const onnx::Node& call, const onnx::Function& function, int depth) {
    if (depth >= kDeepestCall)
      return refused(call, fmt::format("the function's calls are nested more than {} deep", kDeepestCall),
                     "a function must not call itself");
    if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size())
      return refused(
          call,
          fmt::format("the call has {} inputs and {} outputs, but the function {} and {}", call.inputs.size(),
                      call.outputs.size(), function.inputs.size(), function.outputs.size()),
          "export the model again");
    DOVETAIL_TRY(check_versions(call, function));
    const std::string prefix =
        fmt::format("{}/{}.{}/", call.name.empty() ? call.op_type : call.name, function.name, ++calls_);
    Names names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    for (std::size_t i = 0; i < function.outputs.size(); ++i) {
      const bool used = i < call.outputs.size() && !call.outputs[i].empty();
      if (!names.emplace(function.outputs[i], used ? call.outputs[i] : prefix + function.outputs[i]).second)
        return refused(call, fmt::format("output {} is defined twice", printable(function.outputs[i])),
                       "put an Identity between an input and the output");
    }
    Attributes attributes;
    for (const onnx::Attribute& attribute : function.attributes) attributes[attribute.name] = attribute;
    for (const onnx::Attribute& attribute : call.attributes) attributes[attribute.name] = attribute;
    for (const onnx::Node& node : function.nodes) {
      onnx::Node inlined = node;
      inlined.name = prefix + (node.name.empty() ? node.op_type : node.name);
      rename(inlined, names, prefix);
      substitute(inlined, attributes);
      DOVETAIL_TRY(add(std::move(inlined), depth + 1));
    }
    return {};
  }

  static void rename(onnx::Node& node, Names& names, const std::string& prefix) {
    const auto rename_one = [&](std::string& name) {
      if (!name.empty()) name = names.try_emplace(name, prefix + name).first->second;
    };
    for (std::string& input : node.inputs) rename_one(input);
    for (std::string& output : node.outputs) rename_one(output);
  }

  // Attributes that refer to an attribute of the call take its value, or are removed if the call has none.
  static void substitute(onnx::Node& node, const Attributes& attributes) {
    std::vector<onnx::Attribute> kept;
    for (onnx::Attribute& attribute : node.attributes) {
      if (attribute.ref_attr_name.empty()) {
        kept.push_back(std::move(attribute));
      } else if (const auto value = attributes.find(attribute.ref_attr_name); value != attributes.end()) {
        kept.push_back(value->second);
        kept.back().name = attribute.name;
      }
    }
    node.attributes = std::move(kept);
  }

  // Nodes of a function have the function's own operator set versions.
  Result<void> check_versions(const onnx::Node& call, const onnx::Function& function) const {
    const std::int64_t own = default_opset(function);
    if (own == 0 || own == opset_) return {};
    for (const onnx::Node& node : function.nodes) {
      const OperatorVersions* versions = is_default_domain(node.domain) ? find_versions(node.op_type) : nullptr;
      if (versions == nullptr || version_at(*versions, own) == version_at(*versions, opset_)) continue;
      return refused(
          call,
          fmt::format("the function uses operator set {}, but the model uses {}, and {} differs between them", own,
                      opset_, printable(node.op_type)),
          "export both with the same operator set");
    }
    return {};
  }

  const std::string& where_;
  const std::int64_t opset_;
  const std::vector<onnx::Function> functions_;
  std::map<std::tuple<std::string, std::string, std::string>, const onnx::Function*> by_name_;
  Nodes* out_ = nullptr;
  int calls_ = 0;
};

}  // namespace

Result<void> inline_functions(onnx::Model& model, const std::string& where) {
  if (model.functions.empty() || !model.graph) return {};
  return Inliner(model, where).run(*model.graph);
}

}  // namespace dovetail::import
