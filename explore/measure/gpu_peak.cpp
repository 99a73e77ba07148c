#include "explore/measure/gpu_peak.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bundle/code/cuda.h"
#include "compiler/target/cuda/nvrtc.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/launches.h"

namespace dovetail::explore {

namespace {

using runtime::cuda::Allocation;
using runtime::cuda::Context;

constexpr std::uint64_t kThreads = 256, kChains = 8, kSteps = 512;  // multiply-adds of a thread's chain
constexpr std::uint64_t kBytesOfThread = 16, kMostCopied = std::uint64_t{1} << 30;
// Work grows until it takes that long on the device, so that beginning and end do not count, or here.
constexpr double kEnoughSeconds = 5e-3, kMostHostSeconds = 0.1;

// As many chains as hide the latency of a multiply-add; what they come to is written, so that it is computed.
std::string multiply_text() {
  std::string declare, step, sum;
  for (std::uint64_t i = 0; i < kChains; ++i) {
    declare += fmt::format("  float v{} = x + {}.0f;\n", i, i);
    step += fmt::format("    v{0} = __builtin_fmaf(v{0}, 0.999f, x);\n", i);
    sum += fmt::format("{}v{}", i == 0 ? "" : " + ", i);
  }
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}) multiply(float* out) {{\n"
      "  const float x = 0.001f * (float)threadIdx.x;\n{1}"
      "  for (int i = 0; i < {2}; ++i) {{\n{3}  }}\n"
      "  out[blockIdx.x * {0} + threadIdx.x] = {4};\n}}\n",
      kThreads, declare, kSteps, step, sum);
}

// Sixteen bytes a thread at a time.
std::string copy_text() {
  return fmt::format(
      "struct alignas({1}) Piece {{ float a, b, c, d; }};\n"
      "extern \"C\" __global__ void __launch_bounds__({0}) copy(Piece* to, Piece* from) {{\n"
      "  const unsigned i = blockIdx.x * {0} + threadIdx.x;\n  to[i] = from[i];\n}}\n",
      kThreads, kBytesOfThread);
}

// Of the shortest of some runs.
Result<double> seconds_of(const Context& context, runtime::cuda::StreamWork& work,
                          std::span<const runtime::cuda::Address> tensors) {
  const auto& driver = context.driver();
  struct Events {
    const runtime::cuda::Driver& driver;
    runtime::cuda::EventHandle begin = nullptr, end = nullptr;
    ~Events() {
      for (const auto event : {begin, end})
        if (event != nullptr) driver.destroy_event(event);
    }
  } events{driver};
  DOVETAIL_TRY(driver.check(driver.create_event(&events.begin, 0), "making an event"));
  DOVETAIL_TRY(driver.check(driver.create_event(&events.end, 0), "making an event"));
  double best = 0;
  constexpr int kRuns = 5;  // the first wakes the device
  for (int run = 0; run < kRuns; ++run) {
    DOVETAIL_TRY(driver.check(driver.record_event(events.begin, context.stream()), "recording an event"));
    DOVETAIL_TRY(work.begin(tensors, 0));
    DOVETAIL_TRY(driver.check(driver.record_event(events.end, context.stream()), "recording an event"));
    DOVETAIL_TRY(driver.check(driver.synchronize_event(events.end), "waiting for the kernels"));
    float milliseconds = 0;
    DOVETAIL_TRY(driver.check(driver.elapsed(&milliseconds, events.begin, events.end), "reading the time"));
    const double seconds = static_cast<double>(milliseconds) * 1e-3;
    if (seconds > 0 && (best == 0 || seconds < best)) best = seconds;
  }
  return best;
}

// A kernel of a module of its own, in as many blocks as are asked for.
class PeakKernel {
 public:
  static Result<PeakKernel> make(std::shared_ptr<Context> context, const cuda::Nvrtc& nvrtc, const std::string& text,
                                 std::string symbol, std::uint64_t operands) {
    PeakKernel kernel;
    const std::string architecture = fmt::format("sm_{}", context->facts().capability);
    DOVETAIL_ASSIGN(cuda::Binary binary, nvrtc.compile(text, architecture));
    bundle::CudaLaunch launch{std::move(symbol), {1, 1, 1}, {kThreads, 1, 1}, {}, false};
    for (std::uint64_t i = 0; i < operands; ++i) launch.operands.push_back({false, i, 0});
    kernel.code_.kernels.push_back({{std::move(launch)}, {{architecture, false, std::move(binary.cubin)}}, 0});
    kernel.context_ = std::move(context);
    return kernel;
  }
  Result<double> seconds(std::uint64_t blocks, std::span<const runtime::cuda::Address> tensors) {
    code_.kernels.front().launches.front().grid[0] = blocks;
    DOVETAIL_ASSIGN(const auto work, runtime::cuda::make_launches(context_, code_, 0));
    return seconds_of(*context_, *work, tensors);
  }

 private:
  std::shared_ptr<Context> context_;
  bundle::CudaCode code_;
};

class HostClock {
 public:
  bool is_over() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > kMostHostSeconds;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Result<double> measure_multiply_adds(const std::shared_ptr<Context>& context, const cuda::Nvrtc& nvrtc) {
  DOVETAIL_ASSIGN(PeakKernel kernel, PeakKernel::make(context, nvrtc, multiply_text(), "multiply", 1));
  constexpr std::uint64_t kMostBlocks = 1 << 20;
  const HostClock clock;
  for (auto blocks = static_cast<std::uint64_t>(std::max(context->facts().processors, 1));; blocks *= 2) {
    DOVETAIL_ASSIGN(const Allocation out, Allocation::make(context, blocks * kThreads * sizeof(float)));
    const std::array<runtime::cuda::Address, 1> tensors{out.address()};
    DOVETAIL_ASSIGN(const double seconds, kernel.seconds(blocks, tensors));
    if (seconds < kEnoughSeconds && !clock.is_over() && blocks < kMostBlocks) continue;
    return seconds > 0 ? 2.0 * static_cast<double>(kChains * kSteps * blocks * kThreads) / seconds : 0;
  }
}

Result<double> measure_copies(const std::shared_ptr<Context>& context, const cuda::Nvrtc& nvrtc) {
  DOVETAIL_ASSIGN(PeakKernel kernel, PeakKernel::make(context, nvrtc, copy_text(), "copy", 2));
  const HostClock clock;
  for (std::uint64_t bytes = 4 << 20;; bytes *= 4) {
    DOVETAIL_ASSIGN(const Allocation to, Allocation::make(context, bytes));
    DOVETAIL_ASSIGN(const Allocation from, Allocation::make(context, bytes));
    const std::array<runtime::cuda::Address, 2> tensors{to.address(), from.address()};
    DOVETAIL_ASSIGN(const double seconds, kernel.seconds(bytes / (kThreads * kBytesOfThread), tensors));
    if (seconds < kEnoughSeconds && !clock.is_over() && bytes < kMostCopied) continue;
    return seconds > 0 ? 2.0 * static_cast<double>(bytes) / seconds : 0;
  }
}

}  // namespace

Result<GpuPeak> measure_gpu_peak() {
  DOVETAIL_ASSIGN(const std::shared_ptr<const cuda::Nvrtc> nvrtc, cuda::Nvrtc::find());
  DOVETAIL_ASSIGN(const std::shared_ptr<Context> context, Context::open());
  GpuPeak peak;
  DOVETAIL_ASSIGN(peak.float32_operations, measure_multiply_adds(context, *nvrtc));
  DOVETAIL_ASSIGN(peak.bytes, measure_copies(context, *nvrtc));
  return peak;
}

}  // namespace dovetail::explore
