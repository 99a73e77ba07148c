// Measuring schedules of CPU tasks: correct ones get a cost, and every kind of failure of the others is classified.
#include "explore/measure/cpu.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include "base/file_lock.h"
#include "base/random.h"
#include "compiler/schedule/index_map.h"
#include "loops/rewrite.h"
#include "tests/cpu_task.h"
#include "tests/environment.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::explore;
using namespace dovetail::test;
using Catch::Matchers::ContainsSubstring;
using schedule::Scheduled;
using tune::Measurement;
using tune::Outcome;

namespace {

// Short timings: their precision is not tested.
CpuMeasureOptions quick() { return {.limit_seconds = 20, .timing_seconds = 0.01}; }

struct Machine {
  TemporaryFolder folder;
  Environment state{"XDG_STATE_HOME", folder.path()};
  cpu::Cpu cpu = cpu::find_cpu("native").value();

  std::unique_ptr<tune::Measurer> measurer(const schedule::Task& task, const CpuMeasureOptions& options = quick()) {
    auto made = make_cpu_measurer(cpu, options)(task);
    if (!made) FAIL(to_string(made.errors()));
    return *std::move(made);
  }
  schedule::Task task(const CpuTaskText& text) const { return cpu_task(text.text, text.kind, cpu); }
};

#define REQUIRE_A_PROCESSOR() \
  if (!cpu::find_cpu("native").ok()) return skip("this machine is of no class that code is generated for")

std::vector<Measurement> measure(tune::Measurer& measurer, const std::vector<Scheduled>& candidates) {
  std::vector<const Scheduled*> pointers;
  for (const Scheduled& candidate : candidates) pointers.push_back(&candidate);
  return measurer.measure(pointers);
}
Measurement measure(tune::Measurer& measurer, const Scheduled& candidate) {
  return measure(measurer, std::vector<Scheduled>{candidate}).front();
}

void check_measured(const Measurement& measurement) {
  CAPTURE(measurement.why);
  CHECK(measurement.outcome == Outcome::measured);
  CHECK(measurement.cost > 0);
  CHECK(std::isfinite(measurement.cost));
  CHECK(measurement.why.empty());
}
void check_failed(const Measurement& measurement, Outcome outcome, const std::string& why) {
  CHECK(measurement.outcome == outcome);
  CHECK(measurement.cost == std::numeric_limits<double>::infinity());
  CHECK_THAT(measurement.why, ContainsSubstring(why));
}

// The default schedule, and `more` random ones.
std::vector<Scheduled> drawn(const schedule::Task& task, const cpu::Cpu& cpu, std::size_t more) {
  std::vector<Scheduled> all{scheduled_as(task, cpu)};
  SplitMix64 random(1);
  const schedule::Deciding deciding{.draw = [&](std::size_t below) { return random.next() % below; }};
  for (int attempt = 0; attempt < 20 && all.size() <= more; ++attempt) {
    auto scheduled = schedule::try_run(cpu::sketch_of(*cpu::find_kind(task.kind), cpu), task, deciding);
    if (scheduled.ok() && scheduled->has_value()) all.push_back(*std::move(*scheduled));
  }
  REQUIRE(all.size() == more + 1);
  return all;
}

}  // namespace

TEST_CASE("measure cpu: the default of every kind of task is correct, and so are random schedules") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  for (const CpuTaskText* text : {&kConvolutionTask, &kInt8ConvolutionTask, &kWindowTask, &kMatmulTask,
                                  &kInt8MatmulTask, &kGatherTask, &kSoftmaxTask}) {
    CAPTURE(text->text);
    const schedule::Task task = machine.task(*text);
    const auto measurer = machine.measurer(task);
    for (const Measurement& measurement : measure(*measurer, drawn(task, machine.cpu, 4))) check_measured(measurement);
  }
}

TEST_CASE("measure cpu: with several threads") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  CpuMeasureOptions options = quick();
  options.threads = 2;
  for (const CpuTaskText* text : {&kConvolutionTask, &kInt8MatmulTask}) {
    const schedule::Task task = machine.task(*text);
    const auto measurer = machine.measurer(task, options);
    CHECK_THAT(measurer->machine(), ContainsSubstring(machine.cpu.name + ", 2 threads"));
    for (const Measurement& measurement : measure(*measurer, drawn(task, machine.cpu, 1))) check_measured(measurement);
  }
}

TEST_CASE("measure cpu: the cost is in nanoseconds of this machine") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  const schedule::Task task = machine.task(kSoftmaxTask);
  const auto measurer = machine.measurer(task);
  CHECK(measurer->unit() == "ns");
  CHECK_THAT(measurer->machine(), ContainsSubstring(", " + machine.cpu.name + ", 1 thread"));
  const Measurement measurement = measure(*measurer, scheduled_as(task, machine.cpu));
  check_measured(measurement);
}

TEST_CASE("measure cpu: a kernel that computes something else is wrong") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  const auto with = [&](const CpuTaskText& text, const std::string& from, const std::string& to) {
    CpuTaskText changed = text;
    REQUIRE(changed.text.find(from) != std::string::npos);
    changed.text.replace(changed.text.find(from), from.size(), to);
    return scheduled_as(machine.task(changed), machine.cpu);
  };
  const schedule::Task task = machine.task(kConvolutionTask);
  const auto measurer = machine.measurer(task);
  check_failed(measure(*measurer, with(kConvolutionTask, "= Relu(%c)", "= Abs(%c)")), Outcome::wrong,
               "out0 differs from the reference: ");
  const auto bytes = machine.measurer(machine.task(kInt8ConvolutionTask));
  check_failed(measure(*bytes, with(kInt8ConvolutionTask, "x_zero_point=3", "x_zero_point=4")), Outcome::wrong,
               "out0 differs from the reference: ");
}

TEST_CASE("measure cpu: a program that the code generator refuses is refused, and so is one of another task") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  const schedule::Task task = machine.task(kConvolutionTask);
  const auto measurer = machine.measurer(task);
  Scheduled odd = scheduled_as(task, machine.cpu);
  odd.program.body = loops::rewrite_stmt(odd.program.body, [](const loops::Stmt& stmt) {
    const auto* loop = std::get_if<loops::For>(&stmt->node);
    if (loop == nullptr || loop->kind != loops::ForKind::serial) return stmt;
    loops::For other = *loop;
    other.kind = loops::ForKind::vthread;
    return loops::make_stmt(std::move(other));
  });
  check_failed(measure(*measurer, odd), Outcome::refused, "vthread");
  check_failed(measure(*measurer, scheduled_as(machine.task(kMatmulTask), machine.cpu)), Outcome::refused,
               "the schedule has 3 parameters, but its task has 4");
  Scheduled elsewhere = scheduled_as(task, machine.cpu);
  elsewhere.layouts.erase("in0");
  check_failed(measure(*measurer, elsewhere), Outcome::refused, "in0 is float32[1, 14, 14, 16]");
}

TEST_CASE("measure cpu: any failure of a candidate is classified, and later candidates are measured") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  const schedule::Task task = machine.task(kConvolutionTask);
  CpuMeasureOptions options = quick();
  options.limit_seconds = 0.5;
  // The candidate's behavior is in its trace.
  options.run = [](const Scheduled& candidate, const std::function<void()>& kernel, std::span<NdArray> results) {
    const std::string& deed = candidate.trace.back().primitive;
    static int runs = 0;
    ++runs;
    if (deed == "crash") ::raise(SIGSEGV);
    if (deed == "exit") ::_exit(0);
    if (deed == "throw") throw std::runtime_error("thrown");
    if (deed == "hang")
      for (;;) ::pause();
    kernel();
    if (deed == "wrong" || (deed == "wrong later" && runs > 3)) results[0].data<float>()[77] += 0.5F;
  };
  const auto measurer = machine.measurer(task, options);
  std::vector<Scheduled> candidates;
  for (const char* deed : {"none", "crash", "none", "exit", "throw", "hang", "none", "wrong", "wrong later", "none"}) {
    candidates.push_back(scheduled_as(task, machine.cpu));
    candidates.back().trace.push_back({deed, {}, {}});
  }
  const std::vector<Measurement> measured = measure(*measurer, candidates);
  REQUIRE(measured.size() == 10);
  for (const std::size_t i : {0, 2, 6, 9}) check_measured(measured[i]);
  check_failed(measured[1], Outcome::crashed, "signal 11 ended it: Segmentation fault");
  check_failed(measured[3], Outcome::crashed, "the process ended with status 0");
  check_failed(measured[4], Outcome::crashed, "it failed: thrown");
  check_failed(measured[5], Outcome::timed_out, "the process ran for more than 0.5");
  check_failed(measured[7], Outcome::wrong, "out0 differs from the reference: 1 of 6272 elements; first at ");
  check_failed(measured[8], Outcome::wrong, "out0 differs from the reference: 1 of 6272 elements; first at ");
}

TEST_CASE("measure cpu: once the work is stopped, nothing more is measured") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  const schedule::Task task = machine.task(kConvolutionTask);
  Work work;
  CpuMeasureOptions options = quick();
  options.work = &work;
  options.run = [](const Scheduled&, const std::function<void()>&, std::span<NdArray>) {
    for (;;) ::pause();
  };
  const auto measurer = machine.measurer(task, options);
  std::thread stopping([&] {
    ::usleep(300'000);
    work.stop("enough", "");
  });
  const Scheduled scheduled = scheduled_as(task, machine.cpu);
  // (A candidate that hung until its own limit would have a different message.)
  for (const Measurement& measurement : measure(*measurer, {scheduled, scheduled, scheduled}))
    check_failed(measurement, Outcome::timed_out, "stopped");
  stopping.join();
}

// With clocks that advance by a microsecond at each reading, and by more where the candidate says so.
TEST_CASE("measure cpu: the cost is the ratio to the default's time, times that time") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  const schedule::Task task = machine.task(kConvolutionTask);
  double seconds = 0;
  const auto tick = [&seconds] { return seconds += 1e-6; };
  CpuMeasureOptions options = quick();
  options.clocks = {tick, tick, [] { return 0L; }};
  const auto default_alone = measure(*machine.measurer(task, options), scheduled_as(task, machine.cpu));
  check_measured(default_alone);
  options.run = [&seconds](const Scheduled&, const std::function<void()>& kernel, std::span<NdArray>) {
    kernel();
    seconds += 1e-3;
  };
  const auto slowed = machine.measurer(task, options);
  const std::vector<Measurement> measured =
      measure(*slowed, std::vector<Scheduled>(3, scheduled_as(task, machine.cpu)));
  for (const Measurement& measurement : measured) {
    check_measured(measurement);
    CHECK(measurement.cost == measured.front().cost);
    CHECK(measurement.cost == Catch::Detail::Approx(1e6).epsilon(0.01));  // nanoseconds
    CHECK(measurement.cost > 100 * default_alone.cost);
  }
}

TEST_CASE("measure cpu: two measurers take turns") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  const schedule::Task task = machine.task(kSoftmaxTask);
  const Scheduled scheduled = scheduled_as(task, machine.cpu);
  const auto first = machine.measurer(task), second = machine.measurer(task);
  std::atomic<int> done{0};
  std::vector<Measurement> one, other;
  std::thread first_thread, second_thread;
  {
    const auto held = FileLock::take(machine.folder / "dovetail" / "measure.lock");
    REQUIRE(held.ok());
    first_thread = std::thread([&] { one = measure(*first, {scheduled, scheduled}), ++done; });
    second_thread = std::thread([&] { other = measure(*second, {scheduled, scheduled}), ++done; });
    ::usleep(300'000);
    CHECK(done == 0);
  }
  first_thread.join(), second_thread.join();
  for (const Measurement& measurement : one) check_measured(measurement);
  for (const Measurement& measurement : other) check_measured(measurement);
}

TEST_CASE("measure cpu: tasks that it cannot measure are errors") {
  REQUIRE_A_PROCESSOR();
  Machine machine;
  const auto error = [&](const schedule::Task& task, const cpu::Cpu& cpu) {
    const auto made = make_cpu_measurer(cpu)(task);
    return made.ok() ? "" : to_string(made.errors());
  };
  schedule::Task task = machine.task(kSoftmaxTask);
  cpu::Cpu other = machine.cpu;
  other.name = "avx1024";
  CHECK_THAT(
      error(task, other),
      ContainsSubstring("code for avx1024 does not run on this machine: there is no processor class \"avx1024\""));
  task.kind = "matmul";
  CHECK_THAT(error(task, machine.cpu), ContainsSubstring("the program is not of kind matmul"));
  task.target = "accel";
  CHECK_THAT(error(task, machine.cpu), ContainsSubstring("the task is for target accel, kind matmul"));
  // Divides by zero: by its input minus itself.
  schedule::Task dividing = cpu_task(R"(graph g(%x: int32[8]) -> (%y)
  %z: int32[8] = Sub(%x, %x)
  %y: int32[8] = Div(%x, %z)
)",
                                     "generic", machine.cpu);
  CHECK_THAT(error(dividing, machine.cpu), ContainsSubstring("integer division by 0"));
}
