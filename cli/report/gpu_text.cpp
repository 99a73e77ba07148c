#include "cli/report/gpu_text.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }
// The measured peak for such numbers: that of the tensor cores if they multiply this type, else that of the other
// units.
double ceiling_of(const explore::GpuPeak& peak, const std::string& numbers) {
  const auto found = peak.tensor_operations.find(numbers);
  return found == peak.tensor_operations.end() ? peak.float32_operations : found->second;
}
std::string share(double value, double ceiling) {
  return ceiling > 0 ? fmt::format("{:.0f} %", 100 * value / ceiling) : "-";
}

}  // namespace

std::string gpu_text(const driver::GpuProfile& profile, std::span<const driver::StepTime> times) {
  if (profile.steps.empty()) return {};
  const double bytes = profile.peak ? profile.peak->bytes : 0;
  std::string out = profile.peak ? fmt::format(
                                       "GPU           {:.2f} TFLOP/s float32 outside of tensor cores, {:.0f} GB/s, "
                                       "measured\n",
                                       profile.peak->float32_operations * 1e-12, bytes * 1e-9)
                                 : fmt::format("GPU           its ceilings were not measured: {}\n", profile.why);
  if (profile.peak && !profile.peak->tensor_operations.empty()) {
    std::vector<std::string> kinds;
    for (const auto& [kind, rate] : profile.peak->tensor_operations)
      kinds.push_back(fmt::format("{:.1f} {}", rate * 1e-12, kind));
    out += fmt::format("tensor cores  {} TFLOP/s, measured\n", fmt::join(kinds, ", "));
  }
  TextTable rates({"step", "target", ">time", ">TFLOP/s", ">utilization", ">GB/s", ">utilization"});
  TextTable kernels({"step", "kernel", ">blocks", ">threads", ">registers", ">spilled", ">shared", ">occupancy"});
  bool any = false;
  for (const auto& [index, step] : profile.steps) {
    const driver::StepTime& time = times[index];
    const double computed = rate(static_cast<double>(step.operations), time.seconds),
                 moved = rate(static_cast<double>(step.bytes), time.seconds);
    rates.add({time.name, time.target, driver::seconds_text(time.seconds), fmt::format("{:.3f}", computed * 1e-12),
               share(computed, profile.peak ? ceiling_of(*profile.peak, step.numbers) : 0),
               fmt::format("{:.1f}", moved * 1e-9), share(moved, bytes)});
    for (const runtime::KernelFacts& kernel : step.kernels) {
      any = true;
      kernels.add({time.name, kernel.symbol, with_separators(kernel.blocks), std::to_string(kernel.threads),
                   std::to_string(kernel.registers),
                   driver::bytes_text(static_cast<std::uint64_t>(kernel.spilled_bytes)),
                   driver::bytes_text(static_cast<std::uint64_t>(kernel.shared_bytes)),
                   fmt::format("{:.0f} %", 100 * kernel.occupancy)});
    }
  }
  out += rates.to_string();
  return any ? out + "\n" + kernels.to_string() : out;
}

std::pair<std::string, std::string> gpu_rate(const driver::GpuProfile& profile, const driver::GpuStep& step,
                                             double seconds) {
  const double computed = rate(static_cast<double>(step.operations), seconds);
  return {fmt::format("{:.1f}", computed * 1e-9),
          share(computed, profile.peak ? ceiling_of(*profile.peak, step.numbers) : 0)};
}

Json gpu_ceilings_json(const driver::GpuProfile& profile) {
  if (profile.steps.empty()) return nullptr;
  if (!profile.peak) return {{"why", profile.why}};
  return {{"float32_flop_per_s", profile.peak->float32_operations},
          {"tensor_cores_flop_per_s", profile.peak->tensor_operations},
          {"bytes_per_s", profile.peak->bytes}};
}

Json gpu_step_json(const driver::GpuProfile& profile, std::size_t step, double seconds) {
  const auto found = profile.steps.find(step);
  if (found == profile.steps.end()) return nullptr;
  const driver::GpuStep& gpu = found->second;
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
