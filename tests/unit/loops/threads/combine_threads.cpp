// Threads that join a reduction: the tree that lowering makes of the loop, and planted faults.
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

// Each block sums `rows` rows of x; the threads of a row are along `axis`, rows along `other`. The divisor of the sum
// is outside the loop over the threads of a row.
Program sums(std::int64_t rows, std::int64_t threads, const char* axis = "thread.x", const char* other = "thread.y") {
  constexpr const char* text = R"(program sums {{
  input x: int32[2, {0}, 3, {1}]
  output y: int32[2, {0}, {1}]
  alloc part: int32[2, {0}, {1}]
  alloc s: int32[2, {0}]
  alloc half: int32[2, {0}]
  for b in 2 thread(block.x) {{
    for r in {0} thread({3}) {{ for t in {1} thread({2}) {{ for k in 3 {{
      block part {{
        spatial bi in 2 = b
        spatial ri in {0} = r
        spatial ti in {1} = t
        reduce ki in 3 = k
        reads x[bi, ri, ki, ti], part[bi, ri, ti]
        writes part[bi, ri, ti]
        init {{ part[bi, ri, ti] = 0 }}
        part[bi, ri, ti] = part[bi, ri, ti] + x[bi, ri, ki, ti]
      }} }} }} }}
    for r1 in {0} thread({3}) {{ for t1 in {1} thread({2}) {{
      block join {{
        spatial bi in 2 = b
        spatial ri in {0} = r1
        reduce ti in {1} = t1
        reads part[bi, ri, ti], s[bi, ri]
        writes s[bi, ri]
        init {{ s[bi, ri] = 0 }}
        s[bi, ri] = s[bi, ri] + part[bi, ri, ti]
      }} }} }}
    for r2 in {0} thread({3}) {{
      block half {{
        spatial bi in 2 = b
        spatial ri in {0} = r2
        reads s[bi, ri]
        writes half[bi, ri]
        half[bi, ri] = s[bi, ri] // 2
      }} }}
    for r3 in {0} thread({3}) {{ for t3 in {1} thread({2}) {{
      block out {{
        spatial bi in 2 = b
        spatial ri in {0} = r3
        spatial ti in {1} = t3
        reads half[bi, ri], x[bi, ri, 0, ti]
        writes y[bi, ri, ti]
        y[bi, ri, ti] = x[bi, ri, 0, ti] - half[bi, ri]
      }} }} }}
  }}
}})";
  auto program = parse_program(fmt::format(fmt::runtime(text), rows, threads, axis, other), "test");
  if (!program) FAIL(to_string(program.errors()));
  return *std::move(program);
}

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
    for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, (7 * i * i + 3 * i) % 61 - 30);
    list.push_back(std::move(array));
  }
  return list;
}

Result<std::vector<NdArray>> ran(const Program& program, const ThreadProgram& kernels, std::uint64_t seed) {
  return run_threads(kernels, program.parameters, inputs_of(program), seed);
}

void check(const Program& program, const ThreadProgram& kernels) {
  INFO(to_string(kernels));
  const auto expected = evaluate(program, inputs_of(program)).value();
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto have = ran(program, kernels, seed);
    if (!have) FAIL(to_string(have.errors()));
    CHECK(*have == expected);
  }
}

int count_shuffles(const ThreadProgram& kernels) {
  int count = 0;
  changed(kernels.kernels[0].body, [&](const Core& inner) {
    if (inner && std::holds_alternative<CoreShuffle>(inner->node)) ++count;
    return inner;
  });
  return count;
}

ThreadProgram with_shuffles(ThreadProgram program, const std::function<void(CoreShuffle&)>& change) {
  program.kernels[0].body = changed(program.kernels[0].body, [&](const Core& inner) -> Core {
    const auto* n = inner ? std::get_if<CoreShuffle>(&inner->node) : nullptr;
    if (n == nullptr) return inner;
    CoreShuffle copy = *n;
    change(copy);
    return make_core(std::move(copy));
  });
  return program;
}

bool fault(const Program& program, const ThreadProgram& kernels) {
  const auto expected = evaluate(program, inputs_of(program)).value();
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto have = ran(program, kernels, seed);
    if (have.ok() && *have == expected) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("threads: a warp joins its sums only by shuffles, and each thread has the result") {
  const Program program = sums(1, 32);
  const ThreadProgram kernels = lowered(program);
  check(program, kernels);
  CHECK(kernels.kernels[0].shared.empty());
  CHECK(count_barriers(kernels.kernels[0].body) == 0);
  CHECK(count_shuffles(kernels) == 5);
}

TEST_CASE("threads: several warps store their parts in shared memory, with a barrier between") {
  const Program program = sums(1, 96);
  const ThreadProgram kernels = lowered(program);
  check(program, kernels);
  REQUIRE(kernels.kernels[0].shared.size() == 1);
  CHECK(kernels.kernels[0].shared[0]->shape == Shape{3});
  CHECK(count_barriers(kernels.kernels[0].body) == 1);
  CHECK(count_shuffles(kernels) == 5);
}

TEST_CASE("threads: rows that share a warp join their sums separately; odd extents and distant lanes use no shuffles") {
  struct Row {
    std::int64_t rows, threads;
    const char* axis;
    int shuffles;
  };
  // Along y, neighbors are as many lanes apart as there are rows; 12 threads of 4 rows share warps, of which 4 lanes
  // each can be distinguished.
  for (const Row& row :
       {Row{4, 16, "thread.x", 4}, Row{3, 8, "thread.x", 3}, Row{8, 12, "thread.x", 2}, Row{5, 7, "thread.x", 0},
        Row{4, 16, "thread.y", 3}, Row{32, 8, "thread.y", 0}, Row{2, 2, "thread.y", 1}, Row{1, 1024, "thread.x", 5}}) {
    const bool along_x = std::string_view(row.axis) == "thread.x";
    const Program program = sums(row.rows, row.threads, row.axis, along_x ? "thread.y" : "thread.x");
    const ThreadProgram kernels = lowered(program);
    INFO(row.rows << " rows, " << row.threads << " threads along " << row.axis);
    check(program, kernels);
    CHECK(count_shuffles(kernels) == row.shuffles);
  }
}

TEST_CASE("threads: a maximum and its index are joined together") {
  const Program program = parsed(R"(program best {
  input x: int32[64]
  output y: int64[1]
  output z: int32[1]
  alloc v: int32[64]
  alloc p: int64[64]
  alloc best: int32[1]
  alloc where: int64[1]
  for b in 1 thread(block.x) {
    for t in 64 thread(thread.x) {
      block part {
        spatial i in 64 = t
        reads x[i]
        writes v[i], p[i]
        v[i], p[i] = x[i], i
      }
    }
    for t1 in 64 thread(thread.x) {
      block join {
        reduce i in 64 = t1
        reads v[i], p[i], best[0], where[0]
        writes best[0], where[0]
        init { best[0], where[0] = -100, 1000 }
        best[0], where[0] = select(v[i] > best[0] || v[i] == best[0] && p[i] < where[0], v[i], best[0]), select(v[i] > best[0] || v[i] == best[0] && p[i] < where[0], p[i], where[0])
      }
    }
    block out {
      spatial i in 1 = 0
      reads best[0], where[0]
      writes y[i], z[i]
      y[i], z[i] = where[0], best[0]
    }
  }
})");
  const ThreadProgram kernels = lowered(program);
  check(program, kernels);
  CHECK(count_shuffles(kernels) == 10);
  CHECK(fault(program, without_barrier(kernels, 0)));
}

TEST_CASE("threads: faults planted in a tree are found by run_threads") {
  const Program program = sums(2, 64);
  const ThreadProgram kernels = lowered(program);
  check(program, kernels);
  REQUIRE(count_barriers(kernels.kernels[0].body) == 1);
  CHECK(fault(program, without_barrier(kernels, 0)));
  CHECK(fault(program, with_shuffles(kernels, [](CoreShuffle& n) { n.mask = 0x0fffffff; })));
  CHECK(fault(program, with_shuffles(kernels, [](CoreShuffle& n) { n.distance = n.distance == 1 ? 2 : n.distance; })));
  CHECK(fault(program, with_shuffles(kernels, [](CoreShuffle& n) { n.distance *= 2; })));
  // One lane of each warp stores the warp's part: all of them do; a lane does not take part.
  REQUIRE(kernels.kernels[0].axes[2].axis == "thread.x");
  ThreadProgram broken = kernels;
  broken.kernels[0].body = changed(kernels.kernels[0].body, [](const Core& inner) {
    const auto* condition = inner ? std::get_if<CoreIf>(&inner->node) : nullptr;
    return condition != nullptr ? condition->then_body : inner;
  });
  CHECK(fault(program, broken));
  const Expr some = binary(BinaryOp::ne, ref(kernels.kernels[0].axes[2].var), int_imm(40));
  broken = kernels;
  broken.kernels[0].body = changed(kernels.kernels[0].body, [&](const Core& inner) {
    return inner && std::holds_alternative<CoreShuffle>(inner->node) ? core_if(some, inner) : inner;
  });
  CHECK(fault(program, broken));
  // A warp whose lane 8 has no work.
  broken = kernels;
  broken.kernels[0].body = core_if(some, kernels.kernels[0].body);
  CHECK_THAT(to_string(ran(program, broken, 1).errors()),
             ContainsSubstring("waits at a shuffle for lane 8") || ContainsSubstring("ends, thread"));
}

TEST_CASE("threads: joining under a condition that differs between threads is refused") {
  const Program program = parsed(R"(program some {
  input x: int32[4, 32]
  output y: int32[4]
  for b in 1 thread(block.x) {
    for r in 4 thread(thread.y) {
      if r < 3 {
        for t in 32 thread(thread.x) {
          block join {
            spatial i in 4 = r
            reduce k in 32 = t
            reads x[i, k], y[i]
            writes y[i]
            init { y[i] = 0 }
            y[i] = y[i] + x[i, k]
          }
        }
      }
    }
  }
})");
  const auto result = lower_to_threads(compact_buffers(dissolve_blocks(program, {})), program.name);
  REQUIRE(!result.ok());
  CHECK_THAT(to_string(result.errors()), ContainsSubstring("under a condition that differs between them"));
}
