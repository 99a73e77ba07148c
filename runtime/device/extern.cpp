// Steps of back ends that the kit does not know, on devices that the caller has given.
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/step.h"

namespace dovetail::runtime {

namespace {

class ExternStep : public ReadyStep {
 public:
  ExternStep(const bundle::ExternStep& step, std::shared_ptr<Device> device, std::unique_ptr<DeviceKernel> kernel)
      : step_(step), device_(std::move(device)), kernel_(std::move(kernel)) {}

  std::string_view name() const override { return step_.name; }
  std::string_view target() const override { return step_.device; }

  Result<simulator::Counters> run(TensorMemory& memory) override {
    arguments_.clear();
    results_.clear();
    for (const bundle::TensorIndex argument : step_.arguments) arguments_.push_back(memory.read(argument));
    for (const bundle::TensorIndex result : step_.results) results_.push_back(memory.write(result));
    if (const Result<void> ran = kernel_->run(arguments_, results_); !ran.ok()) {
      Diagnostics problems = ran.errors();
      for (Diagnostic& problem : problems)
        problem.where = problem.where.empty() ? fmt::format("step {}", step_.name)
                                              : fmt::format("step {}, {}", step_.name, problem.where);
      return problems;
    }
    return simulator::Counters{};
  }

 private:
  const bundle::ExternStep& step_;
  std::shared_ptr<Device> device_;  // outlives the kernel
  std::unique_ptr<DeviceKernel> kernel_;
  std::vector<std::span<const std::byte>> arguments_;
  std::vector<std::span<std::byte>> results_;
};

}  // namespace

Result<std::unique_ptr<ReadyStep>> make_extern_step(const bundle::Bundle& bundle, const bundle::ExternStep& step,
                                                    const std::vector<std::shared_ptr<Device>>& devices) {
  std::vector<std::string_view> names;
  for (const std::shared_ptr<Device>& device : devices) {
    names.push_back(device->name());
    if (device->name() != step.device) continue;
    DOVETAIL_ASSIGN(std::unique_ptr<DeviceKernel> kernel, device->load(bundle, step));
    return std::unique_ptr<ReadyStep>(std::make_unique<ExternStep>(step, device, std::move(kernel)));
  }
  return Diagnostic{fmt::format("no device \"{}\"", step.device), fmt::format("step {}", step.name),
                    names.empty() ? "its code is for a device that is no part of the kit, and none was given"
                                  : fmt::format("the devices given are {}", fmt::join(names, ", ")),
                    "run the bundle with a program that hands its device to the executor (ExecutorOptions::devices), "
                    "or compile without that target"};
}

}  // namespace dovetail::runtime
