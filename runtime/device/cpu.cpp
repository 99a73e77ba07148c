// Kernels of a bundle's shared object, on a pool of threads.
#include <algorithm>
#include <utility>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/processor.h"
#include "bundle/code/cpu.h"
#include "bundle/code/kernel_host.h"
#include "runtime/device/all.h"

namespace dovetail::runtime {

namespace {

// The shared object, loaded, with the threads that run its kernels.
class KernelLibrary {
 public:
  KernelLibrary(void* library, int file, int threads, std::size_t shared_bytes, std::size_t local_bytes)
      : host(threads, shared_bytes, local_bytes), library_(library), file_(file) {}
  ~KernelLibrary() {
    dlclose(library_);
    close(file_);
  }
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  bundle::Kernel find(const std::string& symbol) const {
    return reinterpret_cast<bundle::Kernel>(dlsym(library_, symbol.c_str()));
  }

  bundle::KernelHost host;

 private:
  void* library_;
  int file_;  // open as long as the library is there: the loader knows libraries by path, and the path holds this
              // number
};

class CpuKernel : public DeviceKernel {
 public:
  CpuKernel(std::shared_ptr<KernelLibrary> library, bundle::Kernel kernel, const bundle::CpuCode& code, Work* work)
      : library_(std::move(library)),
        kernel_(kernel),
        failures_(code.failures),
        operations_(code.operations),
        work_(work) {}

  Result<void> run(std::span<const Operand> arguments, std::span<const Operand> results) override {
    buffers_.clear();
    for (const auto& operands : {arguments, results})
      for (const Operand& operand : operands) buffers_.push_back(operand.bytes.data());
    if (work_ != nullptr && work_->stopped()) return work_->stopped_at("");
    DOVETAIL_TRY(library_->host.run(kernel_, buffers_.data(), failures_, ""));
    if (work_ != nullptr) work_->count(operations_);
    return {};
  }
  WorkEstimate estimate_work() const override {
    return {operations_, static_cast<double>(operations_) / kOperationsPerSecond / library_->host.threads()};
  }

 private:
  static constexpr double kOperationsPerSecond = 10e9;  // of one thread: a slow kernel's

  std::shared_ptr<KernelLibrary> library_;
  bundle::Kernel kernel_;
  std::vector<std::string> failures_;
  std::uint64_t operations_;
  Work* work_;
  std::vector<void*> buffers_;
};

Diagnostic cannot_load(const bundle::Bundle& bundle, std::string why, std::string hint) {
  return {"cannot load the kernels", "bundle " + bundle.name, std::move(why), std::move(hint)};
}

class CpuDevice : public Device {
 public:
  CpuDevice(int threads, Work* work) : threads_(threads), work_(work) {}

  std::string_view name() const override { return bundle::kCpuTarget; }

  Result<void> check(const bundle::Bundle& bundle) override {
    DOVETAIL_TRY(bundle::cpu_steps(bundle));
    return {};
  }

  Result<DeviceProgram> load(const bundle::Bundle& bundle) override {
    DOVETAIL_ASSIGN(const auto steps, bundle::cpu_steps(bundle));
    DeviceProgram program;
    if (steps.empty()) return program;
    DOVETAIL_ASSIGN(const auto library, load_library(bundle, steps));
    for (const auto& step : steps) {
      const bundle::Kernel kernel = library->find(step.code.symbol);
      if (kernel == nullptr)
        return Diagnostic{"cannot load the kernels", fmt::format("step {}", step.step->name),
                          fmt::format("the shared object has no kernel \"{}\"", step.code.symbol),
                          "make the bundle again with `dovetail compile`"};
      program.kernels.push_back(std::make_unique<CpuKernel>(library, kernel, step.code, work_));
    }
    return program;
  }

 private:
  Result<std::shared_ptr<KernelLibrary>> load_library(
      const bundle::Bundle& bundle, const std::vector<bundle::CodedStep<bundle::CpuCode>>& steps) const {
    const bundle::Module& module = *bundle::find_module(bundle, bundle::kCpuTarget);
    if (!runs_here(module.made_for))
      return cannot_load(bundle,
                         fmt::format("they are made for the processor class {}, which this machine does not belong to",
                                     module.made_for),
                         "compile with --cpu native on this machine, or with --cpu baseline");
    // Loaded from memory: nothing is left on disk, and no folder need be writable.
    const int file = memfd_create("dovetail-kernels", MFD_CLOEXEC);
    if (file < 0) return cannot_load(bundle, "the system gives no memory file", "Linux 3.17 or later is needed");
    std::size_t written = 0;
    while (written < module.code.size()) {
      const ssize_t count = write(file, module.code.data() + written, module.code.size() - written);
      if (count <= 0) break;
      written += static_cast<std::size_t>(count);
    }
    void* handle = written == module.code.size()
                       ? dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL)
                       : nullptr;
    const char* error = handle ? nullptr : dlerror();
    if (handle == nullptr) close(file);
    if (handle == nullptr)
      return cannot_load(bundle, error ? error : "the memory file cannot be written",
                         "make the bundle again with `dovetail compile`");
    std::uint64_t shared = 0, local = 0;
    for (const auto& step : steps) {
      shared = std::max(shared, step.code.shared_bytes);
      local = std::max(local, step.code.local_bytes);
    }
    return std::make_shared<KernelLibrary>(handle, file, threads_, shared, local);
  }

  int threads_;
  Work* work_;
};

}  // namespace

std::shared_ptr<Device> make_cpu_device(int threads, Work* work) { return std::make_shared<CpuDevice>(threads, work); }

}  // namespace dovetail::runtime
