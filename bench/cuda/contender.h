// One way to compute a case on this machine's GPU: targets of the kit, or ONNX Runtime. Each holds its weights and its
// memory on the device for as long as it lives.
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
  double latency_seconds = 0;  // of the whole run as the host sees it: inputs copied in, outputs copied out
  // What the device's events say of all steps together; none: the contender does not tell.
  std::optional<double> kernel_seconds;
};

struct Contender {
  std::string name;
  std::function<Result<Run>()> run;
  std::function<Result<Arrays>()> outputs;    // of a run more
  std::optional<std::uint64_t> device_bytes;  // that the device has less since it was made; none: not known
  std::uint64_t steps = 0, elsewhere = 0;     // of its program; those that the device does not run
  double compile_seconds = 0;                 // nothing of a run
};

struct Targets {
  const char* name;                  // of the contender
  std::vector<std::string> targets;  // as in --target
  bool fused = true;                 // else a kernel or a call for each operator
};
Result<Contender> make_contender(const Case& one, const Targets& targets);

// The device and the libraries, for the result. Error: there is no GPU, no driver or no compiler.
Result<Json> describe_machine();
// Targets of libraries that are not on this machine, and why.
std::vector<std::pair<std::string, std::string>> missing_libraries();

}  // namespace dovetail::bench
