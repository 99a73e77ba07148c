// Loops as a tree, with the place of a rejected step and the memory that iterations access.
#include "driver/kernels/loop_tree.h"

#include "driver/kernels/loop_footprint.h"
#include "tests/unit/driver/kernels/programs.h"

using namespace dovetail;
using namespace dovetail::driver;

namespace {

schedule::Step step_of(const std::string& text) { return schedule::parse_trace(text, "test")->front(); }

}  // namespace

TEST_CASE("loop tree: loops and blocks, each with what it accesses") {
  const LoopProgram program = test::program_of(test::kProduct, "split y.i 8 -> io ii\nparallel io\n");
  CHECK(loop_tree(program.program()) == R"(  for io in 4 parallel  # 6 KiB
    for ii in 8         # 4.2 KiB
      for y.j in 32     # 260 B
        for y.r in 32   # 12 B
          block y: y from y, x, w
)");
  CHECK(loop_tree(program.program(), {}, "y.r") == "  for y.r in 32  # 12 B\n    block y: y from y, x, w\n");
}

TEST_CASE("loop tree: a rejected step is marked at the loops that it and its reason name") {
  const LoopProgram program = test::program_of(test::kProduct);
  const schedule::Step step = step_of("parallel y.r");
  LoopProgram copy = program;
  const auto rejected = copy.apply("parallel y.r");
  REQUIRE(!rejected.ok());
  const TreeMarks marks = marks_of(program.program(), step, rejected.errors());
  CHECK(marks == TreeMarks{{"y.r", "parallel y.r"}, {"y", "the reason names it"}});
  CHECK_THAT(loop_tree(program.program(), marks),
             Catch::Matchers::ContainsSubstring("for y.r in 32              # 12 B     <-- parallel y.r\n"));
  // A step of an unknown loop marks nothing.
  const auto unknown = copy.apply("parallel q");
  REQUIRE(!unknown.ok());
  CHECK(marks_of(program.program(), step_of("parallel q"), unknown.errors()).empty());
}

TEST_CASE("loop footprints: boxes of the buffers that an iteration accesses, clipped to them") {
  const LoopProgram program = test::program_of(test::kProduct, "split y.i 24 -> io ii\n");
  const auto bytes = loop_footprints(program.program());
  // 24 rows of x and of y, and all of w.
  CHECK(bytes.at("io") == 4 * (24 * 32 + 24 * 32 + 32 * 32));
  CHECK(bytes.at("y.j") == 4 * (32 + 32 + 1));
  CHECK(bytes.at("y.r") == 4 * 3);
  const LoopProgram gathered = test::program_of(
      "program g {\n input i: int64[8]\n input x: float32[100]\n output y: float32[8]\n y[j in 8] = x[i[j]]\n}\n");
  // An index from a tensor: all of x.
  CHECK(loop_footprints(gathered.program()).at("y.j") == 8 + 4 * 100 + 4);
}

TEST_CASE("loop tree: names of loops, blocks and buffers") {
  const LoopProgram program = test::program_of(test::kProduct);
  CHECK(named(program.program(), "y.i") == Named::loop);
  CHECK(named(program.program(), "y") == Named::block);
  CHECK(named(program.program(), "w") == Named::buffer);
  CHECK(named(program.program(), "z") == Named::nothing);
}
