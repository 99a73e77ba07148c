#include "cli/gpu_profile.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "bundle/code/cuda.h"
#include "bundle/code/library.h"
#include "cli/text.h"

namespace dovetail::cli {

namespace {

std::uint64_t bytes_of(const bundle::Bundle& bundle, const bundle::Step& step) {
  std::set<bundle::TensorIndex> tensors(step.arguments.begin(), step.arguments.end());
  tensors.insert(step.results.begin(), step.results.end());
  std::uint64_t bytes = 0;
  for (const bundle::TensorIndex tensor : tensors)
    bytes += bundle::size_bytes(bundle.tensors[static_cast<std::size_t>(tensor)]);
  return bytes;
}

double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }
// Of what works on such numbers: of tensor cores where they multiply them as they are.
double ceiling_of(const explore::GpuPeak& peak, const std::string& numbers) {
  const auto found = peak.tensor_operations.find(numbers);
  return found == peak.tensor_operations.end() ? peak.float32_operations : found->second;
}
std::string share(double value, double ceiling) {
  return ceiling > 0 ? fmt::format("{:.0f} %", 100 * value / ceiling) : "-";
}

}  // namespace

Result<GpuProfile> GpuProfile::make(const runtime::Executor& executor) {
  GpuProfile profile;
  const bundle::Bundle& bundle = executor.program();
  const auto add = [&](std::size_t index, const bundle::Step& step, std::uint64_t operations) {
    GpuStep& made = profile.steps_[index];
    made.operations = operations;
    made.bytes = bytes_of(bundle, step);
    made.kernels = executor.kernel_facts(index);
    if (!step.arguments.empty())
      made.numbers = name(bundle.tensors[static_cast<std::size_t>(step.arguments.front())].dtype);
  };
  DOVETAIL_ASSIGN(const auto launches, bundle::cuda_steps(bundle));
  for (const auto& [index, step, code] : launches) add(index, *step, code.operations);
  for (const std::string_view target : {bundle::kCublasTarget, bundle::kCudnnTarget}) {
    DOVETAIL_ASSIGN(const auto operations, bundle::library_steps(bundle, target));
    for (const auto& [index, step, code] : operations) add(index, *step, code.arithmetic);
  }
  if (!profile.has_steps()) return profile;
  auto peak = explore::measure_gpu_peak();
  if (peak.ok()) profile.peak_ = *peak;
  else profile.why_ = peak.errors().front().why;
  return profile;
}

std::string GpuProfile::text(std::span<const StepTime> times) const {
  if (steps_.empty()) return {};
  const double bytes = peak_ ? peak_->bytes : 0;
  std::string out = peak_ ? fmt::format(
                                "GPU           {:.2f} TFLOP/s float32 outside of tensor cores, {:.0f} GB/s, "
                                "measured\n",
                                peak_->float32_operations * 1e-12, bytes * 1e-9)
                          : fmt::format("GPU           its ceilings were not measured: {}\n", why_);
  if (peak_ && !peak_->tensor_operations.empty()) {
    std::vector<std::string> kinds;
    for (const auto& [kind, rate] : peak_->tensor_operations)
      kinds.push_back(fmt::format("{:.1f} {}", rate * 1e-12, kind));
    out += fmt::format("tensor cores  {} TFLOP/s, measured\n", fmt::join(kinds, ", "));
  }
  TextTable rates({"step", "target", ">time", ">TFLOP/s", ">of peak", ">GB/s", ">of peak"});
  TextTable kernels({"step", "kernel", ">blocks", ">threads", ">registers", ">spilled", ">shared", ">occupancy"});
  bool any = false;
  for (const auto& [index, step] : steps_) {
    const StepTime& time = times[index];
    const double computed = rate(static_cast<double>(step.operations), time.seconds),
                 moved = rate(static_cast<double>(step.bytes), time.seconds);
    rates.add({time.name, time.target, seconds_text(time.seconds), fmt::format("{:.3f}", computed * 1e-12),
               share(computed, peak_ ? ceiling_of(*peak_, step.numbers) : 0), fmt::format("{:.1f}", moved * 1e-9),
               share(moved, bytes)});
    for (const runtime::KernelFacts& kernel : step.kernels) {
      any = true;
      kernels.add({time.name, kernel.symbol, with_separators(kernel.blocks), std::to_string(kernel.threads),
                   std::to_string(kernel.registers), bytes_text(static_cast<std::uint64_t>(kernel.spilled_bytes)),
                   bytes_text(static_cast<std::uint64_t>(kernel.shared_bytes)),
                   fmt::format("{:.0f} %", 100 * kernel.occupancy)});
    }
  }
  out += rates.to_string();
  return any ? out + "\n" + kernels.to_string() : out;
}

Json GpuProfile::ceilings() const {
  if (steps_.empty()) return nullptr;
  if (!peak_) return {{"why", why_}};
  return {{"float32_flop_per_s", peak_->float32_operations},
          {"tensor_cores_flop_per_s", peak_->tensor_operations},
          {"bytes_per_s", peak_->bytes}};
}

Json GpuProfile::json(std::size_t step, double seconds) const {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return nullptr;
  const GpuStep& gpu = found->second;
  Json kernels = Json::array();
  for (const runtime::KernelFacts& kernel : gpu.kernels)
    kernels.push_back({{"kernel", kernel.symbol},
                       {"blocks", kernel.blocks},
                       {"threads", kernel.threads},
                       {"registers", kernel.registers},
                       {"spilled_bytes", kernel.spilled_bytes},
                       {"shared_bytes", kernel.shared_bytes},
                       {"occupancy", kernel.occupancy}});
  return {{"operations", gpu.operations},
          {"bytes", gpu.bytes},
          {"flop_per_s", rate(static_cast<double>(gpu.operations), seconds)},
          {"bytes_per_s", rate(static_cast<double>(gpu.bytes), seconds)},
          {"kernels", kernels}};
}

}  // namespace dovetail::cli
