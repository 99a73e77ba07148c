// Measuring schedules of CUDA tasks on the emulated GPU: correct ones get a cost, and wrong, crashing and hanging ones
// end only a child process.
#include "explore/measure/cuda.h"

#include <csignal>
#include <thread>

#include <unistd.h>

#include "base/random.h"
#include "bundle/code/cuda.h"
#include "compiler/fuse/fuse.h"
#include "compiler/graph/parse.h"
#include "compiler/target/cuda/sketches/sketches.h"
#include "tests/catch.h"
#include "tests/e2e/cli/emulated_gpu.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::explore;
using Catch::Matchers::ContainsSubstring;
using schedule::Scheduled;
using tune::Measurement;
using tune::Outcome;

namespace {

const cuda::Gpu kGpu{.architectures = {"sm_80", "sm_90a"}};

schedule::Task cuda_task(const std::string& text, const std::string& kind) {
  const auto graph =
      graph::parse(text, "test", [](auto, const graph::TensorType& type) { return NdArray(type.dtype, type.shape); });
  if (!graph) FAIL(to_string(graph.errors()));
  auto groups = fuse_groups(*graph, graph->topological_order());
  REQUIRE(groups.ok());
  return {std::string(bundle::kCudaTarget), kind, groups->front().program, {}, {}, {}};
}
const cuda::Kind& kind_of(const schedule::Task& task) {
  return *std::ranges::find(cuda::kKinds, task.kind, &cuda::Kind::name);
}

CudaMeasureOptions quick() { return {.limit_seconds = 20, .timing_seconds = 0.002}; }

std::unique_ptr<tune::Measurer> measurer_of(const schedule::Task& task, const CudaMeasureOptions& options) {
  auto made = make_cuda_measurer(kGpu, options)(task);
  if (!made) FAIL(to_string(made.errors()));
  return *std::move(made);
}
Measurement measure_default(const schedule::Task& task, const CudaMeasureOptions& options) {
  const auto measurer = measurer_of(task, options);
  const Scheduled scheduled = schedule::run(cuda::sketch_of(kind_of(task), kGpu), task).value();
  const Scheduled* const pointer = &scheduled;
  return measurer->measure(std::span(&pointer, 1)).front();
}

const std::string kProduct = R"(graph g(%x: float32[24, 32]) -> (%y)
  constant %w: float32[32, 16]
  %p: float32[24, 16] = MatMul(%x, %w)
  %y: float32[24, 16] = Relu(%p)
)";

}  // namespace

TEST_CASE("cuda: of kernels with separate schedules, those for the device are tuned") {
  const auto narrowed = [](const char* capability) {
    const test::Environment device("EMULATED_GPU_CAPABILITY", capability);
    return narrowed_to_device(kGpu).value().architectures;
  };
  {
    const test::EmulatedGpu gpu;
    CHECK(narrowed("90") == std::vector<std::string>{"sm_90a"});
    CHECK(narrowed("80") == std::vector<std::string>{"sm_80"});
    CHECK(narrowed("120") == std::vector<std::string>{"sm_80"});
  }
  const test::Environment none("DOVETAIL_LIBCUDA", "/nowhere/libcuda.so");
  const auto missing = narrowed_to_device(kGpu);
  REQUIRE(!missing.ok());
  CHECK_THAT(to_string(missing.errors()), Catch::Matchers::ContainsSubstring("there is no NVIDIA driver"));
}

TEST_CASE("measure cuda: defaults are correct, and so are random schedules") {
  const test::EmulatedGpu gpu;
  const test::TemporaryFolder folder;
  const test::Environment state("XDG_STATE_HOME", folder.path());
  for (const char* kind : {"matrix_product", "generic"}) {
    INFO(kind);
    const schedule::Task task = cuda_task(kProduct, kind);
    const auto measurer = measurer_of(task, quick());
    CHECK(measurer->unit() == "ns");
    CHECK(measurer->machine() == "emulated GPU, sm_90");
    std::vector<Scheduled> all{schedule::run(cuda::sketch_of(kind_of(task), kGpu), task).value()};
    SplitMix64 random(1);
    const schedule::Deciding deciding{.draw = [&](std::size_t below) { return random.next() % below; }};
    for (int attempt = 0; attempt < 20 && all.size() < 2; ++attempt) {
      auto scheduled = schedule::try_run(cuda::sketch_of(kind_of(task), kGpu), task, deciding);
      if (scheduled.ok() && scheduled->has_value()) all.push_back(*std::move(*scheduled));
    }
    std::vector<const Scheduled*> pointers;
    for (const Scheduled& one : all) pointers.push_back(&one);
    for (const Measurement& measurement : measurer->measure(pointers)) {
      INFO(measurement.why);
      CHECK(measurement.outcome == Outcome::measured);
      CHECK(measurement.cost > 0);
    }
  }
}

TEST_CASE("measure cuda: candidates that are wrong, crash, hang or break the device end only a child") {
  const test::EmulatedGpu gpu;
  const test::TemporaryFolder folder;
  const test::Environment state("XDG_STATE_HOME", folder.path());
  const schedule::Task task = cuda_task(kProduct, "generic");
  CudaMeasureOptions options = quick();
  options.after_run = [](const Scheduled&, std::span<NdArray> results) { results[0].data<float>()[5] += 1; };
  const Measurement wrong = measure_default(task, options);
  CHECK(wrong.outcome == Outcome::wrong);
  CHECK_THAT(wrong.why, ContainsSubstring("differs from the reference"));
  options.after_run = [](const Scheduled&, std::span<NdArray>) { std::raise(SIGSEGV); };
  CHECK(measure_default(task, options).outcome == Outcome::crashed);
  options.limit_seconds = 0.5;
  options.after_run = [](const Scheduled&, std::span<NdArray>) { ::pause(); };
  CHECK(measure_default(task, options).outcome == Outcome::timed_out);
  // A kernel with an invalid access: afterwards the device is unusable for the process that launched it.
  options = quick();
  const auto measurer = measurer_of(task, options);
  const Scheduled scheduled = schedule::run(cuda::sketch_of(kind_of(task), kGpu), task).value();
  const Scheduled* const pointer = &scheduled;
  {
    const test::Environment fault("EMULATED_GPU_FAULT", "700");
    const Measurement broken = measurer->measure(std::span(&pointer, 1)).front();
    CHECK(broken.outcome == Outcome::crashed);
    CHECK_THAT(broken.why, ContainsSubstring("CUDA_ERROR_ILLEGAL_ADDRESS"));
  }
  CHECK(measurer->measure(std::span(&pointer, 1)).front().outcome == Outcome::measured);
}

TEST_CASE("measure cuda: without a device, measuring is refused") {
  const test::EmulatedGpu gpu;
  const test::Environment none("EMULATED_GPU_DEVICES", "0");
  const auto refused = make_cuda_measurer(kGpu)(cuda_task(kProduct, "generic"));
  REQUIRE(!refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("the driver sees no device"));
}
