#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/executor.h"

namespace dovetail::runtime {

Result<void> check_inputs(const bundle::Bundle& bundle, const std::map<std::string, NdArray>& inputs) {
  Diagnostics problems;
  std::vector<std::string> names;
  for (const bundle::TensorIndex index : bundle.inputs) {
    const bundle::Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
    const std::string expected = fmt::format("{}{}", name(tensor.dtype), to_string(tensor.shape));
    names.push_back(tensor.name);
    const auto given = inputs.find(tensor.name);
    if (given == inputs.end()) {
      problems.push_back({"cannot run " + bundle.name, "input " + tensor.name, "it is missing",
                          fmt::format("give it as {}", expected)});
    } else if (given->second.dtype() != tensor.dtype || given->second.shape() != tensor.shape) {
      problems.push_back({"cannot run " + bundle.name, "input " + tensor.name,
                          fmt::format("it is {}{}, the model takes {}", name(given->second.dtype()),
                                      to_string(given->second.shape()), expected),
                          "convert or reshape it"});
    }
  }
  for (const auto& [given, array] : inputs)
    if (std::find(names.begin(), names.end(), given) == names.end())
      problems.push_back(
          {"cannot run " + bundle.name, "input " + given, "the model has no input of that name",
           names.empty() ? "it has none at all" : fmt::format("its inputs: {}", fmt::join(names, ", "))});
  return problems;
}

}  // namespace dovetail::runtime
