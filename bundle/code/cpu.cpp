#include "bundle/code/cpu.h"

#include "bundle/checked_json.h"
#include "bundle/code/text.h"

namespace dovetail::bundle {

namespace {

constexpr std::uint64_t kMostWorkspace = std::uint64_t{1} << 40;

}  // namespace

void encode(const CpuCode& code, Step& step) {
  step.target = kCpuTarget;
  step.code = json_bytes({{"symbol", code.symbol},
                          {"shared_bytes", code.shared_bytes},
                          {"local_bytes", code.local_bytes},
                          {"operations", code.operations},
                          {"steps", code.steps},
                          {"integer", code.integer},
                          {"code_bytes", code.code_bytes},
                          {"failures", code.failures}});
}

Result<CpuCode> decode_cpu(const Step& step) {
  const std::string place = code_place(step);
  DOVETAIL_ASSIGN(const Json json, parse_json(code_text(step), place));
  Diagnostics errors;
  const CheckedJson head(json, {place, "head"}, errors);
  CpuCode code;
  code.symbol = head.at("symbol").text();
  code.shared_bytes = head.at("shared_bytes").natural(kMostWorkspace);
  code.local_bytes = head.at("local_bytes").natural(kMostWorkspace);
  code.operations = head.at("operations").natural();
  const auto steps = head.find("steps");  // missing in bundles of older kits
  code.steps = steps ? steps->natural() : code.operations;
  code.integer = head.at("integer").flag();
  code.code_bytes = head.at("code_bytes").natural();
  code.failures = head.at("failures").texts();
  if (!errors.empty()) return errors;
  return code;
}

Result<std::vector<CodedStep<CpuCode>>> cpu_steps(const Bundle& bundle) {
  return decode_steps(bundle, kCpuTarget, decode_cpu, [&](const Step&, const CpuCode& code) {
    std::vector<std::string> problems;
    if (find_module(bundle, kCpuTarget) == nullptr)
      problems.emplace_back("it is a kernel, but the bundle has no shared object");
    if (code.symbol.empty()) problems.emplace_back("it names no kernel");
    return problems;
  });
}

// Kernels may add floats in another order than the reference.
constinit const TargetFacts kCpuFacts{
    .name = kCpuTarget,
    .device = TargetDevice::processor,
    .has_clock = false,
    .takes_leftovers = true,
    .floats_only = false,
    .rounds_freely = always,
    .operations = [](const Step& step) { return decode_cpu(step).value().operations; },
    .describe = [](const Bundle&, const Step& step) -> StepDescription {
      const CpuCode code = decode_cpu(step).value();
      return {.json = {{"kernel", code.symbol}, {"operations", code.operations}, {"origins", step.origins}}};
    }};

}  // namespace dovetail::bundle
