// Tuning of loop programs: the samples of a schedule by hand, and the compiler's own schedules.
#include "driver/kernels/tune.h"

#include <algorithm>

#include "loops/print.h"
#include "tests/unit/driver/kernels/programs.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

// To hardware 1x16x16-ext; tiles of as many rows and columns as the samples say.
const std::string kSampled = R"(sample rows among 16,32 = 16
sample columns among 16,32 = 16
split y.i $rows -> it yi
split y.j $columns -> jt yj
reorder it jt yi yj
compute_at high jt
compute_at acc jt
split acc.k 16 -> kt ki
reorder kt acc.i acc.j ki
decompose_reduction acc kt -> zero
set_scope acc accel.acc
set_scope high accel.acc
cache_read acc x accel.inp -> x.inp
cache_read acc w accel.wgt -> w.wgt
compute_at x.inp kt
compute_at w.wgt kt
transform_layout x i0,i1/16,i0%1,i1%16
transform_layout x.inp i0,i1/16,i0%1,i1%16
transform_layout acc i0,i1/16,i0%1,i1%16
transform_layout high i0,i1/16,i0%1,i1%16
transform_layout y i0,i1/16,i0%1,i1%16
transform_layout w i0/16,i1/16,i0%16,i1%16
transform_layout w.wgt i0/16,i1/16,i0%16,i1%16
split x.inp.1 16 -> x.inp.1.block x.inp.1.lane
split w.wgt.0 16 -> w.wgt.0.block w.wgt.0.lane
split w.wgt.1 16 -> w.wgt.1.block w.wgt.1.lane
split acc.j 16 -> acc.j.block acc.j.lane
split ki 16 -> ki.block ki.lane
split zero.acc.j 16 -> zero.acc.j.block zero.acc.j.lane
split high.j 16 -> high.j.block high.j.lane
split yj 16 -> yj.block yj.lane
reorder w.wgt.0.block w.wgt.1.block w.wgt.0.lane w.wgt.1.lane
reorder acc.j.block ki.block acc.j.lane ki.lane
tensorize acc.j.lane accel.gemm
tensorize zero.acc.j.lane accel.fill
tensorize high.j.lane accel.shr_imm
)";

std::vector<schedule::Step> steps_of(const std::string& text) { return *schedule::parse_trace(text, "test"); }

Tensors inputs_of(const LoopProgram& program) { return program.inputs({}, 1)->tensors; }

TunedLoops tuned(const LoopProgram& program, const std::string& steps, const TuneLoopsOptions& options) {
  const auto result = tune_loops(program, steps_of(steps), inputs_of(program), options);
  INFO((result.ok() ? std::string() : to_string(result.errors())));
  REQUIRE(result.ok());
  return *result;
}

}  // namespace

TEST_CASE("tune loops: on the accelerator it finds the best of all values, by their cycles") {
  const LoopProgram program = test::program_of(test::kInt8Product, "", {.hardware = "1x16x16-ext"});
  // Every pair of values, as a separate schedule.
  std::uint64_t best = UINT64_MAX;
  std::string best_values;
  for (const std::string rows : {"16", "32"})
    for (const std::string columns : {"16", "32"}) {
      std::string steps = kSampled;
      steps.replace(steps.find("= 16\n"), 5, "= " + rows + "\n");
      const std::size_t second = steps.find('=', steps.find("sample columns"));
      steps.replace(second, 5, "= " + columns + "\n");
      LoopProgram one = program;
      REQUIRE(one.apply(steps).ok());
      auto runner = LoopRunner::make(one, "accel", {});
      if (!runner.ok()) continue;  // illegal on the accelerator
      const auto ran = runner->run(inputs_of(program));
      REQUIRE(ran.ok());
      if (*ran->cycles < best) best = *ran->cycles, best_values = rows + " " + columns;
    }
  const TunedLoops found = tuned(program, kSampled, {.target = "accel", .trials = 32});
  CHECK(found.result.unit == "cycles");
  CHECK(found.result.best_cost == static_cast<double>(best));
  CHECK(found.result.best_decisions.at("rows") + " " + found.result.best_decisions.at("columns") == best_values);
  CHECK(found.result.best_cost < found.result.default_cost);
  // The schedule is one that the program takes, with the values that were found.
  LoopProgram after = program;
  REQUIRE(after.apply(found.schedule).ok());
  const auto ran = LoopRunner::make(after, "accel", {})->run(inputs_of(program));
  CHECK(ran->cycles == best);
}

TEST_CASE("tune loops: values that a step or the target rejects count as illegal") {
  const LoopProgram program = test::program_of(test::kInt8Product, "", {.hardware = "1x16x16-ext"});
  // No tile of 7 columns is whole blocks of 16, and the first value is illegal too.
  std::string steps = kSampled;
  steps.replace(steps.find("among 16,32 = 16", steps.find("sample columns")), 16, "among 7,16,32 = 7");
  const TunedLoops found = tuned(program, steps, {.target = "accel", .trials = 32});
  CHECK(found.illegal > 0);
  CHECK(found.result.best_decisions.at("columns") != "7");
}

TEST_CASE("tune loops: on the processor, samples are timed, and the best has the values of the program") {
  const LoopProgram program = test::program_of(test::kProduct);
  const std::string steps =
      "sample rows among 1,2,4 = 1\nsample inner among y.j,y.r = y.r\nsplit y.i $rows -> io ii\nreorder $inner ii\n"
      "parallel io\n";
  const TunedLoops found = tuned(program, steps, {.target = "cpu", .trials = 3});
  CHECK(found.result.unit == "ns");
  CHECK(found.result.trials.size() == 3);
  CHECK(std::ranges::count(found.result.trials, tune::Outcome::wrong, &tune::Trial::outcome) == 0);
  LoopProgram after = program;
  REQUIRE(after.apply(found.schedule).ok());
  const auto expected = program.run(inputs_of(program), nullptr), actual = after.run(inputs_of(program), nullptr);
  REQUIRE(actual.ok());
  CHECK(find_wrong_value({expected->begin(), expected->end()}, {actual->begin(), actual->end()}).empty());
}

TEST_CASE("tune loops: without a schedule, the compiler's own schedules in the names of the program") {
  for (const std::string role : {"input", "constant"}) {  // the product's sketch packs constants
    std::string text = test::kProduct;
    text.replace(text.find("input w"), 7, role + " w");
    const LoopProgram program = test::program_of(text);
    const TunedLoops found = tuned(program, "", {.target = "cpu", .trials = 2});
    CHECK_THAT(found.space, ContainsSubstring(role == "constant" ? "matmul" : "generic"));
    LoopProgram after = program;
    INFO(found.schedule);
    REQUIRE(after.apply(found.schedule).ok());
    const auto expected = program.run(inputs_of(program), nullptr), actual = after.run(inputs_of(program), nullptr);
    CHECK(find_wrong_value({expected->begin(), expected->end()}, {actual->begin(), actual->end()}).empty());
  }
}

TEST_CASE("tune loops: bad input is refused") {
  const LoopProgram program = test::program_of(test::kProduct);
  const auto refused = [&](const std::string& steps, const TuneLoopsOptions& options, const std::string& why) {
    const auto result = tune_loops(program, steps_of(steps), inputs_of(program), options);
    REQUIRE(!result.ok());
    CHECK_THAT(to_string(result.errors()), ContainsSubstring(why));
  };
  refused("parallel y.i\n", {}, "it has no sample step");
  refused("", {.target = "accel"}, "are for operators of models");
  refused("sample s among 2,4 = 2\nparallel y.r\n", {}, "no values of its samples were legal");
  refused("sample s among 2,4 = 2\nsample s among 2 = 2\n", {}, "the decision already exists");
  CHECK(!tune_loops(program, {}, {}, {}).ok());  // no inputs
  Work stopped;
  stopped.stop("interrupted", "");
  refused("sample s among 2,4 = 2\nsplit y.i $s\n", {.work = &stopped}, "stopped");
}
