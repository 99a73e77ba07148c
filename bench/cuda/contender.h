// One way to compute a case on this machine's GPU: targets of the kit, or ONNX Runtime. Each keeps its weights and
// memory on the device during its lifetime.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bench/cuda/cases.h"

namespace dovetail::bench {

struct Run {
  double latency_seconds = 0;  // of the whole run on the host, including copies of inputs and outputs
  // Sum over all steps, from the device's events; none: not reported by the contender.
  std::optional<double> kernel_seconds;
};

struct Contender {
  std::string name;
  std::function<Result<Run>()> run;
  std::function<Result<Arrays>()> outputs;    // outputs of an additional run
  std::optional<std::uint64_t> device_bytes;  // memory used on the device; none: not known
  std::uint64_t steps = 0, elsewhere = 0;     // steps of its program; those not run on the device
  double compile_seconds = 0;                 // not part of a run
};

struct Targets {
  const char* name;                  // name of the contender
  std::vector<std::string> targets;  // as in --target
  bool fused = true;                 // otherwise one kernel or call per operator
};
Result<Contender> make_contender(const Case& one, const Targets& targets);

// The device and the libraries, for the result. Error: there is no GPU, no driver or no compiler.
Result<Json> describe_machine();
// Targets of libraries that are not installed on this machine, and why.
std::vector<std::pair<std::string, std::string>> missing_libraries();

}  // namespace dovetail::bench
