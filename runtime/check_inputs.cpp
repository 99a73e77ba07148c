#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/executor.h"

namespace dovetail::runtime {

namespace {

// The input shapes for which the bundle has a program.
std::string shapes_of(const bundle::Bundle& bundle, std::string_view input) {
  std::vector<std::string> shapes;
  const auto add = [&](const bundle::Bundle& program) {
    for (const bundle::TensorIndex index : program.inputs)
      if (const bundle::Tensor& tensor = program.tensors[static_cast<std::size_t>(index)]; tensor.name == input)
        shapes.push_back(to_string(tensor.shape));
  };
  add(bundle);
  for (const bundle::Bundle& other : bundle.other_shapes) add(other);
  return fmt::format("{}", fmt::join(shapes, ", "));
}

}  // namespace

Result<void> check_inputs(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& inputs) {
  const auto is_state = [&](bundle::TensorIndex index) {
    return std::ranges::find(bundle.states, index, &bundle::State::input) != bundle.states.end();
  };
  std::size_t found = 0;
  const auto fits = [&](bundle::TensorIndex index) {
    const bundle::Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
    const auto given = inputs.find(tensor.name);
    if (given == inputs.end()) return is_state(index);
    ++found;
    return given->second.dtype() == tensor.dtype && given->second.shape() == tensor.shape;
  };
  if (std::ranges::all_of(bundle.inputs, fits) && found == inputs.size()) return {};
  Diagnostics problems;
  std::vector<std::string> names;
  for (const bundle::TensorIndex index : bundle.inputs) {
    const bundle::Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
    const std::string expected = fmt::format("{}{}", name(tensor.dtype), to_string(tensor.shape));
    names.push_back(tensor.name);
    const auto given = inputs.find(tensor.name);
    if (given == inputs.end()) {
      if (is_state(index)) continue;
      problems.push_back({"cannot run " + bundle.name, "input " + tensor.name, "the input is missing",
                          fmt::format("give it as {}", expected)});
    } else if (given->second.dtype() != tensor.dtype || given->second.shape() != tensor.shape) {
      problems.push_back({"cannot run " + bundle.name, "input " + tensor.name,
                          fmt::format("the given tensor is {}{}, the model expects {}", name(given->second.dtype()),
                                      to_string(given->second.shape()), expected),
                          bundle.other_shapes.empty()
                              ? "convert or reshape the tensor"
                              : "the bundle has programs for " + shapes_of(bundle, tensor.name)});
    }
  }
  for (const auto& [given, array] : inputs)
    if (std::find(names.begin(), names.end(), given) == names.end())
      problems.push_back({"cannot run " + bundle.name, "input " + given, "the model has no input of that name",
                          names.empty() ? "it has no inputs" : fmt::format("its inputs: {}", fmt::join(names, ", "))});
  return problems;
}

}  // namespace dovetail::runtime
