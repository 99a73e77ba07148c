#include "runtime/operand_names.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/tensor_at.h"

namespace dovetail::runtime {

namespace {

using bundle::TensorIndex;

// The tensor at the end of the chain of views and reshapes: same bytes, possibly another shape.
TensorIndex viewed(const bundle::Bundle& bundle, TensorIndex index) {
  while (tensor_at(bundle, index).view_of) index = *tensor_at(bundle, index).view_of;
  return index;
}
std::string name_of(const bundle::Bundle& bundle, TensorIndex index) {
  const bundle::Tensor& tensor = tensor_at(bundle, index);
  return tensor.logical.empty() ? tensor.name : tensor.logical;
}
bool is_input(const bundle::Bundle& bundle, TensorIndex index) {
  return std::ranges::find(bundle.inputs, viewed(bundle, index)) != bundle.inputs.end();
}

// The number in an operand name at the beginning of the text: "in7" gives 7. nullopt if the name continues, as in
// "in7x".
struct OperandName {
  std::size_t operand, bytes;
};
std::optional<OperandName> operand_name(std::string_view text) {
  if (!text.starts_with("in")) return std::nullopt;
  std::size_t operand = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), operand);
  const auto bytes = static_cast<std::size_t>(end - text.data());
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  if (error != std::errc{} || (bytes < text.size() && is_word(text[bytes]))) return std::nullopt;
  return OperandName{operand, bytes};
}

// The inputs of the model from which an integer tensor was computed through integers only.
void collect_inputs(const bundle::Bundle& bundle, TensorIndex index, std::set<TensorIndex>& seen,
                    std::vector<std::string>& names) {
  if (!is_integer(tensor_at(bundle, index).dtype) || !seen.insert(viewed(bundle, index)).second) return;
  if (is_input(bundle, index)) names.push_back(name_of(bundle, viewed(bundle, index)));
  for (const bundle::Step& step : bundle.steps)
    if (std::ranges::find(step.results, viewed(bundle, index)) != step.results.end())
      for (const TensorIndex argument : step.arguments) collect_inputs(bundle, argument, seen, names);
}

std::string sources_text(const bundle::Bundle& bundle, const bundle::Step& step, std::optional<std::size_t> indexed) {
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < step.arguments.size(); ++i) {
    const TensorIndex argument = step.arguments[i];
    if (i == indexed || !is_integer(tensor_at(bundle, argument).dtype)) continue;
    std::string text = name_of(bundle, argument);
    std::set<TensorIndex> seen;
    std::vector<std::string> inputs;
    collect_inputs(bundle, argument, seen, inputs);
    if (is_input(bundle, argument)) text += " (an input of the model)";
    else if (!inputs.empty())
      text += fmt::format(" (computed from the model's input{} {})", inputs.size() == 1 ? "" : "s",
                          fmt::join(inputs, ", "));
    else if (tensor_at(bundle, argument).constant) text += " (a constant of the model)";
    sources.push_back(std::move(text));
  }
  return sources.empty() ? "" : fmt::format("; the indices come from {}", fmt::join(sources, ", "));
}

}  // namespace

Diagnostics with_operand_names(Diagnostics problems, const bundle::Bundle& bundle, const bundle::Step& step) {
  for (Diagnostic& problem : problems) {
    std::string why;
    std::optional<std::size_t> indexed;
    for (std::size_t at = 0; at < problem.why.size();) {
      const std::string_view rest = std::string_view(problem.why).substr(at);
      const bool begins = why.empty() || std::isalnum(static_cast<unsigned char>(why.back())) == 0;
      const auto operand = begins ? operand_name(rest) : std::nullopt;
      if (!operand || operand->operand >= step.arguments.size()) {
        why += rest.front(), ++at;
        continue;
      }
      if (!indexed) indexed = operand->operand;
      why += name_of(bundle, step.arguments[operand->operand]);
      at += operand->bytes;
    }
    const bool is_index = why.find("index") != why.npos && why.find("is outside") != why.npos;
    if (is_index) why += sources_text(bundle, step, indexed);
    problem.why = std::move(why);
  }
  return problems;
}

}  // namespace dovetail::runtime
