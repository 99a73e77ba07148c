// Kernels on an NVIDIA GPU, through its driver. Steps only begin: the stream runs them in order, and the host waits
// where it reads a result, or where a kernel may have found a broken rule.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bundle/code/cuda.h"
#include "runtime/device/all.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/driver.h"

namespace dovetail::runtime {

namespace {

using bundle::TensorIndex;

constexpr double kCudaStepsPerSecond = 1e12;  // a slow kernel's

// What the kernels of a program have in common.
struct CudaProgram {
  std::shared_ptr<cuda::Context> context;
  cuda::Allocation workspace, failure;
  std::uint64_t run = 0;  // which of the runs goes on
  // Copies of tensors that lie on the host, or in another device's memory: by root, with the run that they are of.
  struct Copy {
    cuda::Allocation memory;
    std::optional<std::uint64_t> of_run;  // nullopt: a constant, always up to date
  };
  std::map<TensorIndex, Copy> copies;
};

class CudaMemory : public DeviceMemory {
 public:
  CudaMemory(std::shared_ptr<CudaProgram> program, cuda::Allocation memory)
      : program_(std::move(program)), memory_(std::move(memory)) {}

  cuda::Address address() const { return memory_.address(); }
  Result<void> begin() override {
    ++program_->run;
    return {};
  }
  // The bytes may change as soon as this returns.
  Result<void> copy_in(std::uint64_t offset, std::span<const std::byte> bytes) override {
    DOVETAIL_TRY(memory_.copy_in(offset, bytes));
    return program_->context->synchronize();
  }
  Result<void> copy_out(std::uint64_t offset, std::span<std::byte> bytes) override {
    return memory_.copy_out(offset, bytes);
  }

 private:
  std::shared_ptr<CudaProgram> program_;
  cuda::Allocation memory_;
};

class CudaKernel : public DeviceKernel {
 public:
  CudaKernel(const bundle::Bundle& bundle, bundle::CodedStep<bundle::CudaCode> step,
             std::shared_ptr<CudaProgram> program, Work* work)
      : bundle_(bundle), step_(std::move(step)), program_(std::move(program)), work_(work) {}
  ~CudaKernel() override {
    const cuda::Driver& driver = program_->context->driver();
    if (!program_->context->make_current().ok()) return;
    for (const cuda::EventHandle event : {begin_, end_})
      if (event != nullptr) driver.destroy_event(event);
  }

  Result<void> load() {
    const cuda::Driver& driver = program_->context->driver();
    if (step_.code.launches.empty()) return {};
    DOVETAIL_ASSIGN(const cuda::ModuleHandle module, program_->context->module(step_.code.images));
    for (const bundle::CudaLaunch& launch : step_.code.launches) {
      DOVETAIL_ASSIGN(const cuda::FunctionHandle function, program_->context->function(module, launch));
      functions_.push_back(function);
    }
    DOVETAIL_TRY(driver.check(driver.create_event(&begin_, 0), "making an event"));
    DOVETAIL_TRY(driver.check(driver.create_event(&end_, 0), "making an event"));
    for (const TensorIndex argument : step_.step->arguments) {
      const TensorIndex root = bundle::root_of(bundle_, argument);
      const bundle::Constant& constant = bundle_.tensors[static_cast<std::size_t>(root)].constant;
      if (!constant || program_->copies.contains(root)) continue;
      DOVETAIL_ASSIGN(cuda::Allocation memory, cuda::Allocation::make(program_->context, constant->bytes().size()));
      DOVETAIL_TRY(memory.copy_in(0, constant->bytes()));
      program_->copies[root] = {std::move(memory), std::nullopt};
    }
    return {};
  }

  Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) override {
    if (work_ != nullptr && work_->stopped()) return work_->stopped_at("");
    const cuda::Context& context = *program_->context;
    const cuda::Driver& driver = context.driver();
    DOVETAIL_TRY(context.make_current());
    std::vector<cuda::Address> tensors;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      DOVETAIL_ASSIGN(const cuda::Address address, argument(arguments[i], step_.step->arguments[i]));
      tensors.push_back(address);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      DOVETAIL_ASSIGN(const cuda::Address address, result(results[i], step_.step->results[i]));
      tensors.push_back(address);
    }
    if (!functions_.empty())
      DOVETAIL_TRY(driver.check(driver.record_event(begin_, context.stream()), "recording an event"));
    bool reports = false;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      DOVETAIL_TRY(launch(step_.code.launches[i], functions_[i], tensors));
      reports |= step_.code.launches[i].reports;
    }
    if (!functions_.empty())
      DOVETAIL_TRY(driver.check(driver.record_event(end_, context.stream()), "recording an event"));
    // Results that lie elsewhere are brought there.
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].memory == nullptr)
        DOVETAIL_TRY(program_->copies.at(step_.step->results[i]).memory.copy_out(0, results[i].bytes));
    if (reports) DOVETAIL_TRY(check_rules());
    if (work_ != nullptr) work_->count(step_.code.steps);
    return {};
  }

  WorkEstimate estimate_work() const override {
    return {step_.code.steps, static_cast<double>(step_.code.steps) / kCudaStepsPerSecond};
  }

  std::optional<double> device_seconds() override {
    const cuda::Driver& driver = program_->context->driver();
    float milliseconds = 0;
    if (functions_.empty() || !program_->context->make_current().ok() || driver.synchronize_event(end_) != 0 ||
        driver.elapsed(&milliseconds, begin_, end_) != 0)
      return std::nullopt;
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  Result<cuda::Address> argument(const Operand& operand, TensorIndex tensor) {
    if (operand.memory != nullptr) return static_cast<CudaMemory*>(operand.memory)->address() + operand.offset;
    const TensorIndex root = bundle::root_of(bundle_, tensor);
    DOVETAIL_ASSIGN(CudaProgram::Copy* const copy, copy_of(root, operand.bytes.size()));
    if (copy->of_run && *copy->of_run != program_->run) {
      DOVETAIL_TRY(copy->memory.copy_in(0, operand.bytes));
      copy->of_run = program_->run;
    }
    return copy->memory.address();
  }
  Result<cuda::Address> result(const Operand& operand, TensorIndex tensor) {
    if (operand.memory != nullptr) return static_cast<CudaMemory*>(operand.memory)->address() + operand.offset;
    DOVETAIL_ASSIGN(CudaProgram::Copy* const copy, copy_of(tensor, operand.bytes.size()));
    copy->of_run = program_->run;
    return copy->memory.address();
  }
  Result<CudaProgram::Copy*> copy_of(TensorIndex root, std::size_t bytes) {
    if (const auto known = program_->copies.find(root); known != program_->copies.end()) return &known->second;
    DOVETAIL_ASSIGN(cuda::Allocation memory, cuda::Allocation::make(program_->context, bytes));
    return &program_->copies.emplace(root, CudaProgram::Copy{std::move(memory), program_->run - 1}).first->second;
  }

  Result<void> launch(const bundle::CudaLaunch& launch, cuda::FunctionHandle function,
                      const std::vector<cuda::Address>& tensors) const {
    const cuda::Driver& driver = program_->context->driver();
    std::vector<cuda::Address> values;
    for (const bundle::CudaOperand& operand : launch.operands)
      values.push_back(operand.workspace ? program_->workspace.address() + operand.offset : tensors[operand.index]);
    if (launch.reports) values.push_back(program_->failure.address());
    std::vector<void*> parameters;
    for (cuda::Address& value : values) parameters.push_back(&value);
    const auto extent = [](std::uint64_t value) { return static_cast<unsigned>(value); };
    return driver.check(driver.launch(function, extent(launch.grid[0]), extent(launch.grid[1]), extent(launch.grid[2]),
                                      extent(launch.block[0]), extent(launch.block[1]), extent(launch.block[2]), 0,
                                      program_->context->stream(), parameters.data(), nullptr),
                        fmt::format("launching {}", launch.symbol));
  }

  Result<void> check_rules() const {
    bundle::CudaFailure failure;
    const auto bytes = std::as_writable_bytes(std::span(&failure, 1));
    DOVETAIL_TRY(program_->failure.copy_out(0, bytes));
    if (failure.claimed == 0) return {};
    const std::vector<std::string>& failures = step_.code.failures;
    const std::string what = failure.site < failures.size() ? failures[failure.site] : "a rule is broken";
    const std::int64_t value = failure.value;
    failure = {};
    DOVETAIL_TRY(program_->failure.copy_in(0, bytes));
    DOVETAIL_TRY(program_->context->synchronize());
    return Diagnostic{"the run failed", "", fmt::format("{}; the value is {}", what, value),
                      "check the model's inputs; `dovetail run --cpu interpreter` names the element"};
  }

  const bundle::Bundle& bundle_;
  bundle::CodedStep<bundle::CudaCode> step_;
  std::shared_ptr<CudaProgram> program_;
  Work* work_;
  std::vector<cuda::FunctionHandle> functions_;  // of the launches
  cuda::EventHandle begin_ = nullptr, end_ = nullptr;
};

class CudaDevice : public Device {
 public:
  explicit CudaDevice(Work* work) : work_(work) {}

  std::string_view name() const override { return bundle::kCudaTarget; }

  Result<void> check(const bundle::Bundle& bundle) override {
    DOVETAIL_TRY(bundle::cuda_steps(bundle));
    return {};
  }

  Result<DeviceProgram> load(const bundle::Bundle& bundle) override {
    DOVETAIL_ASSIGN(auto steps, bundle::cuda_steps(bundle));
    const auto common = std::make_shared<CudaProgram>();
    DOVETAIL_ASSIGN(common->context, cuda::Context::open());
    std::uint64_t workspace = 0;
    for (const auto& step : steps) workspace = std::max(workspace, step.code.workspace_bytes);
    DOVETAIL_ASSIGN(common->workspace, cuda::Allocation::make(common->context, workspace));
    const bundle::CudaFailure none;
    DOVETAIL_ASSIGN(common->failure, cuda::Allocation::make(common->context, sizeof none));
    DOVETAIL_TRY(common->failure.copy_in(0, std::as_bytes(std::span(&none, 1))));
    DeviceProgram program;
    for (std::size_t i = 0; i < bundle.spaces.size(); ++i) {
      const bundle::MemorySpace& space = bundle.spaces[i];
      if (space.target != bundle::kCudaTarget) continue;
      DOVETAIL_ASSIGN(cuda::Allocation memory, cuda::Allocation::make(common->context, space.bytes));
      program.memories[static_cast<bundle::SpaceIndex>(i)] = std::make_shared<CudaMemory>(common, std::move(memory));
    }
    for (auto& step : steps) {
      auto kernel = std::make_unique<CudaKernel>(bundle, std::move(step), common, work_);
      DOVETAIL_TRY(kernel->load());
      program.kernels.push_back(std::move(kernel));
    }
    DOVETAIL_TRY(common->context->synchronize());
    return program;
  }

 private:
  Work* work_;
};

}  // namespace

std::shared_ptr<Device> make_cuda_device(Work* work) { return std::make_shared<CudaDevice>(work); }

}  // namespace dovetail::runtime
