#include "tests/machines/try_net.h"

#include <algorithm>
#include <cctype>
#include <exception>

#include <fmt/format.h>

#include "compiler/pipeline.h"
#include "explore/check/reference_check.h"
#include "runtime/executor.h"
#include "tests/targets.h"

namespace dovetail::test {
namespace {

std::string without_numbers(std::string_view text) {
  std::string result;
  for (const char each : text)
    if (!std::isdigit(static_cast<unsigned char>(each))) result += each;
    else if (result.empty() || result.back() != '#') result += '#';
  return result;
}

bool equal(const std::map<std::string, NdArray>& values, const std::map<std::string, NdArray>& reference) {
  for (const auto& [name, value] : values)
    if (const auto found = reference.find(name); found != reference.end())
      if (value.shape() != found->second.shape() || !std::ranges::equal(value.bytes(), found->second.bytes()))
        return false;
  return true;
}

// Error: the run fails. Returns the difference from the reference, empty if there is none.
Result<std::string> run(const Net& net, const bundle::Bundle& bundle, const std::string& engine) {
  DOVETAIL_ASSIGN(const runtime::MakeSimulator factory, runtime::simulator_factory(engine));
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(bundle, factory));
  DOVETAIL_ASSIGN(const runtime::RunResult result, executor.run(net.inputs, {.keep_tensors = true}));
  if (result.outputs.empty()) return std::string("there are no outputs");
  if (equal(result.outputs, net.reference) && equal(result.tensors, net.reference)) return std::string();
  DOVETAIL_ASSIGN(const explore::ReferenceCheck check,
                  explore::check_against_reference(net.integer, net.inputs, result, 1e-5));
  return check.first.empty() ? "" : to_string(check.first);
}

void attempt(const Net& net, const isa::HardwareConfig& machine, const std::vector<std::string>& engines,
             Attempt& result) {
  CompileOptions options;
  options.available = kit_targets(machine, "interpreter");
  options.targets = {"accel", "cpu"};
  options.offload = Offload::always;
  const auto compiled = compile({net.graph, {}}, options);
  if (!compiled) {
    result.failure = "compile: " + to_string(compiled.errors());
    return;
  }
  for (const NodePlacement& row : compiled->placement) {
    result.accelerated += row.target == "accel";
    for (const Refusal& refusal : row.refused)
      if (refusal.target == "accel") ++result.refused[without_numbers(refusal.why)];
  }
  for (const std::string& engine : engines) {
    const auto difference = run(net, compiled->bundle, engine);
    if (!difference) result.failure = engine + ": " + to_string(difference.errors());
    else if (!difference->empty()) result.failure = engine + " differs: " + *difference;
    if (!result.failure.empty()) return;
  }
}

}  // namespace

Attempt try_net(const Net& net, const isa::HardwareConfig& machine, const std::vector<std::string>& engines) {
  Attempt result;
  try {
    attempt(net, machine, engines, result);
  } catch (const std::exception& error) {
    result.failure = fmt::format("exception: {}", error.what());
  }
  return result;
}

}  // namespace dovetail::test
