// Slots of a schedule: storage for several iterations, without which each would wait for the previous one; and refused
// slots.
#include <fmt/format.h>

#include "loops/core/compact.h"
#include "loops/core/dissolve_blocks.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/threads/lower_to_threads.h"
#include "loops/threads/run_threads.h"
#include "tests/catch.h"
#include "tests/plant_faults.h"

using namespace dovetail;
using namespace dovetail::loops;
using Catch::Matchers::ContainsSubstring;

namespace {

// Threads fetch a row of x in each iteration, and other threads accumulate it reversed.
Program rows(const std::string& kind = "") {
  auto program = parse_program(fmt::format(R"(program rows {{
  input x: float32[6, 16]
  output y: float32[16]
  alloc row: float32[6, 16] in shared
  alloc acc: float32[16] in register
  for b in 1 thread(block.x) {{
    for t0 in 16 thread(thread.x) {{
      block start {{ spatial i in 16 = t0 writes acc[i] acc[i] = float32(0) }}
    }}
    for k in 6{0} {{
      for t1 in 16 thread(thread.x) {{
        block bring {{ spatial l in 6 = k spatial i in 16 = t1 reads x[l, i] writes row[l, i] row[l, i] = x[l, i] + 1.0 }}
      }}
      for t2 in 16 thread(thread.x) {{
        block add {{ reduce l in 6 = k spatial i in 16 = t2 reads acc[i], row[l, 15 - i] writes acc[i]
          acc[i] = acc[i] + row[l, 15 - i] }}
      }}
    }}
    for t3 in 16 thread(thread.x) {{
      block end {{ spatial i in 16 = t3 reads acc[i] writes y[i] y[i] = acc[i] }}
    }}
  }}
}})",
                                           kind),
                               "test");
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

Result<ThreadProgram> lowered(const Program& program, Slots slots) {
  ThreadLimits limits;
  limits.slots = std::move(slots);
  return lower_to_threads(compact_buffers(dissolve_blocks(program, {})), program.name, limits);
}

}  // namespace

TEST_CASE("threads: with slots an iteration fills its slot while others use theirs") {
  const Program program = rows();
  std::vector<NdArray> arguments{NdArray(DType::float32, {6, 16})};
  for (std::int64_t i = 0; i < 96; ++i) arguments[0].set_int64(i, 3 * i % 31 - 7);
  const auto expected = evaluate(program, arguments).value();
  // Without slots, an iteration waits for its row and, before it fetches the next one, until all have read it.
  for (const auto& [slots, barriers] : {std::pair{1, 2}, {2, 1}, {3, 1}}) {
    const auto made = lowered(program, {{"row", slots}});
    if (!made) FAIL(to_string(made.errors()));
    INFO(to_string(*made));
    const ThreadKernel& kernel = made->kernels[0];
    REQUIRE(kernel.shared.size() == 1);
    CHECK(element_count(kernel.shared[0]->shape) == slots * 16);
    CHECK(test::count_barriers(kernel.body) == barriers);
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      CHECK(run_threads(*made, program.parameters, arguments, seed).value() == expected);
  }
}

TEST_CASE("threads: slots are only for shared buffers, in a loop that is not pipelined") {
  const auto why = [](const Program& program, Slots slots) {
    const auto made = lowered(program, std::move(slots));
    return made.ok() ? std::string() : to_string(made.errors());
  };
  CHECK_THAT(why(rows(), {{"acc", 2}}), ContainsSubstring("buffer acc") && ContainsSubstring("do not share it"));
  CHECK_THAT(why(rows(" pipelined @stages(\"2\")"), {{"row", 2}}),
             ContainsSubstring("buffer row") && ContainsSubstring("loop k is pipelined"));
}
