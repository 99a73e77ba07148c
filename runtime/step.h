// A bundle's step made ready to run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "runtime/executor.h"
#include "runtime/memory.h"

namespace dovetail::runtime {

class ReadyStep {
 public:
  virtual ~ReadyStep() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view target() const = 0;
  // Reads its arguments and writes all its results where they lie. Counters are those of a simulator, where one ran.
  virtual Result<simulator::Counters> run(TensorMemory& memory) = 0;
  // Of the launches of the last run, in order; empty where nothing has a clock.
  virtual std::vector<simulator::LaunchTrace> timing() const { return {}; }
};

// The step outlives what is made, which keeps references into it.
Result<std::unique_ptr<ReadyStep>> make_host_step(const bundle::HostStep& step);
// The shared object of a bundle's kernels, loaded, with the threads that run them.
class CpuDevice;
Result<std::shared_ptr<CpuDevice>> load_cpu(const bundle::Bundle& bundle, int threads);
Result<std::unique_ptr<ReadyStep>> make_cpu_step(std::shared_ptr<CpuDevice> device, const bundle::CpuStep& step);
Result<std::unique_ptr<ReadyStep>> make_extern_step(const bundle::Bundle& bundle, const bundle::ExternStep& step,
                                                    const std::vector<std::shared_ptr<Device>>& devices);
Result<std::unique_ptr<ReadyStep>> make_accel_step(const bundle::AccelStep& step, const MakeSimulator& make_simulator);

}  // namespace dovetail::runtime
