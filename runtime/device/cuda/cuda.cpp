// Steps on an NVIDIA GPU, through its driver: kernels of target cuda, and operations of cuBLAS and cuDNN. Steps are
// asynchronous: the stream runs them in order, and the host waits when it reads a result, or when a kernel may have
// found a violated rule. If the host need not check anything in between, all steps of a program become a CUDA graph,
// which later runs launch as a whole.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bundle/code/cuda.h"
#include "bundle/code/library.h"
#include "runtime/device/all.h"
#include "runtime/device/cublas/products.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/launches.h"
#include "runtime/device/cuda/stream_work.h"
#include "runtime/device/cudnn/operations.h"

namespace dovetail::runtime {

namespace {

using bundle::TensorIndex;

constexpr double kCudaStepsPerSecond = 1e12;  // of a slow kernel

// State shared by the steps of a program.
struct CudaProgram {
  std::shared_ptr<cuda::Context> context;
  cuda::Allocation workspace, failure;
  std::uint64_t run = 0;  // number of the current run
  // Device copies of tensors that are in host memory or another device's memory: by root tensor, with the run that they
  // belong to.
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
  Result<void> copy_in(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return memory_.copy_in(offset, bytes);
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
  CudaKernel(const bundle::Bundle& bundle, const bundle::Step& step, std::unique_ptr<cuda::StreamWork> stream_work,
             std::shared_ptr<CudaProgram> program, Work* work)
      : bundle_(bundle), step_(step), stream_work_(std::move(stream_work)), program_(std::move(program)), work_(work) {}
  ~CudaKernel() override {
    const cuda::Driver& driver = program_->context->driver();
    if (!program_->context->make_current().ok()) return;
    for (const cuda::EventHandle event : {begin_, end_})
      if (event != nullptr) driver.destroy_event(event);
  }

  Result<void> load() {
    if (stream_work_->is_empty()) return {};
    const cuda::Driver& driver = program_->context->driver();
    DOVETAIL_TRY(driver.check(driver.create_event(&begin_, cuda::kDefaultEvent), "making an event"));
    DOVETAIL_TRY(driver.check(driver.create_event(&end_, cuda::kDefaultEvent), "making an event"));
    for (const TensorIndex argument : step_.arguments) {
      const TensorIndex root = bundle::root_of(bundle_, argument);
      const bundle::Constant& constant = bundle_.tensors[static_cast<std::size_t>(root)].constant;
      if (!constant || program_->copies.contains(root)) continue;
      DOVETAIL_ASSIGN(cuda::Allocation memory, cuda::Allocation::make(program_->context, constant->bytes().size(),
                                                                      fmt::format("constant {}", tensor_name(root))));
      DOVETAIL_TRY(memory.copy_in(0, constant->bytes()));
      program_->copies[root] = {std::move(memory), std::nullopt};
    }
    return {};
  }

  Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) override {
    if (work_ != nullptr && work_->stopped()) return work_->stopped_at("");
    DOVETAIL_TRY(program_->context->make_current());
    DOVETAIL_TRY(gather(arguments, results));
    DOVETAIL_TRY(begin(true, false));
    return finish(results);
  }

  // ---- The three parts of a run, for a sequence

  // Finds the tensors in the device's memory, and copies others there.
  Result<void> gather(std::span<const Operand> arguments, std::span<const Operand> results) {
    tensors_.clear();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      DOVETAIL_ASSIGN(const cuda::Address address, argument(arguments[i], step_.arguments[i]));
      tensors_.push_back(address);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      DOVETAIL_ASSIGN(const cuda::Address address, result(results[i], step_.results[i]));
      tensors_.push_back(address);
    }
    return {};
  }
  // `capturing`: the launched work becomes part of a graph.
  Result<void> begin(bool times, bool capturing) {
    timed_ = times && !stream_work_->is_empty();
    if (timed_) DOVETAIL_TRY(record(begin_, capturing));
    DOVETAIL_TRY(stream_work_->begin(tensors_, program_->workspace.address()));
    if (timed_) DOVETAIL_TRY(record(end_, capturing));
    return {};
  }
  Result<void> finish(std::span<const Operand> results) {
    // Copies results that belong elsewhere to their destination.
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].memory == nullptr)
        DOVETAIL_TRY(program_->copies.at(step_.results[i]).memory.copy_out(0, results[i].bytes));
    if (stream_work_->failures() != nullptr) DOVETAIL_TRY(check_rules());
    if (work_ != nullptr) work_->count(stream_work_->work_steps());
    return {};
  }
  void count_as_begun(bool times) { timed_ = times && !stream_work_->is_empty(); }
  bool reports() const { return stream_work_->failures() != nullptr; }
  const std::vector<cuda::Address>& tensors() const { return tensors_; }
  const bundle::Step& step() const { return step_; }

  WorkEstimate estimate_work() const override {
    const std::uint64_t steps = stream_work_->work_steps();
    return {steps, static_cast<double>(steps) / kCudaStepsPerSecond};
  }
  std::vector<KernelFacts> kernel_facts() const override { return stream_work_->kernels(); }

  std::optional<double> device_seconds() override {
    const cuda::Driver& driver = program_->context->driver();
    float milliseconds = 0;
    if (!timed_ || !program_->context->make_current().ok() || driver.synchronize_event(end_) != 0 ||
        driver.elapsed(&milliseconds, begin_, end_) != 0)
      return std::nullopt;
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  // In a graph, an event has times only if it is recorded as an external event.
  Result<void> record(cuda::EventHandle event, bool capturing) const {
    const cuda::Context& context = *program_->context;
    return context.driver().check(
        capturing ? context.driver().record_event_with_flags(event, context.stream(), cuda::kExternalEvent)
                  : context.driver().record_event(event, context.stream()),
        "recording an event");
  }
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
    DOVETAIL_ASSIGN(cuda::Allocation memory,
                    cuda::Allocation::make(program_->context, bytes, fmt::format("tensor {}", tensor_name(root))));
    return &program_->copies.emplace(root, CudaProgram::Copy{std::move(memory), program_->run - 1}).first->second;
  }

  const std::string& tensor_name(TensorIndex tensor) const {
    return bundle_.tensors[static_cast<std::size_t>(tensor)].name;
  }

  Result<void> check_rules() const {
    bundle::CudaFailure failure;
    const auto bytes = std::as_writable_bytes(std::span(&failure, 1));
    DOVETAIL_TRY(program_->failure.copy_out(0, bytes));
    if (failure.claimed == 0) return {};
    const std::vector<std::string>& failures = *stream_work_->failures();
    const std::string what = failure.site < failures.size() ? failures[failure.site] : "a rule is broken";
    const std::int64_t value = failure.value;
    failure = {};
    DOVETAIL_TRY(program_->failure.copy_in(0, bytes));
    return Diagnostic{"the run failed", "", fmt::format("{}; the value is {}", what, value),
                      "check the inputs; on the interpreter the element is named"};
  }

  const bundle::Bundle& bundle_;
  const bundle::Step& step_;
  std::unique_ptr<cuda::StreamWork> stream_work_;
  std::shared_ptr<CudaProgram> program_;
  Work* work_;
  std::vector<cuda::Address> tensors_;  // for the current run
  cuda::EventHandle begin_ = nullptr, end_ = nullptr;
  bool timed_ = false;  // the events belong to the last run
};

// The first run launches the steps one by one, because libraries load kernels at their first use; the second is
// captured, and later ones launch the captured graph, as long as all tensors stay at the same addresses.
class CudaSequence : public DeviceSequence {
 public:
  CudaSequence(std::vector<CudaKernel*> kernels, std::shared_ptr<CudaProgram> program, Work* work)
      : kernels_(std::move(kernels)), program_(std::move(program)), work_(work) {
    for (const CudaKernel* kernel : kernels_)
      if (kernel->reports() && why_not_.empty())
        why_not_ = fmt::format("step {} may report a failed check", kernel->step().name);
  }
  ~CudaSequence() override {
    if (!program_->context->make_current().ok()) return;
    for (Captured& captured : captured_) forget(captured);
  }

  Result<void> run(std::span<const StepOperands> steps, bool times) override {
    if (work_ != nullptr && work_->stopped()) return work_->stopped_at("");
    DOVETAIL_TRY(program_->context->make_current());
    bool elsewhere = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      DOVETAIL_TRY(at_step(i, kernels_[i]->gather(steps[i].arguments, steps[i].results)));
      elsewhere |=
          std::ranges::any_of(steps[i].results, [](const Operand& result) { return result.memory == nullptr; });
    }
    if (elsewhere && why_not_.empty()) why_not_ = "a result is in the host's memory";
    ++runs_;
    if (runs_ == 1 || !why_not_.empty()) return run_one_by_one(steps, times);
    Captured& captured = captured_.at(times ? 1 : 0);
    if (captured.graph == nullptr || captured.tensors != all_tensors()) {
      forget(captured);
      if (const auto made = capture(captured, times); !made.ok()) {
        const Diagnostic& problem = made.errors().front();
        why_not_ = fmt::format("a graph cannot be made: {}{}{}", problem.where, problem.where.empty() ? "" : ": ",
                               problem.why);
        return run_one_by_one(steps, times);
      }
    }
    const cuda::Context& context = *program_->context;
    DOVETAIL_TRY(
        context.driver().check(context.driver().launch_graph(captured.graph, context.stream()), "launching a graph"));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      kernels_[i]->count_as_begun(times);
      DOVETAIL_TRY(at_step(i, kernels_[i]->finish(steps[i].results)));
    }
    launched_ = fmt::format("a graph of {} steps", kernels_.size());
    return {};
  }
  std::string launched() const override { return launched_; }

 private:
  struct Captured {
    cuda::GraphExecHandle graph = nullptr;
    std::vector<cuda::Address> tensors;
  };

  Result<void> at_step(std::size_t i, Result<void> done) const {
    if (done.ok()) return done;
    Diagnostics problems = done.errors();
    for (Diagnostic& problem : problems)
      problem.where =
          fmt::format("step {}{}{}", kernels_[i]->step().name, problem.where.empty() ? "" : ", ", problem.where);
    return problems;
  }
  std::vector<cuda::Address> all_tensors() const {
    std::vector<cuda::Address> all;
    for (const CudaKernel* kernel : kernels_) all.insert(all.end(), kernel->tensors().begin(), kernel->tensors().end());
    return all;
  }
  Result<void> run_one_by_one(std::span<const StepOperands> steps, bool times) {
    launched_ = why_not_.empty() ? "step by step: the first run" : "step by step: " + why_not_;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      DOVETAIL_TRY(at_step(i, kernels_[i]->begin(times, false)));
      DOVETAIL_TRY(at_step(i, kernels_[i]->finish(steps[i].results)));
    }
    return {};
  }
  Result<void> capture(Captured& captured, bool times) {
    const cuda::Context& context = *program_->context;
    const cuda::Driver& driver = context.driver();
    DOVETAIL_TRY(driver.check(driver.begin_capture(context.stream(), cuda::kThreadLocalCapture), "beginning a graph"));
    Result<void> begun = Result<void>();
    for (std::size_t i = 0; i < kernels_.size() && begun.ok(); ++i) begun = at_step(i, kernels_[i]->begin(times, true));
    cuda::GraphHandle graph = nullptr;
    const cuda::Status ended = driver.end_capture(context.stream(), &graph);
    Result<void> made = begun.ok() ? driver.check(ended, "ending a graph") : std::move(begun);
    if (made.ok()) made = driver.check(driver.instantiate(&captured.graph, graph, 0), "making a graph ready");
    if (graph != nullptr) driver.destroy_graph(graph);
    if (made.ok()) captured.tensors = all_tensors();
    else captured.graph = nullptr;
    return made;
  }
  void forget(Captured& captured) const {
    if (captured.graph != nullptr) program_->context->driver().destroy_graph_exec(captured.graph);
    captured = {};
  }

  std::vector<CudaKernel*> kernels_;
  std::shared_ptr<CudaProgram> program_;
  Work* work_;
  std::uint64_t runs_ = 0;
  std::array<Captured, 2> captured_;  // without and with times
  std::string why_not_, launched_;
};

// A memory space: the number of tensors that share it, and the largest one.
std::string description_of(const bundle::Bundle& bundle, bundle::SpaceIndex space) {
  const bundle::Tensor* largest = nullptr;
  std::size_t count = 0;
  const auto bytes_of = [](const bundle::Tensor& tensor) {
    return element_count(tensor.shape) * size_bytes(tensor.dtype);
  };
  for (const bundle::Tensor& tensor : bundle.tensors) {
    if (tensor.space != space) continue;
    ++count;
    if (largest == nullptr || bytes_of(tensor) > bytes_of(*largest)) largest = &tensor;
  }
  if (largest == nullptr) return "a memory space of no tensors";
  return fmt::format("the memory space of {} tensors, the largest {} of {} bytes", count, largest->name,
                     bytes_of(*largest));
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(Work* work) : work_(work) {}

  std::string_view name() const override { return bundle::kCudaTarget; }
  std::vector<std::string_view> library_targets() const override {
    return {bundle::kCublasTarget, bundle::kCudnnTarget};
  }

  bool keeps_tensors_on_host() const override { return false; }

  Result<void> check(const bundle::Bundle& bundle) override {
    DOVETAIL_TRY(bundle::cuda_steps(bundle));
    DOVETAIL_TRY(bundle::library_steps(bundle, bundle::kCublasTarget));
    DOVETAIL_TRY(bundle::library_steps(bundle, bundle::kCudnnTarget));
    return {};
  }

  Result<DeviceProgram> load(const bundle::Bundle& bundle) override {
    DOVETAIL_ASSIGN(auto launches, bundle::cuda_steps(bundle));
    DOVETAIL_ASSIGN(auto products, bundle::library_steps(bundle, bundle::kCublasTarget));
    DOVETAIL_ASSIGN(auto operations, bundle::library_steps(bundle, bundle::kCudnnTarget));
    const auto common = std::make_shared<CudaProgram>();
    if (!context_) {
      DOVETAIL_ASSIGN(context_, cuda::Context::open());
    }
    common->context = context_;
    const bundle::CudaFailure none;
    DOVETAIL_ASSIGN(common->failure, cuda::Allocation::make(common->context, sizeof none, "what kernels report"));
    DOVETAIL_TRY(common->failure.copy_in(0, std::as_bytes(std::span(&none, 1))));
    std::map<std::size_t, std::unique_ptr<cuda::StreamWork>> works;  // by step
    for (auto& step : launches) {
      DOVETAIL_ASSIGN(works[step.index],
                      cuda::make_launches(context_, std::move(step.code), common->failure.address()));
    }
    if (!products.empty()) {
      DOVETAIL_ASSIGN(const auto library, cublas::Library::open(context_));
      for (const auto& step : products) {
        DOVETAIL_ASSIGN(works[step.index], cublas::make_products(context_, library, bundle, step));
      }
    }
    if (!operations.empty()) {
      DOVETAIL_ASSIGN(const auto library, cudnn::Library::open(context_));
      for (const auto& step : operations) {
        DOVETAIL_ASSIGN(works[step.index], cudnn::make_operations(context_, library, bundle, step));
      }
    }
    std::uint64_t workspace = 0;
    for (const auto& [index, work] : works) workspace = std::max(workspace, work->workspace_bytes());
    DOVETAIL_ASSIGN(common->workspace,
                    cuda::Allocation::make(common->context, workspace, "the workspace of the steps"));
    DeviceProgram program;
    for (std::size_t i = 0; i < bundle.spaces.size(); ++i) {
      const bundle::MemorySpace& space = bundle.spaces[i];
      if (space.target != bundle::kCudaTarget) continue;
      DOVETAIL_ASSIGN(cuda::Allocation memory,
                      cuda::Allocation::make(common->context, space.bytes,
                                             description_of(bundle, static_cast<bundle::SpaceIndex>(i))));
      program.memories[static_cast<bundle::SpaceIndex>(i)] = std::make_shared<CudaMemory>(common, std::move(memory));
    }
    std::vector<CudaKernel*> sequence;
    for (auto& [index, work] : works) {
      auto kernel = std::make_unique<CudaKernel>(bundle, bundle.steps[index], std::move(work), common, work_);
      DOVETAIL_TRY(kernel->load());
      sequence.push_back(kernel.get());
      program.kernels.push_back(std::move(kernel));
    }
    if (sequence.size() == bundle.steps.size())
      program.sequence = std::make_unique<CudaSequence>(std::move(sequence), common, work_);
    DOVETAIL_TRY(common->context->synchronize());
    return program;
  }

 private:
  Work* work_;
  std::shared_ptr<cuda::Context> context_;  // shared by all programs
};

}  // namespace

std::shared_ptr<Device> make_cuda_device(Work* work) { return std::make_shared<CudaDevice>(work); }

}  // namespace dovetail::runtime
