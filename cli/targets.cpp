#include "cli/targets.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/target/accel/target.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/cublas/target.h"
#include "compiler/target/cuda/nvrtc.h"
#include "compiler/target/cuda/target.h"
#include "compiler/target/cudnn/target.h"
#include "compiler/target/host/target.h"
#include "compiler/target/onednn/target.h"
#include "runtime/device/cublas/library.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cudnn/library.h"
#include "runtime/device/onednn/library.h"

namespace dovetail::cli {

namespace {

Result<TargetPointer> make_accel(const TargetArguments& arguments, bool) {
  return accel::make_target(arguments.hardware, arguments.clock_mhz, nullptr, arguments.counting);
}

Result<TargetPointer> make_cpu(const TargetArguments& arguments, bool asked) {
  if (arguments.cpu == kInterpreter) return cpu::make_target(std::nullopt);
  // Where nobody asked for the CPU, its nodes may as well be interpreted.
  if (arguments.cpu == "native" && !asked && !arguments.check_bounds) return cpu::make_native_target();
  DOVETAIL_ASSIGN(cpu::Cpu processor, cpu::find_cpu(arguments.cpu));
  if (arguments.check_bounds) processor = cpu::with_checked_bounds(std::move(processor));
  return cpu::make_target(std::move(processor));
}

Result<TargetPointer> make_cuda(const TargetArguments& arguments, bool asked) {
  DOVETAIL_ASSIGN(cuda::Gpu gpu, cuda::parse_gpu("--gpu", arguments.gpu));
  gpu.tf32 = arguments.tf32;
  if (asked) {
    DOVETAIL_TRY(cuda::Nvrtc::find());
    // Not where the list says it: `tune` has asked a child, as a process that has used the driver cannot fork one that
    // does.
    const bool all_known = std::ranges::all_of(
        gpu.architectures, [&](const std::string& name) { return gpu.known_processors.contains(name); });
    if (!all_known)
      if (const auto device = runtime::cuda::find_device(); device.ok())
        gpu = cuda::made_for_device(std::move(gpu), device->capability, device->processors);
  }
  return cuda::make_target(std::move(gpu));
}

Result<TargetPointer> make_onednn(const TargetArguments&, bool) { return onednn::make_target(); }

Result<TargetPointer> make_cublas(const TargetArguments& arguments, bool) {
  return cublas::make_target(arguments.tf32);
}

Result<TargetPointer> make_cudnn(const TargetArguments& arguments, bool) { return cudnn::make_target(arguments.tf32); }

Result<TargetPointer> make_host(const TargetArguments&, bool) { return host::make_target(); }

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

// clang-format off
constexpr std::array<TargetRow, 7> kTargets{{
    {"accel", "the accelerator, on one of the engines above", make_accel, nullptr, "cpu"},
    {"cpu", "x86-64 processors, through LLVM", make_cpu, check_cpu},
    {"host", "this machine: loop programs, interpreted", make_host},
    {"onednn", "oneDNN on the CPU", make_onednn, check_onednn, "cpu"},
    {"cuda", "NVIDIA GPUs", make_cuda, check_cuda},
    {"cublas", "cuBLAS on NVIDIA GPUs: products", make_cublas, check_cublas, "cuda"},
    {"cudnn", "cuDNN on NVIDIA GPUs: convolutions, pools, softmax", make_cudnn, check_cudnn, "cublas,cuda"},
}};
// clang-format on

}  // namespace

std::span<const TargetRow> target_table() { return kTargets; }

bool is_available(const TargetRow& row) { return missing(row).empty(); }

std::string missing(const TargetRow& row) {
  if (row.check_here == nullptr) return {};
  const Result<void> here = row.check_here();
  return here.ok() ? "" : fmt::format("{}; {}", here.errors().front().why, here.errors().front().hint);
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const TargetRow& row : kTargets) names.emplace_back(row.name);
  return names;
}

Result<std::vector<TargetPointer>> make_targets(const TargetArguments& arguments, std::span<const std::string> asked) {
  std::vector<TargetPointer> targets;
  for (const TargetRow& row : kTargets) {
    DOVETAIL_ASSIGN(TargetPointer target,
                    row.make(arguments, std::find(asked.begin(), asked.end(), row.name) != asked.end()));
    targets.push_back(std::move(target));
  }
  return targets;
}

Result<std::vector<std::string>> parse_targets(std::string_view option, std::string_view text) {
  std::vector<std::string> targets;
  const std::vector<std::string> names = target_names();
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{fmt::format("bad value of {}", option), std::string(text), std::move(why), std::move(hint)};
  };
  const std::string hint = fmt::format("targets of this version: {}", fmt::join(names, ", "));
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string target(text.substr(begin, end - begin));
    if (std::ranges::find(kTargets, target, &TargetRow::name) == kTargets.end())
      return bad(fmt::format("there is no target \"{}\"", target), hint);
    if (std::ranges::find(targets, target) != targets.end())
      return bad(fmt::format("{} is listed twice", target), "name each target once, in order of preference");
    targets.push_back(target);
    begin = end + 1;
  }
  return targets;
}

}  // namespace dovetail::cli
