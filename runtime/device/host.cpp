// Loop programs, run on the interpreter.
#include <span>
#include <utility>
#include <vector>

#include "bundle/code/host.h"
#include "loops/interpreter.h"
#include "runtime/device/all.h"

namespace dovetail::runtime {

namespace {

class HostKernel : public DeviceKernel {
 public:
  HostKernel(std::shared_ptr<const loops::CompiledProgram> program, Work* work)
      : program_(std::move(program)), work_(work) {}

  Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) override {
    std::vector<std::span<const std::byte>> read;
    std::vector<std::span<std::byte>> written;
    for (const Operand& argument : arguments) read.push_back(argument.bytes);
    for (const Operand& result : results) written.push_back(result.bytes);
    return loops::run(*program_, read, written, work_);
  }
  WorkEstimate estimate_work() const override { return loops::estimate_work(*program_); }

 private:
  std::shared_ptr<const loops::CompiledProgram> program_;
  Work* work_;
};

class HostDevice : public Device {
 public:
  explicit HostDevice(Work* work) : work_(work) {}

  std::string_view name() const override { return bundle::kHostTarget; }
  bool runs_machine_code() const override { return false; }

  Result<void> check(const bundle::Bundle& bundle) override {
    DOVETAIL_TRY(bundle::host_steps(bundle));
    return {};
  }

  Result<DeviceProgram> load(const bundle::Bundle& bundle) override {
    DOVETAIL_ASSIGN(const auto steps, bundle::host_steps(bundle));
    DeviceProgram program;
    for (const auto& step : steps) {
      DOVETAIL_ASSIGN(auto compiled, loops::compile(step.code.program));
      program.kernels.push_back(std::make_unique<HostKernel>(std::move(compiled), work_));
    }
    return program;
  }

 private:
  Work* work_;
};

}  // namespace

std::shared_ptr<Device> make_host_device(Work* work) { return std::make_shared<HostDevice>(work); }

}  // namespace dovetail::runtime
