// What `dovetail profile` says of steps on a GPU: rates beside ceilings that are measured on the device, and what each
// kernel takes of a processor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "bundle/bundle.h"
#include "cli/latency.h"
#include "explore/measure/gpu_peak.h"
#include "runtime/device.h"
#include "runtime/executor.h"

namespace dovetail::cli {

struct GpuStep {
  std::uint64_t operations = 0;               // of its nodes, a multiply-add counted as two
  std::uint64_t bytes = 0;                    // of its arguments and results, each once
  std::string numbers = {};                   // the type of its first argument: whose ceiling it is held against
  std::vector<runtime::KernelFacts> kernels;  // of ours; a library's are its own affair
};

class GpuProfile {
 public:
  // Of the program that has run last. Measures the ceilings if it has steps on the GPU.
  static Result<GpuProfile> make(const runtime::Executor& executor);

  bool has_steps() const { return !steps_.empty(); }
  bool has_step(std::size_t step) const { return steps_.contains(step); }
  // Two tables; empty without steps. `times`: of all steps of the program.
  std::string text(std::span<const StepTime> times) const;
  Json ceilings() const;
  // Of a step; null where it runs elsewhere.
  Json json(std::size_t step, double seconds) const;

 private:
  std::map<std::size_t, GpuStep> steps_;
  std::optional<explore::GpuPeak> peak_;
  std::string why_;  // there are no ceilings
};

}  // namespace dovetail::cli
