// Kinds of loops that a target does not support are refused, with the kind, the target and the remedy.
#include "compiler/target/accel/lower/lower.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cuda/lower.h"
#include "isa/config.h"
#include "loops/interpreter.h"
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail;
using schedule::test::parsed;

namespace {

// y[i] = x[i] over one loop of that extent and kind.
loops::Program copy(int extent, const std::string& kind) {
  const std::string n = std::to_string(extent);
  return parsed("program copy { input x: int32[" + n + "] output y: int32[" + n + "] for i in " + n + " " + kind +
                " { block b { spatial v in " + n + " = i reads x[v] writes y[v] y[v] = x[v] } } }");
}

std::string on_cpu(const loops::Program& program) {
  const auto cpu = cpu::find_cpu("baseline");
  REQUIRE(cpu.ok());
  const auto kernel = cpu::compile_kernel(program, {}, "kernel", *cpu);
  return kernel.ok() ? "compiled" : to_string(kernel.errors());
}

std::string on_accelerator(const loops::Program& program) {
  const auto lowered = accel::lower(program, {}, accel::LoweringFacts(isa::HardwareConfig{}), {});
  return lowered.ok() ? "lowered" : to_string(lowered.errors());
}

}  // namespace

TEST_CASE("the CPU back end generates code for parallel, vectorized and unrolled loops") {
  for (const char* kind : {"", "parallel", "vectorized", "unrolled"}) CHECK(on_cpu(copy(8, kind)) == "compiled");
}

TEST_CASE("the CPU back end refuses the other kinds of loops") {
  CHECK(on_cpu(copy(8, "vthread")) ==
        "error: cannot generate code for copy (loop i): the loop is of kind vthread, which target the CPU back end "
        "does not support. Hint: remove the schedule step that set the kind (supported: serial, parallel, vectorized, "
        "unrolled), or choose a target that supports it; docs/reference/schedules.md lists them");
  CHECK_THAT(on_cpu(copy(8, "pipelined @stages(\"2\")")),
             Catch::Matchers::ContainsSubstring(
                 "the loop is of kind pipelined, which target the CPU back end does not support"));
  CHECK_THAT(
      on_cpu(copy(8, "thread(block.x)")),
      Catch::Matchers::ContainsSubstring("the loop is of kind thread, which target the CPU back end does not support"));
}

TEST_CASE("the CPU back end accepts as many lanes as the widest register has bytes") {
  CHECK(on_cpu(copy(64, "vectorized")) == "compiled");
  CHECK(on_cpu(copy(65, "vectorized")) ==
        "error: cannot generate code for copy (loop i): the loop is vectorized over 65 iterations, but target the CPU "
        "back end supports at most 64 lanes. Hint: split the loop, and vectorize the inner one");
}

TEST_CASE("the accelerator back end refuses the kinds that it does not support") {
  CHECK(on_accelerator(copy(8, "vectorized")) ==
        "error: cannot generate code for copy (loop i): the loop is of kind vectorized, which target the accelerator "
        "back end does not support. Hint: remove the schedule step that set the kind (supported: serial, vthread, "
        "pipelined), or choose a target that supports it; docs/reference/schedules.md lists them");
  for (const std::string kind : {"parallel", "unrolled"})
    CHECK_THAT(on_accelerator(copy(8, kind)), Catch::Matchers::ContainsSubstring("the loop is of kind " + kind + ","));
}

TEST_CASE("a pipelined loop of more stages than a target has is refused, with both numbers") {
  constexpr std::array kKinds{loops::ForKind::pipelined};
  const LoopSupport support{.target = "this GPU", .kinds = kKinds, .most_stages = 8};
  CHECK(check_loops(copy(16, "pipelined @stages(\"8\")"), support).ok());
  const auto status = check_loops(copy(16, "pipelined @stages(\"9\")"), support);
  REQUIRE(status.errors().size() == 1);
  CHECK(to_string(status.errors()[0]) ==
        "error: cannot generate code for copy (loop i): the pipelined loop has 9 stages, but target this GPU supports "
        "at most 8. Hint: give fewer stages");
}

TEST_CASE("every loop that a target does not support is named, and an axis that it does not have") {
  constexpr std::array kKinds{loops::ForKind::thread};
  constexpr std::array<std::string_view, 2> kAxes{"block.x", "thread.x"};
  const auto program = parsed(
      "program p { output y: int32[4, 2, 3] for i in 4 thread(block.x) { for j in 2 thread(thread.y) { for k in 3 "
      "unrolled { block b { spatial u in 4 = i spatial v in 2 = j spatial w in 3 = k writes y[u, v, w] y[u, v, w] = 0 "
      "} } } } }");
  const auto status = check_loops(program, {"this GPU", kKinds, kAxes});
  REQUIRE(status.errors().size() == 2);
  CHECK(to_string(status.errors()[0]) ==
        "error: cannot generate code for p (loop j): the loop is bound to thread.y, a thread axis that target this GPU "
        "does not have. Hint: bind the loop to one of block.x, thread.x");
  CHECK(to_string(status.errors()[1]) ==
        "error: cannot generate code for p (loop k): the loop is of kind unrolled, which target this GPU does not "
        "support. Hint: remove the schedule step that set the kind (supported: serial, thread), or choose a target "
        "that supports it; docs/reference/schedules.md lists them");
}

TEST_CASE("the interpreter runs loops of every kind in order") {
  std::vector<std::int32_t> values{3, 1, 4, 1};
  const std::vector<NdArray> arguments{NdArray::from<std::int32_t>({4}, values)};
  for (const char* kind :
       {"", "parallel", "vectorized", "unrolled", "vthread", "pipelined @stages(\"2\")", "thread(thread.x)"}) {
    const auto result = loops::evaluate(copy(4, kind), arguments);
    REQUIRE(result.ok());
    CHECK(std::ranges::equal((*result)[0].data<std::int32_t>(), values));
  }
}

TEST_CASE("slots and scopes that a target does not support are refused with their name") {
  const auto program = [](const std::string& slots, const std::string& scope) {
    return parsed("program p { input x: int32[8] output y: int32[8] alloc t: int32[8]" + scope +
                  " for i in 8 { block a " + slots +
                  " { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] } block b { spatial v in 8 = i reads t[v] "
                  "writes y[v] y[v] = t[v] } } }");
  };
  const cuda::Gpu gpu = cuda::parse_gpu("", "sm_80").value();
  const auto on_gpu = [&](const loops::Program& p) {
    const auto kernels = cuda::lower(p, gpu);
    return kernels.ok() ? "lowered" : to_string(kernels.errors());
  };
  CHECK(on_gpu(program("", "")) == "lowered");
  CHECK(on_cpu(program("@slots(\"2\")", "")) ==
        "error: cannot generate code for p (block a): the block's result has 2 slots, which target the CPU back end "
        "does not support. Hint: remove the step `slots t`, or choose a target that supports it; "
        "docs/reference/schedules.md lists them");
  // A GPU supports them for buffers that the threads of a block share.
  CHECK(on_gpu(program("@slots(\"2\")", "")) ==
        "error: cannot lower to threads (p, buffer t): the buffer has slots, but the threads of a block do not share "
        "it. Hint: remove the step `slots`, or bind the loops that fill and use the buffer to threads");
  CHECK(on_gpu(program("", " in acc")) ==
        "error: cannot generate code for p (buffer t): the buffer is in scope acc, which target the CUDA back end does "
        "not have. Hint: remove the step set_scope, or set the scope to one of register, shared");
  CHECK(on_gpu(program("", " in register")) == "lowered");
  CHECK(on_gpu(program("", " in shared")) ==
        "error: cannot generate code for p (buffer t): the buffer is in scope shared, but no two threads use the same "
        "elements of it. Hint: remove the step `set_scope`, or compute_at the buffer's other users");
}
