// Random steps on random programs: an accepted primitive gives a program that verifies and computes the same values, a
// refused one changes nothing. A failure is printed as a minimal program and trace, shrunk by dropping steps and nests.
// DOVETAIL_TEST_SCALE multiplies the number of programs and the minima; DOVETAIL_TEST_SEED chooses the first seed;
// DOVETAIL_TEST_VERBOSE prints how often each primitive was accepted and refused.
#include <cstdlib>
#include <map>

#include "loops/parse.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_conditions.h"
#include "tests/generator_loops/random_program.h"
#include "tests/property/compiler/schedule/random_chain.h"
#include "tests/property/compiler/schedule/shrink.h"
#include "tests/property/compiler/schedule/step_check.h"
#include "tests/property/compiler/schedule/step_generator.h"
#include "tests/tier.h"

using namespace dovetail;
using namespace dovetail::loops;
using namespace dovetail::schedule;
using namespace dovetail::schedule::test;

namespace {

double scale() {
  const char* text = std::getenv("DOVETAIL_TEST_SCALE");
  return text ? std::atof(text) : 1.0;
}
std::uint64_t first_seed() {
  const char* text = std::getenv("DOVETAIL_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

const IntrinsicTable& intrinsics() {
  static const IntrinsicTable table = [] {
    const auto row = [](const std::string& name, const std::string& text, std::vector<Var> immediates = {}) {
      auto program = parse_program(text, name);
      REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
      Intrinsic intrinsic{name, *std::move(program), {}, std::move(immediates), false};
      intrinsic.scopes.assign(intrinsic.semantics.parameters.size(), "");
      return intrinsic;
    };
    IntrinsicTable rows;
    rows.push_back(row("t.gemm", R"(program gemm { output d: int32[2, 2] input x: int32[2, 2] input w: int32[2, 2]
      for i in 2 { for j in 2 { for k in 2 { block gemm { spatial vi in 2 = i spatial vj in 2 = j reduce vk in 2 = k
        reads d[vi, vj], x[vi, vk], w[vj, vk] writes d[vi, vj] d[vi, vj] = d[vi, vj] + x[vi, vk] * w[vj, vk] } } } } })"));
    rows.push_back(row(
        "t.zero",
        R"(program zero { output d: int32[2] for i in 2 { block zero { spatial vi in 2 = i writes d[vi] d[vi] = 0 } } })"));
    rows.push_back(row("t.add", R"(program add { output d: int32[2] input a: int32[2] input b: int32[2]
      for i in 2 { block add { spatial vi in 2 = i reads a[vi], b[vi] writes d[vi] d[vi] = a[vi] + b[vi] } } })"));
    rows.push_back(row("t.copy", R"(program copy { output d: int32[2] input a: int32[2]
      for i in 2 { block copy { spatial vi in 2 = i reads a[vi] writes d[vi] d[vi] = a[vi] } } })"));
    rows.push_back(row("t.relu", R"(program relu { output d: int32[1, 2] input a: int32[1, 2]
      for i in 2 { block relu { spatial vi in 2 = i reads a[0, vi] writes d[0, vi] d[0, vi] = max(a[0, vi], 0) } } })"));
    // An intrinsic that initializes its own result.
    rows.push_back(row("t.dot", R"(program dot { output d: int32[1] input a: int32[2] input b: int32[2]
      for k in 2 { block dot { reduce vk in 2 = k reads d[0], a[vk], b[vk] writes d[0] init { d[0] = 0 } d[0] = d[0] + a[vk] * b[vk] } } })"));
    return rows;
  }();
  return table;
}

struct Count {
  int accepted = 0, refused = 0;
};
using Counts = std::map<std::string, Count>;

// Steps on one program; a failure is shrunk and reported.
void walk(std::uint64_t seed, const Case& start, int steps, bool reductions_commute, Counts& counts) {
  CheckedSchedule schedule(start, intrinsics());
  if (!schedule.usable()) return;
  StepGenerator generator(seed, intrinsics(), reductions_commute);
  std::vector<Step> tried;
  for (int i = 0; i < steps; ++i) {
    tried.push_back(generator.next(schedule.program()));
    const auto outcome = schedule.apply(tried.back());
    Count& count = counts[tried.back().primitive];
    if (outcome == CheckedSchedule::Outcome::failed) {
      const auto fails = [](const Case& smaller, const std::vector<Step>& trace) {
        return !failure_of(smaller, trace, intrinsics()).empty();
      };
      const Failing small = shrink({start, tried}, fails);
      FAIL("seed " << seed << ": " << schedule.failure() << "\nshrunk to\n"
                   << to_string(small) << failure_of(small.start, small.trace, intrinsics()));
    }
    ++(outcome == CheckedSchedule::Outcome::accepted ? count.accepted : count.refused);
  }
}

// Half of the programs: every primitive must be accepted and refused often enough for the test to be meaningful.
void walk_chains(std::uint64_t half) {
  Counts counts;
  const auto programs = static_cast<std::uint64_t>(12600 * scale());
  for (std::uint64_t seed = first_seed() + half; seed < first_seed() + programs; seed += 2) {
    // Floating values are small integers: their sums are exact in any order.
    auto chain = ChainGenerator(seed, seed % 3 == 0 ? DType::float32 : DType::int32).generate();
    walk(seed, {std::move(chain.program), std::move(chain.arguments)}, 24, true, counts);
  }
  std::string table;
  for (const Primitive& primitive : all_primitives()) {
    const Count& count = counts[std::string(primitive.name)];
    table += std::string(primitive.name) + ": " + std::to_string(count.accepted) + " accepted, " +
             std::to_string(count.refused) + " refused\n";
  }
  if (std::getenv("DOVETAIL_TEST_VERBOSE")) WARN(table);
  INFO(table);
  for (const Primitive& primitive : all_primitives()) {
    INFO(primitive.name);
    CHECK(counts[std::string(primitive.name)].accepted >= 500 * scale());
    CHECK(counts[std::string(primitive.name)].refused >= 50 * scale());
  }
}

}  // namespace

TEST_CASE("random steps on chains of tensor expressions keep their values") {
  walk_chains(0);
  if (dovetail::test::judges_everything()) walk_chains(1);
}

TEST_CASE("random steps on random loop programs keep their values") {
  Counts counts;
  const auto programs = static_cast<std::uint64_t>(3000 * scale());
  for (std::uint64_t seed = first_seed(); seed < first_seed() + programs; ++seed) {
    auto random = loops::test::random_program(seed);
    walk(seed, {std::move(random.program), std::move(random.arguments)}, 10, false, counts);
  }
}

// Assignments, masks, updates and loops that data ends; other programs draw few conditions.
TEST_CASE("random steps on programs with conditions keep their values") {
  Counts counts;
  const auto programs = static_cast<std::uint64_t>(150 * scale());
  for (std::uint64_t seed = first_seed(); seed < first_seed() + programs; ++seed) {
    auto random = loops::test::ConditionGenerator(seed).generate();
    auto program = parse_program(random.text, "random");
    REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
    walk(seed, {*std::move(program), std::move(random.arguments)}, 16, false, counts);
  }
  int accepted = 0;
  for (const auto& [primitive, count] : counts) accepted += count.accepted;
  CHECK(accepted >= 300 * scale());
}

TEST_CASE("failing traces shrink to the steps and nests that matter") {
  // Pretends that annotate after split were wrong.
  const auto fails = [](const Case& start, const std::vector<Step>& trace) {
    CheckedSchedule schedule(start, intrinsics());
    bool was_split = false;
    for (const Step& step : trace) {
      if (schedule.apply(step) != CheckedSchedule::Outcome::accepted) continue;
      if (step.primitive == "annotate" && was_split) return true;
      was_split |= step.primitive == "split";
    }
    return false;
  };
  int shrunk = 0;
  for (std::uint64_t seed = 0; seed < 160; ++seed) {
    auto chain = ChainGenerator(seed, DType::int32).generate();
    Failing failing{{std::move(chain.program), std::move(chain.arguments)}, {}};
    CheckedSchedule schedule(failing.start, intrinsics());
    StepGenerator generator(seed, intrinsics(), true);
    for (int i = 0; i < 24; ++i) {
      failing.trace.push_back(generator.next(schedule.program()));
      schedule.apply(failing.trace.back());
    }
    if (!fails(failing.start, failing.trace)) continue;
    const Failing small = shrink(failing, fails);
    INFO(to_string(small));
    CHECK(fails(small.start, small.trace));
    CHECK(small.trace.size() <= 4);
    CHECK(blocks_below(small.start.program.body).size() <= 2);
    ++shrunk;
  }
  CHECK(shrunk >= 5);
}
