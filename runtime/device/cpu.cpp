// Kernels of a bundle's shared object, run on a thread pool.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/processor.h"
#include "base/shared_library.h"
#include "bundle/code/cpu.h"
#include "bundle/code/kernel_host.h"
#include "bundle/code/kernel_signature.h"
#include "runtime/device/all.h"

namespace dovetail::runtime {

namespace {

// State shared by the kernels of a program: the object, and the threads that run them.
struct KernelLibrary {
  KernelLibrary(SharedLibrary loaded, int threads, ThreadPool::Placement placement, std::size_t shared_bytes,
                std::size_t local_bytes)
      : object(std::move(loaded)), host(threads, shared_bytes, local_bytes, placement) {}

  bundle::Kernel kernel(const std::string& symbol) const {
    return reinterpret_cast<bundle::Kernel>(object.find(symbol));
  }

  SharedLibrary object;
  bundle::KernelHost host;
};

class CpuKernel : public DeviceKernel {
 public:
  CpuKernel(std::shared_ptr<KernelLibrary> library, bundle::Kernel kernel, const bundle::CpuCode& code, Work* work)
      : library_(std::move(library)), kernel_(kernel), failures_(code.failures), steps_(code.steps), work_(work) {}

  Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) override {
    buffers_.clear();
    for (const auto& operands : {arguments, results})
      for (const Operand& operand : operands) buffers_.push_back(operand.bytes.data());
    if (work_ != nullptr && work_->stopped()) return work_->stopped_at("");
    DOVETAIL_TRY(library_->host.run(kernel_, buffers_.data(), failures_, ""));
    if (work_ != nullptr) work_->count(steps_);
    return {};
  }
  WorkEstimate estimate_work() const override {
    return {steps_, static_cast<double>(steps_) / kStepsPerSecond / library_->host.threads()};
  }

 private:
  static constexpr double kStepsPerSecond = 10e9;  // of one thread running a slow kernel

  std::shared_ptr<KernelLibrary> library_;
  bundle::Kernel kernel_;
  std::vector<std::string> failures_;
  std::uint64_t steps_;
  Work* work_;
  std::vector<void*> buffers_;
};

Diagnostic cannot_load(const bundle::Bundle& bundle, std::string why, std::string hint) {
  return {"cannot load the kernels", "bundle " + bundle.name, std::move(why), std::move(hint)};
}

class CpuDevice : public Device {
 public:
  CpuDevice(int threads, ThreadPool::Placement placement, Work* work)
      : threads_(threads), placement_(placement), work_(work) {}

  std::string_view name() const override { return bundle::kCpuTarget; }

  Result<void> check(const bundle::Bundle& bundle) override {
    DOVETAIL_TRY(bundle::cpu_steps(bundle));
    return {};
  }

  Result<DeviceProgram> load(const bundle::Bundle& bundle) override {
    DOVETAIL_ASSIGN(const auto steps, bundle::cpu_steps(bundle));
    DeviceProgram program;
    if (steps.empty()) return program;
    const bundle::Module& module = *bundle::find_module(bundle, bundle::kCpuTarget);
    DOVETAIL_ASSIGN(SharedLibrary object, load_object(bundle, module));
    std::uint64_t shared = 0, local = 0;
    for (const auto& step : steps) {
      DOVETAIL_ASSIGN(const bundle::KernelSignature signature, check_kernel(bundle, module, object, step));
      shared = std::max(shared, signature.shared_bytes);
      local = std::max(local, signature.local_bytes);
    }
    const auto library = std::make_shared<KernelLibrary>(std::move(object), threads_, placement_, shared, local);
    for (const auto& step : steps)
      program.kernels.push_back(
          std::make_unique<CpuKernel>(library, library->kernel(step.code.symbol), step.code, work_));
    return program;
  }

 private:
  // Checks that the step's kernel exists and has matching operands.
  static Result<bundle::KernelSignature> check_kernel(const bundle::Bundle& bundle, const bundle::Module& module,
                                                      const SharedLibrary& object,
                                                      const bundle::CodedStep<bundle::CpuCode>& step) {
    const auto bad = [&](std::string why) {
      return Diagnostic{"cannot load the kernels", fmt::format("step {}", step.step->name), std::move(why),
                        "make the bundle again with `dovetail compile`"};
    };
    if (object.find(step.code.symbol) == nullptr)
      return bad(fmt::format("the shared object has no kernel \"{}\"", step.code.symbol));
    const auto read =
        bundle::read_signature(object.words(step.code.symbol + std::string(bundle::kSignatureSuffix)), module.made_for);
    if (const auto* none = std::get_if<bundle::NoSignature>(&read)) return bad(none->why);
    const auto& signature = std::get<bundle::KernelSignature>(read);
    Diagnostics problems;
    for (std::string& why : bundle::check_call(bundle, *step.step, step.code, signature))
      problems.push_back(bad(std::move(why)));
    if (!problems.empty()) return problems;
    return signature;
  }

  static Result<SharedLibrary> load_object(const bundle::Bundle& bundle, const bundle::Module& module) {
    if (!runs_here(module.made_for))
      return cannot_load(bundle,
                         fmt::format("they are made for the processor class {}, but {}", module.made_for,
                                     why_not_here(module.made_for)),
                         "compile with --cpu native on this machine, or with --cpu baseline");
    auto loaded = SharedLibrary::load(module.code, "dovetail-kernels");
    if (loaded.ok()) return loaded;
    const Diagnostic& error = loaded.errors().front();
    Diagnostic problem =
        cannot_load(bundle, error.why,
                    error.cause == Cause::resource ? error.hint : "make the bundle again with `dovetail compile`");
    problem.cause = error.cause;
    return problem;
  }

  int threads_;
  ThreadPool::Placement placement_;
  Work* work_;
};

}  // namespace

std::shared_ptr<Device> make_cpu_device(int threads, ThreadPool::Placement placement, Work* work) {
  return std::make_shared<CpuDevice>(threads, placement, work);
}

}  // namespace dovetail::runtime
