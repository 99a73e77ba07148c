#include "explore/measure/gpu_peak.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bundle/code/cuda.h"
#include "compiler/target/cuda/gpu.h"
#include "compiler/target/cuda/intrinsics.h"
#include "compiler/target/cuda/nvrtc.h"
#include "explore/measure/gpu_peak_texts.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/launches.h"

namespace dovetail::explore {

namespace {

using runtime::cuda::Allocation;
using runtime::cuda::Context;

constexpr std::uint64_t kMostCopied = std::uint64_t{1} << 30;
// The work is increased until it runs this long on the device, so that launch overhead is negligible, or this long on
// the host.
constexpr double kEnoughSeconds = 5e-3, kMostHostSeconds = 0.1;

// The time of the fastest of some runs.
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
  constexpr int kRuns = 5;  // the first run wakes the device
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

// A kernel with a given number of blocks.
class PeakKernel {
 public:
  PeakKernel(std::shared_ptr<Context> context, bundle::CudaImage image, std::string symbol, std::uint64_t threads,
             std::uint64_t operands, std::uint64_t shared_bytes = 0)
      : context_(std::move(context)) {
    bundle::CudaLaunch launch{std::move(symbol), {1, 1, 1}, {threads, 1, 1}, {}, false, shared_bytes};
    for (std::uint64_t i = 0; i < operands; ++i) launch.operands.push_back({false, i, 0});
    code_.kernels.push_back({{std::move(launch)}, {std::move(image)}, 0});
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

Result<bundle::CudaImage> image_of(const cuda::Nvrtc& nvrtc, const std::string& text, const std::string& architecture) {
  DOVETAIL_ASSIGN(cuda::Binary binary, nvrtc.compile(text, architecture));
  return bundle::CudaImage{architecture, false, std::move(binary.cubin)};
}

class HostClock {
 public:
  bool is_over() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > kMostHostSeconds;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::uint64_t processors_of(const Context& context) {
  return static_cast<std::uint64_t>(std::max(context.facts().processors, 1));
}

Result<double> measure_multiply_adds(const std::shared_ptr<Context>& context, const cuda::Nvrtc& nvrtc,
                                     const std::string& architecture) {
  DOVETAIL_ASSIGN(bundle::CudaImage image, image_of(nvrtc, multiply_text(), architecture));
  PeakKernel kernel(context, std::move(image), "multiply", kPeakThreads, 1);
  constexpr std::uint64_t kMostBlocks = 1 << 20;
  const HostClock clock;
  for (std::uint64_t blocks = processors_of(*context);; blocks *= 2) {
    DOVETAIL_ASSIGN(const Allocation out, Allocation::make(context, blocks * kPeakThreads * sizeof(float)));
    const std::array<runtime::cuda::Address, 1> tensors{out.address()};
    DOVETAIL_ASSIGN(const double seconds, kernel.seconds(blocks, tensors));
    if (seconds < kEnoughSeconds && !clock.is_over() && blocks < kMostBlocks) continue;
    return seconds > 0 ? 2.0 * static_cast<double>(kPeakChains * kPeakSteps * blocks * kPeakThreads) / seconds : 0;
  }
}

Result<double> measure_copies(const std::shared_ptr<Context>& context, const cuda::Nvrtc& nvrtc,
                              const std::string& architecture) {
  DOVETAIL_ASSIGN(bundle::CudaImage image, image_of(nvrtc, copy_text(), architecture));
  PeakKernel kernel(context, std::move(image), "copy", kPeakThreads, 2);
  const HostClock clock;
  for (std::uint64_t bytes = 4 << 20;; bytes *= 4) {
    DOVETAIL_ASSIGN(const Allocation to, Allocation::make(context, bytes));
    DOVETAIL_ASSIGN(const Allocation from, Allocation::make(context, bytes));
    const std::array<runtime::cuda::Address, 2> tensors{to.address(), from.address()};
    DOVETAIL_ASSIGN(const double seconds, kernel.seconds(bytes / (kPeakThreads * kBytesOfPeakThread), tensors));
    if (seconds < kEnoughSeconds && !clock.is_over() && bytes < kMostCopied) continue;
    return seconds > 0 ? 2.0 * static_cast<double>(bytes) / seconds : 0;
  }
}

// The steps of a block grow first, then the number of blocks.
Result<double> measure_products(const std::shared_ptr<Context>& context, const bundle::CudaImage& image,
                                const TensorPeak& peak) {
  PeakKernel kernel(context, image, peak.name, peak.threads, 2, peak.shared_bytes);
  constexpr std::uint64_t kBlocksOfProcessor = 4, kMostBlocks = 1 << 16;
  constexpr std::int32_t kEnoughSteps = 1024;
  const HostClock clock;
  std::int32_t steps = 1;
  const std::uint64_t fewest = kBlocksOfProcessor * processors_of(*context);
  for (std::uint64_t blocks = processors_of(*context);;) {
    DOVETAIL_ASSIGN(const Allocation out, Allocation::make(context, blocks * peak.threads * sizeof(float)));
    DOVETAIL_ASSIGN(const Allocation count, Allocation::make(context, sizeof steps));
    DOVETAIL_TRY(count.copy_in(0, std::as_bytes(std::span(&steps, 1))));
    const std::array<runtime::cuda::Address, 2> tensors{out.address(), count.address()};
    DOVETAIL_ASSIGN(const double seconds, kernel.seconds(blocks, tensors));
    if ((seconds >= kEnoughSeconds && blocks >= fewest) || clock.is_over() || blocks >= kMostBlocks)
      return seconds > 0 ? static_cast<double>(peak.operations) * steps * static_cast<double>(blocks) / seconds : 0;
    if (steps < kEnoughSteps && seconds < kEnoughSeconds) steps *= 8;
    else blocks = std::max(2 * blocks, fewest);
  }
}

// The best rate of any instruction of the device for each type of factors.
Result<std::map<std::string, double>> measure_tensor_cores(const std::shared_ptr<Context>& context,
                                                           const cuda::Nvrtc& nvrtc, std::string architecture) {
  std::map<std::string, double> best;
  if (!cuda::has_tensor_cores(cuda::parse_gpu("", architecture).value())) return best;
  constexpr int kOfGroups = 90;
  constexpr std::int64_t kColumns = 128;  // an instruction of four warps takes both factors from shared memory
  std::vector<cuda::MatrixMultiply> all;
  for (const auto& [factor, sum] : std::initializer_list<std::pair<DType, DType>>{{DType::float16, DType::float32},
                                                                                  {DType::bfloat16, DType::float32},
                                                                                  {DType::float32, DType::float32},
                                                                                  {DType::int8, DType::int32}}) {
    all.push_back(cuda::find_matrix_multiply(factor, factor, sum).value());
    const auto group = cuda::find_group_multiply(factor, factor, sum, kColumns);
    if (group && context->facts().capability == kOfGroups) all.push_back(*group);
  }
  if (context->facts().capability == kOfGroups) architecture = "sm_90a";
  std::vector<TensorPeak> peaks;
  std::string text;
  for (const cuda::MatrixMultiply& mma : all) text += peaks.emplace_back(tensor_peak(mma)).text;
  DOVETAIL_ASSIGN(const bundle::CudaImage image, image_of(nvrtc, text, architecture));
  for (std::size_t i = 0; i < all.size(); ++i) {
    DOVETAIL_ASSIGN(const double operations, measure_products(context, image, peaks[i]));
    double& known = best[all[i].kind];
    known = std::max(known, operations);
  }
  return best;
}

}  // namespace

Result<GpuPeak> measure_gpu_peak() {
  DOVETAIL_ASSIGN(const std::shared_ptr<const cuda::Nvrtc> nvrtc, cuda::Nvrtc::find());
  DOVETAIL_ASSIGN(const std::shared_ptr<Context> context, Context::open());
  const std::string architecture = fmt::format("sm_{}", context->facts().capability);
  GpuPeak peak;
  DOVETAIL_ASSIGN(peak.float32_operations, measure_multiply_adds(context, *nvrtc, architecture));
  DOVETAIL_ASSIGN(peak.tensor_operations, measure_tensor_cores(context, *nvrtc, architecture));
  DOVETAIL_ASSIGN(peak.bytes, measure_copies(context, *nvrtc, architecture));
  return peak;
}

}  // namespace dovetail::explore
