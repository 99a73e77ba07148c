#include "driver/targets.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/machine_code_permission.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "bundle/code/cuda.h"
#include "bundle/code/host.h"
#include "bundle/code/library.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/cpu/library.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/cublas/target.h"
#include "compiler/target/cuda/nvrtc.h"
#include "compiler/target/cuda/target.h"
#include "compiler/target/cudnn/target.h"
#include "compiler/target/host/target.h"
#include "compiler/target/onednn/target.h"
#include "compiler/target/portable/target.h"
#include "runtime/device/cublas/library.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cudnn/library.h"
#include "runtime/device/onednn/library.h"

namespace dovetail::driver {

namespace {

Result<TargetPointer> make_accel(const TargetOptions& options, bool) {
  return accel::make_target(options.hardware, options.clock_mhz, nullptr, options.counting, options.division);
}

Result<TargetPointer> make_cpu(const TargetOptions& options, bool asked) {
  if (options.cpu == kInterpreter) return cpu::make_target(std::nullopt);
  if (options.cpu == kPortable) return portable::make_target();
  if (asked && options.exported.empty()) DOVETAIL_TRY(check_machine_code("cannot compile", "target cpu"));
  // If the user did not ask for the CPU and this machine's processor is not supported, its nodes are interpreted.
  if (options.cpu == "native" && !asked && !options.check_bounds) return cpu::make_native_target();
  DOVETAIL_ASSIGN(cpu::Cpu processor, cpu::find_cpu(options.cpu));
  if (options.check_bounds) processor = cpu::with_checked_bounds(std::move(processor));
  if (!options.exported.empty()) processor = cpu::exported(std::move(processor));
  if (!processor.is_exported && !processor.loads_bundles())
    return Diagnostic{"invalid value for --cpu", options.cpu,
                      "nothing can load a bundle's kernels on this processor: it has no operating system",
                      "name a processor of 64 bits, or export the model as an object for this one"};
  if (processor.vector_bytes > 0) return cpu::make_target(std::move(processor), options.exported);
  return portable::make_target(
      [processor, prefix = options.exported] { return std::make_unique<cpu::KernelLibrary>(processor, prefix); });
}

Result<TargetPointer> make_cuda(const TargetOptions& options, bool asked) {
  if (asked) {
    DOVETAIL_ASSIGN(cuda::Gpu gpu, gpu_of(options));
    return cuda::make_target(std::move(gpu));
  }
  DOVETAIL_ASSIGN(cuda::Gpu gpu, cuda::parse_gpu("--gpu", options.gpu));
  gpu.tf32 = options.tf32;
  return cuda::make_target(std::move(gpu));
}

Result<TargetPointer> make_onednn(const TargetOptions&, bool) { return onednn::make_target(); }

Result<TargetPointer> make_cublas(const TargetOptions& options, bool) { return cublas::make_target(options.tf32); }

Result<TargetPointer> make_cudnn(const TargetOptions& options, bool) { return cudnn::make_target(options.tf32); }

Result<TargetPointer> make_host(const TargetOptions&, bool) { return host::make_target(); }

Result<void> check_cpu() {
  DOVETAIL_TRY(cpu::find_cpu("native"));
  return {};
}
Result<void> check_onednn() {
  DOVETAIL_TRY(runtime::onednn::Library::find());
  return {};
}
Result<void> check_cuda() {
  DOVETAIL_TRY(runtime::cuda::find_device());
  return {};
}
Result<void> check_cublas() {
  DOVETAIL_TRY(runtime::cublas::Library::find());
  return check_cuda();
}
Result<void> check_cudnn() {
  DOVETAIL_TRY(runtime::cudnn::Library::find());
  return check_cuda();
}

}  // namespace

std::vector<std::string> bundle_processors() {
  std::vector<std::string> names{"native"};
  for (const auto& list : {cpu::cpus(), cpu::other_cpus()})
    for (const cpu::Cpu& cpu : list)
      if (cpu.loads_bundles()) names.push_back(cpu.name);
  return names;
}

Result<cuda::Gpu> gpu_of(const TargetOptions& options) {
  DOVETAIL_ASSIGN(cuda::Gpu gpu, cuda::parse_gpu("--gpu", options.gpu));
  gpu.tf32 = options.tf32;
  DOVETAIL_TRY(check_machine_code("cannot compile", "target cuda"));
  DOVETAIL_TRY(cuda::Nvrtc::find());
  // The driver is not opened if the list already has the device: `tune` asks a child process for it, since a process
  // that used the driver cannot fork children that use it.
  const bool all_known = std::ranges::all_of(
      gpu.architectures, [&](const std::string& name) { return gpu.known_processors.contains(name); });
  if (!all_known)
    if (const auto device = runtime::cuda::find_device(); device.ok())
      gpu = cuda::made_for_device(std::move(gpu), device->capability, device->processors);
  return gpu;
}

std::span<const TargetRow> target_table() {
  // clang-format off
  static const TargetRow kTargets[] = {
      {bundle::kAccelFacts, "the accelerator, on one of the engines above", make_accel, nullptr, "cpu", true},
      {bundle::kCpuFacts, "processors, through LLVM", make_cpu, check_cpu, "", true},
      {bundle::kHostFacts, "this machine: loop programs, interpreted", make_host, nullptr, "", true},
      {bundle::kOnednnFacts, "oneDNN on the CPU", make_onednn, check_onednn, "cpu"},
      {bundle::kCudaFacts, "NVIDIA GPUs", make_cuda, check_cuda},
      {bundle::kCublasFacts, "cuBLAS on NVIDIA GPUs: products", make_cublas, check_cublas, "cuda"},
      {bundle::kCudnnFacts, "cuDNN on NVIDIA GPUs: convolutions, pools, softmax", make_cudnn, check_cudnn, "cublas,cuda"},
  };
  // clang-format on
  return kTargets;
}

bool is_available(const TargetRow& row) { return missing(row).empty(); }

std::string missing(const TargetRow& row) {
  if (row.check_here == nullptr) return {};
  const Result<void> here = row.check_here();
  return here.ok() ? "" : fmt::format("{}; {}", here.errors().front().why, here.errors().front().hint);
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const TargetRow& row : target_table()) names.emplace_back(row.name());
  return names;
}

Result<std::vector<TargetPointer>> make_targets(const TargetOptions& options, std::span<const std::string> asked) {
  std::vector<TargetPointer> targets;
  for (const TargetRow& row : target_table()) {
    DOVETAIL_ASSIGN(TargetPointer target,
                    row.make(options, std::find(asked.begin(), asked.end(), row.name()) != asked.end()));
    targets.push_back(std::move(target));
  }
  return targets;
}

Result<void> check_targets(std::string_view source, std::span<const std::string> names) {
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{fmt::format("invalid value for {}", source), fmt::format("{}", fmt::join(names, ",")),
                      std::move(why), std::move(hint)};
  };
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::ranges::find(target_table(), *name, &TargetRow::name) == target_table().end())
      return bad(fmt::format("there is no target \"{}\"", *name),
                 fmt::format("targets of this version: {}", fmt::join(target_names(), ", ")));
    if (std::find(names.begin(), name, *name) != name)
      return bad(fmt::format("{} is listed twice", *name), "name each target once, in order of preference");
  }
  return {};
}

}  // namespace dovetail::driver
