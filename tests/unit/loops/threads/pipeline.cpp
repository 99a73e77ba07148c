// Pipelined loops: data fetched ahead, by which copies, into how many slots; and refused loops.
#include <fmt/format.h>

#include "loops/core/compact.h"
#include "loops/core/dissolve_blocks.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/threads/accesses.h"
#include "loops/threads/lower_to_threads.h"
#include "loops/threads/run_threads.h"
#include "tests/catch.h"
#include "tests/plant_faults.h"

using namespace dovetail;
using namespace dovetail::loops;
using namespace dovetail::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Each piece, a row of x, is fetched, `width` neighbors by a thread, and reversed by other threads. `value` is the
// fetched expression of x[l, i]; x has `columns`, and, if `deep`, two more dimensions of one element.
Program pieces(int stages, int width, int columns, const std::string& value, const std::string& type = "float32",
               bool deep = false) {
  const std::string text = fmt::format(
      R"(program pieces {{
  input x: {3}[6, {1}{6}]
  output y: {3}[{4}]
  alloc piece: {3}[6, {4}] in shared
  alloc acc: {3}[{4}] in register
  for b in 1 thread(block.x) {{
    for t0 in 8 thread(thread.x) {{ for e0 in {5} unrolled {{
      block start {{ spatial i in {4} = t0 * {5} + e0 writes acc[i] acc[i] = {3}(0) }}
    }} }}
    for k in 6 pipelined @stages("{0}") {{
      for t1 in 8 thread(thread.x) {{ for e1 in {5} unrolled {{
        block bring {{ spatial l in 6 = k spatial i in {4} = t1 * {5} + e1 reads x[l, i{7}] writes piece[l, i]
          piece[l, i] = {2} }}
      }} }}
      for t2 in 8 thread(thread.x) {{ for e2 in {5} unrolled {{
        block add {{ reduce l in 6 = k spatial i in {4} = t2 * {5} + e2 reads acc[i], piece[l, {4} - 1 - i] writes acc[i]
          acc[i] = acc[i] + piece[l, {4} - 1 - i] }}
      }} }}
    }}
    for t3 in 8 thread(thread.x) {{ for e3 in {5} unrolled {{
      block end {{ spatial i in {4} = t3 * {5} + e3 reads acc[i] writes y[i] y[i] = acc[i] }}
    }} }}
  }}
}})",
      stages, columns, value, type, 8 * width, width, deep ? ", 1, 1" : "", deep ? ", 0, 0" : "");
  auto program = parse_program(text, "test");
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

Result<ThreadProgram> lowered(const Program& program, const ThreadLimits& limits = {}) {
  return lower_to_threads(compact_buffers(dissolve_blocks(program, {})), program.name, limits);
}

std::vector<NdArray> inputs_of(const Program& program) {
  NdArray array(program.parameters[0].buffer->dtype, program.parameters[0].buffer->shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, 3 * i % 31 - 7);
  return {array};
}

std::vector<std::int64_t> copies_of(const ThreadProgram& program) {
  std::vector<std::int64_t> elements;
  each_copy(program.kernels[0].body, [&](const CoreAsyncCopy& copy) { elements.push_back(copy.elements); });
  return elements;
}

void check_values(const Program& program, const ThreadProgram& kernels) {
  INFO(to_string(kernels));
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto have = run_threads(kernels, program.parameters, inputs_of(program), seed);
    if (!have) FAIL(to_string(have.errors()));
    CHECK(*have == evaluate(program, inputs_of(program)).value());
  }
}

}  // namespace

TEST_CASE("threads: a pipeline has as many slots as stages, and one barrier in an iteration") {
  for (const int stages : {2, 3, 4, 6}) {
    const Program program = pieces(stages, 1, 9, "x[l, i]");
    const ThreadProgram kernels = lowered(program).value();
    REQUIRE(kernels.kernels.size() == 1);
    REQUIRE(kernels.kernels[0].shared.size() == 1);
    CHECK(kernels.kernels[0].shared[0]->shape.front() == stages);
    CHECK(count_barriers(kernels.kernels[0].body) == 1);
    // The copies before the loop, and the one in it.
    CHECK(copies_of(kernels) == std::vector<std::int64_t>(static_cast<std::size_t>(stages), 1));
    check_values(program, kernels);
  }
}

TEST_CASE("threads: copies are as wide as the proven alignment of addresses") {
  const auto copies = [](int width, int columns, const char* type) {
    const Program program = pieces(2, width, columns, "x[l, i]", type);
    const ThreadProgram kernels = lowered(program).value();
    check_values(program, kernels);
    return copies_of(kernels);
  };
  const auto two_of = [](std::int64_t elements) { return std::vector<std::int64_t>(2, elements); };
  CHECK(copies(4, 32, "float32") == two_of(4));  // 16 bytes
  CHECK(copies(8, 64, "float32") == two_of(4));  // two of them
  // Rows of 136 bytes, and of 132: the first one starts at a multiple of 16.
  CHECK(copies(4, 34, "float32") == std::vector<std::int64_t>{4, 2});
  CHECK(copies(4, 33, "float32") == std::vector<std::int64_t>{4, 1});
  CHECK(copies(3, 24, "float32") == two_of(1));
  CHECK(copies(16, 128, "int8") == two_of(16));
  CHECK(copies(4, 36, "int8") == two_of(4));
  CHECK(copies(2, 16, "int8").empty());  // two bytes are not copy
  CHECK(copies(8, 65, "float16").empty());
  CHECK(copies(2, 16, "float64") == two_of(2));
}

TEST_CASE("threads: neighbors are in the last dimension of several elements") {
  const Program program = pieces(3, 4, 32, "x[l, i, 0, 0]", "float32", true);
  const auto kernels = lowered(program);
  if (!kernels) FAIL(to_string(kernels.errors()));
  CHECK(copies_of(*kernels) == std::vector<std::int64_t>{4, 4, 4});
  check_values(program, *kernels);
}

TEST_CASE(
    "threads: values that are computed, or cannot be copied, are kept in registers until the previous piece is used") {
  ThreadLimits old;
  old.pipeline.asynchronous = false;
  for (const char* value : {"x[l, i] * 2.0", "max(x[l, i], 0.0)"}) {
    const Program program = pieces(3, 1, 9, value);
    const ThreadProgram kernels = lowered(program).value();
    CHECK(copies_of(kernels).empty());
    CHECK(kernels.kernels[0].local.size() == 2);
    CHECK(count_barriers(kernels.kernels[0].body) == 1);
    check_values(program, kernels);
  }
  const Program program = pieces(2, 1, 9, "x[l, i]");
  const ThreadProgram kernels = lowered(program, old).value();
  CHECK(copies_of(kernels).empty());
  check_values(program, kernels);
}

TEST_CASE("threads: a copy under a predicate fills with zeros, another number is stored") {
  for (const char* otherwise : {"0.0", "-1.5"}) {
    const Program program = pieces(2, 1, 9, fmt::format("select(i < 5, x[l, i], {})", otherwise));
    const ThreadProgram kernels = lowered(program).value();
    CHECK(copies_of(kernels).size() == 2);
    check_values(program, kernels);
  }
}

TEST_CASE("threads: a pipelined loop that fetches no shared data is refused") {
  const auto result = lowered([] {
    auto program = parse_program(R"(program own {
  input x: float32[4, 8]
  output y: float32[8]
  alloc z: float32[4, 8]
  for b in 1 thread(block.x) {
    for k in 4 pipelined @stages("2") {
      for t1 in 8 thread(thread.x) {
        block bring { spatial l in 4 = k spatial i in 8 = t1 reads x[l, i] writes z[l, i] z[l, i] = x[l, i] }
      }
      for t2 in 8 thread(thread.x) {
        block add { reduce l in 4 = k spatial i in 8 = t2 reads y[i], z[l, i] writes y[i] init { y[i] = 0.0 }
          y[i] = y[i] + z[l, i] }
      }
    }
  }
})",
                                 "test");
    if (!program) FAIL(to_string(program.errors()));
    return *std::move(program);
  }());
  REQUIRE(!result.ok());
  CHECK_THAT(
      to_string(result.errors()),
      ContainsSubstring("pipelined loop k") &&
          ContainsSubstring("the loop's first statement does not fill a buffer that the threads of a block share"));
}
