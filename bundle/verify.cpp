// What must hold of a bundle before it is written or run. Accelerator steps: bundle/verify_accel.cpp.
#include <set>
#include <string>

#include <fmt/format.h>

#include "bundle/bundle.h"
#include "bundle/verify_accel.h"

namespace dovetail::bundle {

namespace {

class Verifier {
 public:
  explicit Verifier(const Bundle& bundle) : bundle_(bundle), defined_(bundle.tensors.size(), false) {}

  Diagnostics run() {
    check_tensors();
    for (const TensorIndex input : bundle_.inputs) define(input, "the list of inputs");
    for (std::size_t i = 0; i < bundle_.steps.size(); ++i) {
      step_ = fmt::format("steps[{}]", i);
      std::visit([&](const auto& step) { check(step); }, bundle_.steps[i]);
    }
    step_ = "outputs";
    std::set<TensorIndex> outputs;
    for (const TensorIndex output : bundle_.outputs) {
      use(output, "the list of outputs");
      if (!outputs.insert(output).second) fail(fmt::format("tensor {} is listed twice", tensor_text(output)));
    }
    return std::move(problems_);
  }

 private:
  void fail(std::string why) {
    problems_.push_back({"invalid bundle", step_, std::move(why), "make it again with `dovetail compile`"});
  }
  bool in_range(TensorIndex index) const {
    return index >= 0 && static_cast<std::size_t>(index) < bundle_.tensors.size();
  }
  std::string tensor_text(TensorIndex index) const {
    return in_range(index) ? fmt::format("\"{}\"", bundle_.tensors[static_cast<std::size_t>(index)].name)
                           : fmt::format("{}", index);
  }

  void check_tensors() {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < bundle_.tensors.size(); ++i) {
      const Tensor& tensor = bundle_.tensors[i];
      step_ = fmt::format("tensors[{}]", i);
      if (tensor.name.empty()) fail("it has no name");
      if (!names.insert(tensor.name).second)
        fail(fmt::format("its name \"{}\" is taken by another tensor", tensor.name));
      for (const std::int64_t extent : tensor.shape)
        if (extent < 0) fail(fmt::format("\"{}\" has the negative extent {}", tensor.name, extent));
      if (!tensor.constant) continue;
      defined_[i] = true;
      if (tensor.constant->dtype() != tensor.dtype || tensor.constant->shape() != tensor.shape)
        fail(fmt::format("\"{}\" is {}{}, its constant {}{}", tensor.name, name(tensor.dtype), to_string(tensor.shape),
                         name(tensor.constant->dtype()), to_string(tensor.constant->shape())));
    }
    step_ = "inputs";
  }

  // Every tensor is defined once, before it is used.
  void define(TensorIndex index, std::string_view by) {
    if (!in_range(index)) return fail(fmt::format("{} names tensor {}, of {}", by, index, bundle_.tensors.size()));
    if (defined_[static_cast<std::size_t>(index)])
      fail(fmt::format("{} defines tensor {}, which is defined already", by, tensor_text(index)));
    defined_[static_cast<std::size_t>(index)] = true;
  }
  void use(TensorIndex index, std::string_view by) {
    if (!in_range(index)) return fail(fmt::format("{} names tensor {}, of {}", by, index, bundle_.tensors.size()));
    if (!defined_[static_cast<std::size_t>(index)])
      fail(fmt::format("{} uses tensor {}, which nothing has computed yet", by, tensor_text(index)));
  }

  void check(const HostStep& step) {
    step_ += fmt::format(" \"{}\"", step.name);
    std::size_t argument = 0, result = 0;
    for (const loops::Parameter& parameter : step.program.parameters) {
      const bool output = parameter.role == loops::ParameterRole::output;
      const auto& list = output ? step.results : step.arguments;
      std::size_t& position = output ? result : argument;
      if (position < list.size()) check_parameter(*parameter.buffer, list[position]);
      ++position;
    }
    if (argument != step.arguments.size() || result != step.results.size())
      fail(fmt::format("its program takes {} arguments and yields {} results, the step has {} and {}", argument, result,
                       step.arguments.size(), step.results.size()));
    for (const TensorIndex index : step.arguments) use(index, "an argument");
    for (const TensorIndex index : step.results) define(index, "a result");
  }

  void check_parameter(const loops::BufferNode& buffer, TensorIndex index) {
    if (!in_range(index)) return;  // told by use or define
    const Tensor& tensor = bundle_.tensors[static_cast<std::size_t>(index)];
    if (tensor.dtype != buffer.dtype || tensor.shape != buffer.shape)
      fail(fmt::format("parameter {} is {}{}, tensor \"{}\" is {}{}", buffer.name, name(buffer.dtype),
                       to_string(buffer.shape), tensor.name, name(tensor.dtype), to_string(tensor.shape)));
  }

  void check(const CpuStep& step) {
    step_ += fmt::format(" \"{}\"", step.name);
    if (!bundle_.cpu) fail("it is a kernel, and the bundle has no shared object");
    if (step.symbol.empty()) fail("it names no kernel");
    for (const TensorIndex index : step.arguments) use(index, "an argument");
    for (const TensorIndex index : step.results) define(index, "a result");
  }

  void check(const ExternStep& step) {
    step_ += fmt::format(" \"{}\"", step.name);
    if (step.device.empty()) fail("it names no device");
    for (const TensorIndex index : step.arguments) use(index, "an argument");
    for (const TensorIndex index : step.results) define(index, "a result");
  }

  void check(const AccelStep& step) {
    step_ += fmt::format(" \"{}\"", step.name);
    for (const Binding& binding : step.inputs) use(binding.tensor, "an input");
    for (const Binding& binding : step.outputs) define(binding.tensor, "an output");
    // Sizes of tensors are needed there: only when all indices are right.
    if (problems_.empty())
      for (std::string& why : verify_accel(bundle_, step)) fail(std::move(why));
  }

  const Bundle& bundle_;
  std::vector<bool> defined_;
  std::string step_;
  Diagnostics problems_;
};

}  // namespace

Result<void> verify(const Bundle& bundle) { return Verifier(bundle).run(); }

}  // namespace dovetail::bundle
