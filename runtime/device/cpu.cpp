// Kernels of a bundle's shared object, on a pool of threads.
#include <algorithm>
#include <utility>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/processor.h"
#include "bundle/kernel_host.h"
#include "runtime/step.h"

namespace dovetail::runtime {

class CpuDevice {
 public:
  CpuDevice(void* library, int file, int threads, std::size_t shared_bytes, std::size_t local_bytes)
      : host(threads, shared_bytes, local_bytes), library_(library), file_(file) {}
  ~CpuDevice() {
    dlclose(library_);
    close(file_);
  }
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  bundle::Kernel find(const std::string& symbol) const {
    return reinterpret_cast<bundle::Kernel>(dlsym(library_, symbol.c_str()));
  }

  bundle::KernelHost host;

 private:
  void* library_;
  int file_;  // open as long as the library is there: the loader knows libraries by path, and the path holds this
              // number
};

namespace {

class CpuStep : public ReadyStep {
 public:
  CpuStep(std::shared_ptr<CpuDevice> device, const bundle::CpuStep& step, bundle::Kernel kernel)
      : device_(std::move(device)), step_(step), kernel_(kernel) {}

  std::string_view name() const override { return step_.name; }
  std::string_view target() const override { return "cpu"; }

  Result<simulator::Counters> run(TensorMemory& memory) override {
    buffers_.clear();
    for (const bundle::TensorIndex argument : step_.arguments)
      buffers_.push_back(const_cast<std::byte*>(memory.read(argument).data()));  // kernels only read them
    for (const bundle::TensorIndex result : step_.results) buffers_.push_back(memory.write(result).data());
    DOVETAIL_TRY(device_->host.run(kernel_, buffers_.data(), step_.failures, fmt::format("step {}", step_.name)));
    return simulator::Counters{};
  }

 private:
  std::shared_ptr<CpuDevice> device_;
  const bundle::CpuStep& step_;
  bundle::Kernel kernel_;
  std::vector<void*> buffers_;
};

Diagnostic cannot_load(const bundle::Bundle& bundle, std::string why, std::string hint) {
  return {"cannot load the kernels", "bundle " + bundle.name, std::move(why), std::move(hint)};
}

}  // namespace

Result<std::shared_ptr<CpuDevice>> load_cpu(const bundle::Bundle& bundle, int threads) {
  const bundle::CpuLibrary& library = *bundle.cpu;
  if (!runs_here(library.processor))
    return cannot_load(bundle,
                       fmt::format("they are made for the processor class {}, which this machine does not belong to",
                                   library.processor),
                       "compile with --cpu native on this machine, or with --cpu baseline");
  // Loaded from memory: nothing is left on disk, and no folder need be writable.
  const int file = memfd_create("dovetail-kernels", MFD_CLOEXEC);
  if (file < 0) return cannot_load(bundle, "the system gives no memory file", "Linux 3.17 or later is needed");
  std::size_t written = 0;
  while (written < library.object.size()) {
    const ssize_t count = write(file, library.object.data() + written, library.object.size() - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  void* handle = written == library.object.size()
                     ? dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL)
                     : nullptr;
  const char* error = handle ? nullptr : dlerror();
  if (handle == nullptr) close(file);
  if (handle == nullptr)
    return cannot_load(bundle, error ? error : "the memory file cannot be written",
                       "make the bundle again with `dovetail compile`");
  std::uint64_t shared = 0, local = 0;
  for (const bundle::Step& step : bundle.steps)
    if (const auto* cpu = std::get_if<bundle::CpuStep>(&step)) {
      shared = std::max(shared, cpu->shared_bytes);
      local = std::max(local, cpu->local_bytes);
    }
  return std::make_shared<CpuDevice>(handle, file, threads, shared, local);
}

Result<std::unique_ptr<ReadyStep>> make_cpu_step(std::shared_ptr<CpuDevice> device, const bundle::CpuStep& step) {
  const bundle::Kernel kernel = device->find(step.symbol);
  if (kernel == nullptr)
    return Diagnostic{"cannot load the kernels", fmt::format("step {}", step.name),
                      fmt::format("the shared object has no kernel \"{}\"", step.symbol),
                      "make the bundle again with `dovetail compile`"};
  return std::unique_ptr<ReadyStep>(std::make_unique<CpuStep>(std::move(device), step, kernel));
}

}  // namespace dovetail::runtime
