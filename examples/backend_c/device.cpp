#include "examples/backend_c/backend_c.h"

#include <utility>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

namespace backend_c {

using namespace dovetail;

namespace {

using Function = void (*)(const float* const* arguments, float* const* results);

class Kernel : public runtime::DeviceKernel {
 public:
  Kernel(void* library, int file, Function function) : library_(library), file_(file), function_(function) {}
  ~Kernel() override {
    dlclose(library_);
    close(file_);
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  Result<void> run(std::span<const runtime::Operand> arguments, std::span<const runtime::Operand> results) override {
    std::vector<const float*> in;
    std::vector<float*> out;
    for (const runtime::Operand& argument : arguments)
      in.push_back(reinterpret_cast<const float*>(argument.bytes.data()));
    for (const runtime::Operand& result : results) out.push_back(reinterpret_cast<float*>(result.bytes.data()));
    function_(in.data(), out.data());
    return {};
  }

 private:
  void* library_;
  int file_;  // open as long as the library: the loader identifies libraries by path, which contains this number
  Function function_;
};

class CDevice : public runtime::Device {
 public:
  std::string_view name() const override { return "c"; }

  Result<runtime::DeviceProgram> load(const bundle::Bundle& bundle) override {
    runtime::DeviceProgram program;
    for (const bundle::Step& step : bundle.steps) {
      if (step.target != name()) continue;
      DOVETAIL_ASSIGN(auto kernel, load(step));
      program.kernels.push_back(std::move(kernel));
    }
    return program;
  }

 private:
  static Result<std::unique_ptr<runtime::DeviceKernel>> load(const bundle::Step& step) {
    const auto fail = [&](std::string why) {
      return Diagnostic{"cannot load C code", "step " + step.name, std::move(why), "compile the model again"};
    };
    const int file = memfd_create("backend_c", MFD_CLOEXEC);
    if (file < 0) return fail("the system cannot create a memory file");
    const bool written = write(file, step.code.data(), step.code.size()) == static_cast<ssize_t>(step.code.size());
    void* library = written ? dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    const auto function = library ? reinterpret_cast<Function>(dlsym(library, "region")) : nullptr;
    if (function != nullptr)
      return std::unique_ptr<runtime::DeviceKernel>(std::make_unique<Kernel>(library, file, function));
    const char* error = dlerror();
    if (library != nullptr) dlclose(library);
    close(file);
    return fail(error ? error : "the code is not a shared object with a function `region`");
  }
};

}  // namespace

std::shared_ptr<runtime::Device> make_device() { return std::make_shared<CDevice>(); }

}  // namespace backend_c
