// The CPU's sketches take every decision that they sample.
#include "compiler/target/cpu/sketches/sketches.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/random.h"
#include "tests/cpu_task.h"

using namespace dovetail;
using namespace dovetail::test;

TEST_CASE("cpu sketches: a tile may be one result") {
  const schedule::Decisions one{{"tile_columns", "1"}, {"tile_rows", "1"}};
  for (const cpu::Cpu& cpu : cpu::cpus())
    for (const CpuTaskText* text : {&kConvolutionTask, &kMatmulTask}) {
      const schedule::Scheduled scheduled = scheduled_as(cpu_task(text->text, text->kind, cpu), cpu, one);
      CHECK(scheduled.decisions[0].value == "1");
      CHECK(scheduled.decisions[1].value == "1");
    }
}

TEST_CASE("cpu sketches: sums, a row of weights and the broadcast element of a default tile are in registers") {
  for (const cpu::Cpu& cpu : cpu::cpus())
    for (const std::int64_t outputs : {16, 64, 128, 256, 512})
      for (const std::int64_t width : {7, 13, 14, 27, 56}) {
        const std::string image = fmt::format("float32[1, {}, {}, {}]", outputs, width, width);
        const std::string text = fmt::format(R"(graph g(%x: float32[1, 64, {0}, {0}]) -> (%z)
  constant %w: float32[{1}, 64, 1, 1]
  %y: {2} = Conv(%x, %w)
  %z: {2} = Relu(%y)
)",
                                             width, outputs, image);
        CAPTURE(cpu.name, text);
        const auto decisions = scheduled_as(cpu_task(text, "convolution", cpu), cpu).decisions;
        const std::int64_t vectors = std::max<std::int64_t>(1, std::stoll(decisions[0].value) / cpu.lanes(4));
        CHECK((std::stoll(decisions[1].value) + 1) * vectors + 1 <= cpu.vector_registers);
      }
}

TEST_CASE("cpu sketches: blocks of a prime number of rows keep their size") {
  CHECK(cpu::block_size(13, 4) == 4);
  CHECK(cpu::block_size(12, 5) == 4);  // divides, and is not much smaller
  CHECK(cpu::block_size(7, 7) == 7);
  CHECK(cpu::block_size(7, 1) == 1);
  for (std::int64_t extent = 1; extent <= 60; ++extent)
    for (const std::int64_t size : cpu::block_sizes(extent)) {
      const std::int64_t blocks = (extent + size - 1) / size;
      CHECK((blocks - 1) * size < extent);
      CHECK(blocks * (size - 1) < extent);  // no smaller size has as few blocks
    }
}

TEST_CASE("cpu sketches: columns that whole vectors do not divide are extended where a tile cannot be as wide") {
  const cpu::Cpu avx512 = *cpu::find_cpu("avx512");
  CHECK(cpu::tileable_columns(1000, avx512) == 1008);
  CHECK(cpu::tileable_columns(1024, avx512) == 1024);
  CHECK(cpu::tileable_columns(100, avx512) == 100);
}

TEST_CASE("cpu sketches: lines crowd the sets of the first level where they fill most of the ways") {
  const cpu::Cpu eight = *cpu::find_cpu("avx512"), twelve = *cpu::find_cpu("avx512-amx");
  CHECK(cpu::crowds_sets(2048, 14, eight));
  CHECK(!cpu::crowds_sets(2048, 14, twelve));
  CHECK(cpu::crowds_sets(4096, 14, twelve));
  CHECK(!cpu::crowds_sets(4096, 7, twelve));
  CHECK(!cpu::crowds_sets(3072, 14, twelve));
}

TEST_CASE("cpu sketches: whatever is drawn is a schedule, or is refused") {
  SplitMix64 random(1);
  const schedule::Deciding deciding{.draw = [&](std::size_t below) { return random.next() % below; }};
  for (const cpu::Cpu& cpu : cpu::cpus())
    for (const CpuTaskText* text : {&kConvolutionTask, &kInt8ConvolutionTask, &kWindowTask, &kMatmulTask,
                                    &kInt8MatmulTask, &kGatherTask, &kSoftmaxTask}) {
      CAPTURE(cpu.name, text->text);
      const schedule::Task task = cpu_task(text->text, text->kind, cpu);
      int schedules = 0;
      for (int i = 0; i < 10; ++i) {
        const auto drawn = schedule::try_run(cpu::sketch_of(*cpu::find_kind(task.kind), cpu), task, deciding);
        schedules += drawn.ok() && drawn->has_value();
      }
      CHECK(schedules > 0);
    }
}
