#include "bundle/code/host.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "bundle/code/text.h"
#include "loops/parse.h"
#include "loops/print.h"

namespace dovetail::bundle {

namespace {

std::vector<std::string> check_parameters(const Bundle& bundle, const Step& step, const loops::Program& program) {
  std::vector<std::string> problems;
  std::size_t argument = 0, result = 0;
  for (const loops::Parameter& parameter : program.parameters) {
    const bool output = parameter.role == loops::ParameterRole::output;
    const auto& list = output ? step.results : step.arguments;
    const std::size_t position = output ? result++ : argument++;
    if (position >= list.size()) continue;
    const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(list[position])];
    const loops::BufferNode& buffer = *parameter.buffer;
    if (tensor.dtype != buffer.dtype || tensor.shape != buffer.shape)
      problems.push_back(fmt::format("parameter {} is {}{}, tensor \"{}\" is {}{}", buffer.name, name(buffer.dtype),
                                     to_string(buffer.shape), tensor.name, name(tensor.dtype),
                                     to_string(tensor.shape)));
  }
  if (argument != step.arguments.size() || result != step.results.size())
    problems.push_back(fmt::format("the program has {} arguments and {} results, but the step has {} and {}", argument,
                                   result, step.arguments.size(), step.results.size()));
  return problems;
}

}  // namespace

void encode(const HostCode& code, Step& step) {
  step.target = kHostTarget;
  step.code = text_bytes(loops::to_string(code.program));
}

Result<HostCode> decode_host(const Step& step) {
  DOVETAIL_ASSIGN(loops::Program program, loops::parse_program(code_text(step), code_place(step)));
  return HostCode{std::move(program)};
}

Result<std::vector<CodedStep<HostCode>>> host_steps(const Bundle& bundle) {
  return decode_steps(bundle, kHostTarget, decode_host, [&](const Step& step, const HostCode& code) {
    return check_parameters(bundle, step, code.program);
  });
}

constinit const TargetFacts kHostFacts{.name = kHostTarget,
                                       .device = TargetDevice::interpreter,
                                       .has_clock = false,
                                       .takes_leftovers = true,
                                       .floats_only = false,
                                       .rounds_freely = never,
                                       .operations = nullptr,
                                       .describe = [](const Bundle&, const Step& step) {
                                         return StepDescription{.json = {{"origins", step.origins}}};
                                       }};

}  // namespace dovetail::bundle
