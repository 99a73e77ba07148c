// Programs with bound loops become kernels: where buffers are stored, and where threads wait for each other.
// run_threads detects planted faults.
#include <string>

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
using namespace dovetail::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Each block reverses a row: a thread reads an element that another one has written.
constexpr const char* kReversedRows = R"(program turn {
  input x: float32[4, 60]
  output y: float32[4, 60]
  alloc s: float32[4, 60]
  for b in 4 thread(block.x) {
    for t in 60 thread(thread.x) {
      block fill {
        spatial i in 4 = b
        spatial j in 60 = t
        reads x[i, j]
        writes s[i, j]
        s[i, j] = x[i, j]
      }
    }
    for u in 60 thread(thread.x) {
      block turn {
        spatial i in 4 = b
        spatial j in 60 = u
        reads s[i, 59 - j]
        writes y[i, j]
        y[i, j] = s[i, 59 - j]
      }
    }
  }
})";

Program parsed(const char* text) {
  auto program = parse_program(text, "test");
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

ThreadProgram lowered(const Program& program) {
  auto result = lower_to_threads(compact_buffers(dissolve_blocks(program, {})), program.name);
  if (!result) FAIL(to_string(result.errors()));
  return *std::move(result);
}

std::vector<NdArray> inputs_of(const Program& program) {
  std::vector<NdArray> list;
  for (const Parameter& parameter : program.parameters) {
    if (parameter.role == ParameterRole::output) continue;
    NdArray array(parameter.buffer->dtype, parameter.buffer->shape);
    for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, 3 * i % 31 - 7);
    list.push_back(std::move(array));
  }
  return list;
}

std::string why(const Program& program, const ThreadProgram& kernels, std::uint64_t seed = 1) {
  const auto result = run_threads(kernels, program.parameters, inputs_of(program), seed);
  return result.ok() ? "" : result.errors().front().why;
}

}  // namespace

TEST_CASE("threads: elements that one thread writes and another reads are shared, with a barrier between") {
  const Program program = parsed(kReversedRows);
  const ThreadProgram kernels = lowered(program);
  REQUIRE(kernels.kernels.size() == 1);
  const ThreadKernel& kernel = kernels.kernels[0];
  CHECK(kernel.blocks() == 4);
  CHECK(kernel.threads() == 60);
  REQUIRE(kernel.shared.size() == 1);
  CHECK(kernel.shared[0]->shape == Shape{1, 60});
  CHECK(kernel.local.empty());
  CHECK(count_barriers(kernel.body) == 1);
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    CHECK(run_threads(kernels, program.parameters, inputs_of(program), seed).value() ==
          evaluate(program, inputs_of(program)).value());
}

TEST_CASE("threads: a removed barrier is detected, with any seed") {
  const Program program = parsed(kReversedRows);
  const ThreadProgram broken = without_barrier(lowered(program), 0);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    CHECK_THAT(why(program, broken, seed),
               ContainsSubstring("without a barrier") || ContainsSubstring("never written"));
}

TEST_CASE(
    "threads: an accumulator across thread loops is private to each thread, and a loop's pieces need two barriers") {
  const Program program = parsed(R"(program pieces {
  input x: float32[3, 8]
  output y: float32[8]
  alloc acc: float32[8]
  alloc piece: float32[8]
  for t0 in 8 thread(thread.x) {
    block start {
      spatial i in 8 = t0
      writes acc[i]
      acc[i] = 0.0
    }
  }
  for t9 in 8 thread(thread.x) {
    block end {
      spatial i in 8 = t9
      reads acc[i]
      writes y[i]
      y[i] = acc[i] + 1.0
    }
  }
})");
  // Two nests: two kernels, with the accumulator between them.
  const ThreadProgram apart = lowered(program);
  CHECK(apart.kernels.size() == 2);
  CHECK(apart.workspace.size() == 1);
  CHECK(why(program, apart).empty());

  const Program one = parsed(R"(program pieces {
  input x: float32[3, 8]
  output y: float32[2, 8]
  alloc acc: float32[2, 8]
  alloc piece: float32[2, 3, 8]
  for b in 2 thread(block.x) {
    for t0 in 8 thread(thread.x) {
      block start {
        spatial n in 2 = b
        spatial i in 8 = t0
        writes acc[n, i]
        acc[n, i] = 0.0
      }
    }
    for k in 3 {
      for t1 in 8 thread(thread.x) {
        block bring {
          spatial n in 2 = b
          spatial l in 3 = k
          spatial i in 8 = t1
          reads x[l, i]
          writes piece[n, l, i]
          piece[n, l, i] = x[l, i]
        }
      }
      for t2 in 8 thread(thread.x) {
        block add {
          spatial n in 2 = b
          reduce l in 3 = k
          spatial i in 8 = t2
          reads acc[n, i], piece[n, l, 7 - i]
          writes acc[n, i]
          acc[n, i] = acc[n, i] + piece[n, l, 7 - i]
        }
      }
    }
    for t9 in 8 thread(thread.x) {
      block end {
        spatial n in 2 = b
        spatial i in 8 = t9
        reads acc[n, i]
        writes y[n, i]
        y[n, i] = acc[n, i]
      }
    }
  }
})");
  const ThreadProgram kernels = lowered(one);
  INFO(to_string(kernels));
  REQUIRE(kernels.kernels.size() == 1);
  const ThreadKernel& kernel = kernels.kernels[0];
  REQUIRE(kernel.local.size() == 1);
  CHECK(kernel.local[0]->name == "acc");
  CHECK(element_count(kernel.local[0]->shape) == 1);
  REQUIRE(kernel.shared.size() == 1);
  CHECK(kernel.shared[0]->shape == Shape{1, 1, 8});
  CHECK(count_barriers(kernel.body) == 2);
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    CHECK(run_threads(kernels, one.parameters, inputs_of(one), seed).value() == evaluate(one, inputs_of(one)).value());
  for (int barrier = 0; barrier < 2; ++barrier)
    for (std::uint64_t seed = 0; seed < 10; ++seed) CHECK(why(one, without_barrier(kernels, barrier), seed) != "");

  SECTION("a buffer in the wrong memory") {
    ThreadProgram broken = kernels;
    broken.kernels[0].local.push_back(broken.kernels[0].shared[0]);
    broken.kernels[0].shared.clear();
    CHECK_THAT(why(one, broken), ContainsSubstring("was never written"));
  }
  SECTION("a barrier that not all threads reach") {
    ThreadProgram broken = kernels;
    const Expr some = binary(BinaryOp::lt, ref(kernel.axes.back().var), int_imm(4));
    broken.kernels[0].body = changed(kernel.body, [&](const Core& inner) {
      return inner && std::holds_alternative<CoreBarrier>(inner->node) ? core_if(some, inner) : inner;
    });
    CHECK(why(one, broken) != "");
  }
  SECTION("a thread too many") {
    ThreadProgram broken = kernels;
    ++broken.kernels[0].axes.back().extent;
    CHECK_THAT(why(one, broken), ContainsSubstring("is outside of 0 <= index < 8"));
  }
  SECTION("a thread too few") {
    ThreadProgram broken = kernels;
    --broken.kernels[0].axes.back().extent;
    CHECK_THAT(why(one, broken), ContainsSubstring("never written"));
  }
}

TEST_CASE("threads: if only one warp's threads share data, they wait alone, and otherwise for the block") {
  // Each warp, a coordinate in y, reverses its own row; then all threads read the row of the next warp.
  const auto turned = [](const char* last) {
    const std::string text = fmt::format(R"(program turn {{
  input x: float32[4, 32]
  output y: float32[4, 32]
  alloc a: float32[4, 32]
  alloc b: float32[4, 32]
  for z in 1 thread(block.x) {{
    for k in 2 {{
      for w0 in 4 thread(thread.y) {{ for t0 in 32 thread(thread.x) {{
        block one {{ spatial w in 4 = w0 spatial t in 32 = t0 ordered n in 2 = k reads x[w, t] writes a[w, t]
          a[w, t] = x[w, t] + float32(n) }} }} }}
      for w1 in 4 thread(thread.y) {{ for t1 in 32 thread(thread.x) {{
        block two {{ spatial w in 4 = w1 spatial t in 32 = t1 ordered n in 2 = k reads a[w, 31 - t] writes b[w, t]
          b[w, t] = a[w, 31 - t] }} }} }}
    }}
    for w2 in 4 thread(thread.y) {{ for t2 in 32 thread(thread.x) {{
      block three {{ spatial w in 4 = w2 spatial t in 32 = t2 reads b[{}] writes y[w, t] y[w, t] = b[{}] }} }} }}
  }}
}})",
                                         last, last);
    return parsed(text.c_str());
  };
  const auto count = [](const Core& body, bool of_warp) {
    int found = 0;
    changed(body, [&](const Core& inner) {
      const auto* barrier = inner ? std::get_if<CoreBarrier>(&inner->node) : nullptr;
      found += barrier != nullptr && barrier->of_warp == of_warp ? 1 : 0;
      return inner;
    });
    return found;
  };
  const auto check = [&](const Program& program, int of_warps, int of_block) {
    const ThreadProgram kernels = lowered(program);
    INFO(to_string(kernels));
    REQUIRE(kernels.kernels.size() == 1);
    CHECK(count(kernels.kernels[0].body, true) == of_warps);
    CHECK(count(kernels.kernels[0].body, false) == of_block);
    const auto expected = evaluate(program, inputs_of(program)).value();
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      CHECK(run_threads(kernels, program.parameters, inputs_of(program), seed).value() == expected);
    for (int barrier = 0; barrier < of_warps + of_block; ++barrier)
      for (std::uint64_t seed = 0; seed < 5; ++seed) CHECK(why(program, without_barrier(kernels, barrier), seed) != "");
    if (of_block == 0) return;
    // One barrier for each warp instead of the block's is not enough.
    ThreadProgram weaker = kernels;
    weaker.kernels[0].body = changed(kernels.kernels[0].body, [](const Core& inner) {
      return inner && std::holds_alternative<CoreBarrier>(inner->node) ? make_core(CoreBarrier{.of_warp = true})
                                                                       : inner;
    });
    for (std::uint64_t seed = 0; seed < 5; ++seed) CHECK_THAT(why(program, weaker, seed), ContainsSubstring("barrier"));
  };
  // Before each product of a round, and after it: the next round writes a again.
  check(turned("w, t"), 2, 0);
  check(turned("w, 31 - t"), 3, 0);
  check(turned("(w + 1) % 4, t"), 2, 1);
  // A lane that does not take part is detected.
  const Program program = turned("w, t");
  ThreadProgram broken = lowered(program);
  const Expr some = binary(BinaryOp::lt, ref(broken.kernels[0].axes.back().var), int_imm(31));
  broken.kernels[0].body = changed(broken.kernels[0].body, [&](const Core& inner) {
    return inner && std::holds_alternative<CoreBarrier>(inner->node) ? core_if(some, inner) : inner;
  });
  CHECK(why(program, broken) != "");
}

TEST_CASE("threads: a thread's own elements may be adjacent or periodic, and a nest of one block is one kernel") {
  const Program program = parsed(R"(program tile {
  input x: float32[16]
  output y: float32[16]
  alloc acc: float32[16]
  for b in 1 thread(block.x) {
    for t0 in 4 thread(thread.x) {
      for r0 in 2 {
        for e0 in 2 {
          block start {
            spatial i in 16 = r0 * 8 + t0 * 2 + e0
            writes acc[i]
            acc[i] = 1.0
          }
        }
      }
    }
    for t1 in 4 thread(thread.x) {
      for r1 in 2 {
        for e1 in 2 {
          block end {
            spatial i in 16 = r1 * 8 + t1 * 2 + e1
            reads acc[i], x[i]
            writes y[i]
            y[i] = acc[i] + x[i]
          }
        }
      }
    }
  }
})");
  const ThreadProgram kernels = lowered(program);
  INFO(to_string(kernels));
  REQUIRE(kernels.kernels.size() == 1);
  REQUIRE(kernels.kernels[0].local.size() == 1);
  CHECK(kernels.kernels[0].local[0]->shape == Shape{4});
  CHECK(count_barriers(kernels.kernels[0].body) == 0);
  CHECK(run_threads(kernels, program.parameters, inputs_of(program), 3).value() ==
        evaluate(program, inputs_of(program)).value());
}

TEST_CASE("threads: rows of shared buffers are padded apart") {
  const Program program = parsed(R"(program rows {
  input x: float32[4, 8]
  output y: float32[4, 8]
  alloc s: float32[4, 8] in shared
  for b in 1 thread(block.x) {
    for i0 in 4 { for t in 8 thread(thread.x) { block fill { spatial i in 4 = i0 spatial j in 8 = t reads x[i, j]
      writes s[i, j] s[i, j] = x[i, j] } } }
    for i1 in 4 { for u in 8 thread(thread.x) { block turn { spatial i in 4 = i1 spatial j in 8 = u reads s[i, 7 - j]
      writes y[i, j] y[i, j] = s[i, 7 - j] } } }
  }
})");
  const auto kernels = lower_to_threads(compact_buffers(dissolve_blocks(program, {}), {0, 16}), "rows").value();
  CHECK(kernels.kernels[0].shared.at(0)->shape == Shape{4, 12});
  CHECK(run_threads(kernels, program.parameters, inputs_of(program), 3).value() ==
        evaluate(program, inputs_of(program)).value());
}

TEST_CASE("threads: a missing predicate gives an access out of bounds") {
  const Program program = parsed(R"(program tail {
  input x: float32[10]
  output y: float32[10]
  for b in 3 thread(block.x) {
    for t in 4 thread(thread.x) {
      block copy {
        spatial i in 10 = b * 4 + t
        where i < 10
        reads x[i]
        writes y[i]
        y[i] = x[i]
      }
    }
  }
})");
  ThreadProgram kernels = lowered(program);
  CHECK(why(program, kernels).empty());
  kernels.kernels[0].body = changed(kernels.kernels[0].body, [](const Core& inner) {
    const auto* condition = inner ? std::get_if<CoreIf>(&inner->node) : nullptr;
    return condition != nullptr ? condition->then_body : inner;
  });
  CHECK_THAT(why(program, kernels), ContainsSubstring("is outside of 0 <= index < 10"));
}

TEST_CASE("threads: a statement outside the loops of an axis runs once") {
  const Program program = parsed(R"(program once {
  input x: float32[2, 6]
  output y: float32[2, 6]
  output z: float32[2]
  for b in 2 thread(block.x) {
    for t in 6 thread(thread.x) {
      block copy {
        spatial n in 2 = b
        spatial i in 6 = t
        reads x[n, i]
        writes y[n, i]
        y[n, i] = x[n, i]
      }
    }
    block last {
      spatial n in 2 = b
      reads y[n, 5]
      writes z[n]
      z[n] = y[n, 5]
    }
  }
})");
  const ThreadProgram kernels = lowered(program);
  CHECK(count_barriers(kernels.kernels[0].body) == 1);
  CHECK(run_threads(kernels, program.parameters, inputs_of(program), 3).value() ==
        evaluate(program, inputs_of(program)).value());
  CHECK_THAT(why(program, without_barrier(kernels, 0)),
             ContainsSubstring("without a barrier") || ContainsSubstring("never written"));
}

TEST_CASE("threads: work of one thread before and after the threads of one block is part of their kernel") {
  const Program program = parsed(R"(program ends {
  input x: float32[6]
  output y: float32[6]
  alloc first: float32[1]
  block begin {
    spatial n in 1 = 0
    reads x[n]
    writes first[n]
    first[n] = x[n] + 1.0
  }
  for t in 6 thread(thread.x) {
    block middle {
      spatial i in 6 = t
      reads x[i], first[0]
      writes y[i]
      y[i] = x[i] * first[0]
    }
  }
})");
  const ThreadProgram kernels = lowered(program);
  INFO(to_string(kernels));
  CHECK(kernels.kernels.size() == 1);
  CHECK(kernels.workspace.empty());
  // Each thread has computed it separately.
  CHECK(kernels.kernels[0].shared.empty());
  CHECK(count_barriers(kernels.kernels[0].body) == 0);
  CHECK(run_threads(kernels, program.parameters, inputs_of(program), 3).value() ==
        evaluate(program, inputs_of(program)).value());
}

TEST_CASE("threads: buffers that exceed a block's memory are refused with both numbers") {
  const Program program = parsed(kReversedRows);
  const auto result = lower_to_threads(compact_buffers(dissolve_blocks(program, {})), program.name,
                                       {.shared_bytes = 100, .local_bytes = 100, .pipeline = {}});
  REQUIRE(!result.ok());
  CHECK_THAT(to_string(result.errors()),
             ContainsSubstring("the kernel needs 240 bytes of shared memory, but a block has 100"));
}
