// The results of peeling and unrolling for small programs.
#include "loops/core/peel.h"

#include "loops/core/dissolve_blocks.h"
#include "loops/core/unroll.h"
#include "loops/parse.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

CoreProgram core_of(const std::string& text) {
  const auto program = parse_program(text, "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  const auto verified = verify(*program);
  REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
  return dissolve_blocks(*program, {});
}

std::string peeled(const std::string& text, const PeelOptions& options = {}) {
  return "\n" + to_string(peel_tails(core_of(text), options));
}

// A copy of 50 elements in tiles of 16, with the kinds of the two loops.
std::string tiles(const std::string& outer, const std::string& inner) {
  return R"(program tiles { input x: float32[50] output y: float32[50]
    for o in 4 )" +
         outer + " { for i in 16 " + inner + R"( { block copy { spatial v in 50 = o * 16 + i where v < 50
      reads x[v] writes y[v] y[v] = x[v] } } } })";
}

}  // namespace

TEST_CASE("a split that does not divide the extent leaves an interior without conditions and a shorter tail") {
  CHECK(peeled(tiles("", "")) == R"(
for o in 3 {
  for i in 16 {
    y[o * 16 + i] = x[o * 16 + i]
  }
}
for i in 2 {
  y[i + 48] = x[i + 48]
}
)");
  CHECK(peeled(tiles("", "vectorized")) == R"(
for o in 3 {
  for i in 16 vectorized {
    y[o * 16 + i] = x[o * 16 + i]
  }
}
for i in 2 vectorized {
  y[i + 48] = x[i + 48]
}
)");
}

TEST_CASE("a parallel loop stays one loop") {
  CHECK(peeled(tiles("parallel", "")) == R"(
for o in 4 parallel {
  if o >= 3 {
    for i in 2 {
      y[i + 48] = x[i + 48]
    }
  } else {
    for i in 16 {
      y[o * 16 + i] = x[o * 16 + i]
    }
  }
}
)");
}

// Two loops would share buffers that are private to the iterations of one.
TEST_CASE("a loop around a parallel one is not split") {
  CHECK(peeled(tiles("", "parallel")) == R"(
for o in 4 {
  for i in 16 parallel {
    if o * 16 + i < 50 {
      y[o * 16 + i] = x[o * 16 + i]
    }
  }
}
)");
}

TEST_CASE("a parallel loop of which only a part has work becomes shorter") {
  CHECK(
      peeled(
          R"(program p { output y: float32[5] for i in 9 parallel { block b { spatial v in 5 = i where i < 5 writes y[v] y[v] = 1.0 } } })") ==
      R"(
for i in 5 parallel {
  y[i] = 1.0
}
)");
}

TEST_CASE("padding is read without selects in the interior") {
  CHECK(peeled(R"(program pad { input x: int8[6] output y: int8[8]
    for i in 8 { block pad { spatial v in 8 = i reads x[v - 1] writes y[v] y[v] = select(v >= 1 && v < 7, x[v - 1], 0) } } })") ==
        R"(
y[0] = 0
for i in 6 {
  y[i + 1] = x[i]
}
y[7] = 0
)");
}

TEST_CASE("a padded convolution has nine nests without conditions") {
  const CoreProgram core = core_of(R"(program conv { input x: int8[8, 8] input w: int8[3, 3] output y: int32[8, 8]
    for i in 8 { for j in 8 { for p in 3 { for q in 3 { block conv {
      spatial vi in 8 = i spatial vj in 8 = j reduce vp in 3 = p reduce vq in 3 = q
      reads y[vi, vj], x[vi + vp - 1, vj + vq - 1], w[vp, vq] writes y[vi, vj]
      init { y[vi, vj] = 0 }
      y[vi, vj] = y[vi, vj] + select(vi + vp >= 1 && vi + vp < 9 && vj + vq >= 1 && vj + vq < 9,
                                     int32(x[vi + vp - 1, vj + vq - 1]) * int32(w[vp, vq]), 0) } } } } } })");
  const std::string text = to_string(peel_tails(core));
  CHECK(text.find(">=") == std::string::npos);
  CHECK(text.find("< ") == std::string::npos);
  // The interior keeps its extents.
  CHECK(text.find("for i in 6") != std::string::npos);
}

TEST_CASE("concatenated ranges become separate loops") {
  CHECK(peeled(R"(program concat { input a: int8[3] input b: int8[4] input c: int8[5] output y: int8[12]
    for i in 12 { block cat { spatial v in 12 = i reads a[v], b[v - 3], c[v - 7] writes y[v]
      y[v] = select(v < 3, a[v], select(v < 7, b[v - 3], c[v - 7])) } } })") == R"(
for i in 3 {
  y[i] = a[i]
}
for i in 4 {
  y[i + 3] = b[i]
}
for i in 5 {
  y[i + 7] = c[i]
}
)");
}

TEST_CASE("a vectorized loop is not split where conditions would remain") {
  const std::string text = R"(program t { input x: int8[8] output y: int8[8, 8]
    for i in 8 vectorized { for j in 8 { block b { spatial vi in 8 = i spatial vj in 8 = j reads x[vi] writes y[vi, vj]
      y[vi, vj] = select(vi + vj < 8, x[vi], 0) } } } })";
  CHECK(peeled(text) == R"(
for i in 8 vectorized {
  for j in 8 {
    y[i, j] = select(i + j < 8, x[i], 0)
  }
}
)");
}

TEST_CASE("thread axes are not split") {
  CHECK(peeled(tiles("thread(block.x)", "thread(thread.x)")) == R"(
for o in 4 thread(block.x) {
  for i in 16 thread(thread.x) {
    if o * 16 + i < 50 {
      y[o * 16 + i] = x[o * 16 + i]
    }
  }
}
)");
}

TEST_CASE("where a split would exceed the size limit the condition stays") {
  CHECK(peeled(tiles("", "unrolled"), {.max_statements = 17}) == R"(
for o in 4 {
  for i in 16 unrolled {
    if o * 16 + i < 50 {
      y[o * 16 + i] = x[o * 16 + i]
    }
  }
}
)");
  CHECK(peeled(tiles("", "unrolled"), {.max_statements = 18}) == R"(
for o in 3 {
  for i in 16 unrolled {
    y[o * 16 + i] = x[o * 16 + i]
  }
}
for i in 2 unrolled {
  y[i + 48] = x[i + 48]
}
)");
}

TEST_CASE("unrolled loops become copies, inner ones first, within the size limit") {
  const std::string text = R"(program t { output y: int32[4, 3]
    for i in 4 unrolled { for j in 3 unrolled { block b { spatial vi in 4 = i spatial vj in 3 = j writes y[vi, vj] y[vi, vj] = int32(vi * 10 + vj) } } } })";
  const Unrolled small = unroll_loops(core_of(text), {.max_statements = 11});
  CHECK(small.kept == std::vector<std::string>{"i"});
  CHECK("\n" + to_string(small.program) == R"(
for i in 4 {
  y[i, 0] = int32(i * 10)
  y[i, 1] = int32(i * 10 + 1)
  y[i, 2] = int32(i * 10 + 2)
}
)");
  const Unrolled all = unroll_loops(core_of(text), {.max_statements = 12});
  CHECK(all.kept.empty());
  const std::string copies = to_string(all.program);
  CHECK(copies.find("for") == std::string::npos);
  CHECK(copies.find("y[3, 2] = 32\n") != std::string::npos);
}
