// The CPU's sketches take every decision that they sample.
#include "compiler/target/cpu/sketches/sketches.h"

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
