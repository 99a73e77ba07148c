// Kernels of a bundle's shared object, on a pool of threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <new>
#include <utility>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/processor.h"
#include "base/thread_pool.h"
#include "bundle/kernel_abi.h"
#include "loops/ir.h"
#include "runtime/step.h"

namespace dovetail::runtime {

namespace {

double inverse_sqrt(double x) { return 1 / std::sqrt(x); }

// loops::UnaryOp -> function. Rounding functions and the like are machine instructions and never asked for.
using UnaryFunction = double (*)(double);
const std::array<UnaryFunction, static_cast<std::size_t>(loops::UnaryOp::is_inf) + 1>& unary_functions() {
  static const auto table = [] {
    using U = loops::UnaryOp;
    std::array<UnaryFunction, static_cast<std::size_t>(U::is_inf) + 1> functions{};
    const auto set = [&](U op, UnaryFunction function) { functions[static_cast<std::size_t>(op)] = function; };
    set(U::sqrt, std::sqrt), set(U::rsqrt, inverse_sqrt), set(U::exp, std::exp), set(U::log, std::log), set(U::sin, std::sin), set(U::cos, std::cos);
    set(U::tan, std::tan), set(U::asin, std::asin), set(U::acos, std::acos), set(U::atan, std::atan), set(U::sinh, std::sinh), set(U::cosh, std::cosh);
    set(U::asinh, std::asinh), set(U::acosh, std::acosh), set(U::atanh, std::atanh), set(U::tanh, std::tanh), set(U::erf, std::erf);
    return functions;
  }();
  return table;
}

}  // namespace

// Reports the first failure of a kernel.
struct FailureReport {
  std::atomic<bool> failed{false};
  std::uint32_t site = 0;
  std::int64_t value = 0;
};

class CpuDevice {
 public:
  CpuDevice(void* library, int threads, std::size_t shared_bytes, std::size_t local_bytes)
      : library_(library), pool_(threads), shared_(shared_bytes), local_bytes_((local_bytes + 63) / 64 * 64) {
    local_.resize(local_bytes_ * static_cast<std::size_t>(pool_.threads()));
    services_.parallel_for = [](const bundle::KernelServices* services, bundle::ParallelBody body, void* closure, std::int64_t count) {
      auto& device = *static_cast<CpuDevice*>(services->context);
      device.pool_.parallel_for(count, [&](std::int64_t begin, std::int64_t end, int thread) {
        body(closure, begin, end, device.local_.data() + device.local_bytes_ * static_cast<std::size_t>(thread));
      });
    };
    services_.fail = [](const bundle::KernelServices* services, std::uint32_t site, std::int64_t value) {
      FailureReport& report = static_cast<CpuDevice*>(services->context)->report_;
      if (report.failed.exchange(true)) return;
      report.site = site;
      report.value = value;
    };
    services_.unary = unary_functions().data();
    services_.pow = std::pow;
    services_.fmod = std::fmod;
    services_.shared = shared_.data();
    services_.local = local_.data();
    services_.context = this;
  }
  ~CpuDevice() { dlclose(library_); }
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  bundle::Kernel find(const std::string& symbol) const { return reinterpret_cast<bundle::Kernel>(dlsym(library_, symbol.c_str())); }

  // Error: a rule that the kernel found broken.
  Result<void> run(bundle::Kernel kernel, const bundle::CpuStep& step, void* const* buffers) {
    report_.failed = false;
    kernel(&services_, buffers);
    if (!report_.failed) return {};
    const std::string what = report_.site < step.failures.size() ? step.failures[report_.site] : "a rule is broken";
    return Diagnostic{"the run failed", fmt::format("step {}", step.name), fmt::format("{}; the value is {}", what, report_.value), "check the model's inputs; `dovetail run --target interpreter` names the element"};
  }

 private:
  void* library_;
  ThreadPool pool_;
  AlignedBytes shared_, local_;
  std::size_t local_bytes_;
  bundle::KernelServices services_{};
  FailureReport report_;
};

namespace {

class CpuStep : public ReadyStep {
 public:
  CpuStep(std::shared_ptr<CpuDevice> device, const bundle::CpuStep& step, bundle::Kernel kernel) : device_(std::move(device)), step_(step), kernel_(kernel) {}

  std::string_view name() const override { return step_.name; }
  std::string_view target() const override { return "cpu"; }
  const std::vector<bundle::TensorIndex>& outputs() const override { return step_.results; }

  Result<simulator::Counters> run(const TensorValue& value, const TensorSlot& slot) override {
    buffers_.clear();
    for (const bundle::TensorIndex argument : step_.arguments) buffers_.push_back(const_cast<std::byte*>(value(argument).bytes().data()));  // kernels only read them
    for (const bundle::TensorIndex result : step_.results) buffers_.push_back(slot(result).bytes().data());
    DOVETAIL_TRY(device_->run(kernel_, step_, buffers_.data()));
    return simulator::Counters{};
  }

 private:
  std::shared_ptr<CpuDevice> device_;
  const bundle::CpuStep& step_;
  bundle::Kernel kernel_;
  std::vector<void*> buffers_;
};

Diagnostic cannot_load(const bundle::Bundle& bundle, std::string why, std::string hint) { return {"cannot load the kernels", "bundle " + bundle.name, std::move(why), std::move(hint)}; }

}  // namespace

Result<std::shared_ptr<CpuDevice>> load_cpu(const bundle::Bundle& bundle, int threads) {
  const bundle::CpuLibrary& library = *bundle.cpu;
  if (!runs_here(library.processor))
    return cannot_load(bundle, fmt::format("they are made for the processor class {}, which this machine does not belong to", library.processor), "compile with --cpu native on this machine, or with --cpu baseline");
  // Loaded from memory: nothing is left on disk, and no folder need be writable.
  const int file = memfd_create("dovetail-kernels", MFD_CLOEXEC);
  if (file < 0) return cannot_load(bundle, "the system gives no memory file", "Linux 3.17 or later is needed");
  std::size_t written = 0;
  while (written < library.object.size()) {
    const ssize_t count = write(file, library.object.data() + written, library.object.size() - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  void* handle = written == library.object.size() ? dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const char* error = handle ? nullptr : dlerror();
  close(file);
  if (handle == nullptr) return cannot_load(bundle, error ? error : "the memory file cannot be written", "make the bundle again with `dovetail compile`");
  std::uint64_t shared = 0, local = 0;
  for (const bundle::Step& step : bundle.steps)
    if (const auto* cpu = std::get_if<bundle::CpuStep>(&step)) {
      shared = std::max(shared, cpu->shared_bytes);
      local = std::max(local, cpu->local_bytes);
    }
  return std::make_shared<CpuDevice>(handle, threads > 0 ? threads : available_processors(), shared, local);
}

Result<std::unique_ptr<ReadyStep>> make_cpu_step(std::shared_ptr<CpuDevice> device, const bundle::CpuStep& step) {
  const bundle::Kernel kernel = device->find(step.symbol);
  if (kernel == nullptr) return Diagnostic{"cannot load the kernels", fmt::format("step {}", step.name), fmt::format("the shared object has no kernel \"{}\"", step.symbol), "make the bundle again with `dovetail compile`"};
  return std::unique_ptr<ReadyStep>(std::make_unique<CpuStep>(std::move(device), step, kernel));
}

}  // namespace dovetail::runtime
