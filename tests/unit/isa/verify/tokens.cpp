// A correct pipeline has no finding; each wrong token yields findings that name the instructions on both sides.
#include "tests/unit/isa/verify/program.h"

namespace dovetail::test {

TEST_CASE("verify: a pipeline with its tokens has no finding") {
  const Checked checked(kPipeline);
  CHECK(text(checked.report()) == "");
  CHECK(text(checked.report_without_image()) == "");
}

TEST_CASE("verify: a dropped token is a race") {
  Checked checked(kPipeline);
  checked.program[4].flags.push_next = false;
  checked.program[5].flags.pop_prev = false;
  CHECK(text(checked.report()) ==
        "race: race on acc[0] (#4 `gemm uop=0:1 iter=1x1 pop_prev` and #5 `store.out sram=0 dram=0x200 size=1x1 "
        "stride=1`): #4 (compute "
        "queue) writes, #5 (store queue) reads the same elements, and no token orders the two. Hint: push a push_next "
        "token at or after #4, "
        "and pop it (pop_prev) at or before #5\n");
}

TEST_CASE("verify: a dropped pop is a race and a leftover token") {
  Checked checked(kPipeline);
  checked.program[4].flags.pop_prev = false;
  CHECK(text(checked.report()) ==
        "leftover token: 1 token left over in load -> compute (#2 `load.wgt sram=0 dram=0x10 size=1x1 stride=1 "
        "push_next`): 2 pushed and 1 popped in the launch; the first that is never popped is pushed here, the last pop "
        "is at #3 `gemm uop=0:1 iter=1x1 reset pop_prev`. Hint: add a pop, or remove the push\nrace: race on wgt[0] "
        "(#2 `load.wgt sram=0 dram=0x10 size=1x1 stride=1 push_next` and #4 `gemm uop=0:1 iter=1x1 push_next`): #2 "
        "(load queue) writes, #4 (compute queue) reads the same elements, and no token orders the two. Hint: push a "
        "push_next token at or after #2, and pop it (pop_prev) at or before #4\n");
}

TEST_CASE("verify: a dropped push is a deadlock") {
  Checked checked(kPipeline);
  checked.program[2].flags.push_next = false;
  CHECK(text(checked.report()) ==
        "deadlock: deadlock, as a token is missing (#4 `gemm uop=0:1 iter=1x1 pop_prev push_next`): load is empty; "
        "compute waits at #4 `gemm uop=0:1 iter=1x1 pop_prev push_next` for token 2 of load -> compute, which nothing "
        "pushes; store waits at #5 `store.out sram=0 dram=0x200 size=1x1 stride=1 pop_prev` for token 1 of compute -> "
        "store, which #4 `gemm uop=0:1 iter=1x1 pop_prev push_next` would push. Hint: push the missing tokens before "
        "they are popped, or remove the pops\n");
}

TEST_CASE("verify: a token that is pushed too early orders nothing") {
  // The weights are loaded after the token that should announce them.
  Checked checked(kPipeline);
  checked.program[1].flags.push_next = true;
  checked.program[2].flags.push_next = false;
  checked.program[3].flags.pop_prev = false;
  const isa::VerifyReport report = checked.report();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == isa::FindingKind::race);
  CHECK(report.findings[0].instruction == 4);
  CHECK(report.findings[0].other == 2);
  CHECK(report.findings[0].memory == isa::Memory::wgt);
  CHECK(report.findings[0].extents == std::vector<isa::Extent>{{0, 1}});
}

TEST_CASE("verify: each dropped token of a double-buffered loop is found") {
  Checked checked(R"(
load.uop sram=0 dram=0x0 size=1x2 stride=2
load.wgt sram=0 dram=0x10 size=1x1 stride=1
load.inp sram=0 dram=0x10 size=1x1 stride=1 push_next
load.inp sram=1 dram=0x11 size=1x1 stride=1 push_next
gemm uop=0:2 iter=1x1 reset
gemm uop=0:1 iter=1x1 pop_prev push_prev push_next
gemm uop=1:2 iter=1x1 pop_prev push_prev push_next
store.out sram=0 dram=0x200 size=1x1 stride=1 pop_prev push_prev
store.out sram=1 dram=0x201 size=1x1 stride=1 pop_prev push_prev
load.inp sram=0 dram=0x12 size=1x1 stride=1 pop_next push_next
load.inp sram=1 dram=0x13 size=1x1 stride=1 pop_next push_next
gemm uop=0:1 iter=1x1 pop_prev pop_next push_next
gemm uop=1:2 iter=1x1 pop_prev pop_next push_next
store.out sram=0 dram=0x202 size=1x1 stride=1 pop_prev
store.out sram=1 dram=0x203 size=1x1 stride=1 pop_prev
)",
                  {{0, 0, 0}, {1, 1, 0}});
  REQUIRE(text(checked.report()) == "");
  const std::vector<isa::Instruction> right = checked.program;
  for (std::size_t i = 0; i < right.size(); ++i)
    for (auto flag : {&isa::DependencyFlags::pop_prev, &isa::DependencyFlags::pop_next,
                      &isa::DependencyFlags::push_prev, &isa::DependencyFlags::push_next}) {
      if (!(right[i].flags.*flag)) continue;
      checked.program = right;
      checked.program[i].flags.*flag = false;
      INFO("instruction " << i);
      CHECK_FALSE(checked.report().clean());
    }
}

TEST_CASE("verify: finite queues deadlock where unlimited ones do not") {
  // The store is fetched before the GEMM it waits for, and a second one does not fit after it.
  Checked checked(R"(
.config command_queue_depth=1
load.acc sram=0 dram=0x10 size=1x1 stride=1
store.out sram=0 dram=0x200 size=1x1 stride=1 pop_prev
store.out sram=0 dram=0x201 size=1x1 stride=1
finish push_next
)");
  CHECK(text(checked.report()) ==
        "deadlock: deadlock, as queues are too short (#1 `store.out sram=0 dram=0x200 size=1x1 stride=1 pop_prev`): "
        "load is empty; compute is empty; store waits at #1 `store.out sram=0 dram=0x200 size=1x1 stride=1 pop_prev` "
        "for token 1 of compute -> store, which #3 `finish push_next` would push; fetch waits at #2 `store.out sram=0 "
        "dram=0x201 size=1x1 stride=1`, because the store queue contains 1 of 1 instructions. Hint: there is no "
        "deadlock with queues of unlimited depth: move consumers closer to their producers in the program, or raise "
        "command_queue_depth or token_queue_depth\n");
  checked.config.command_queue_depth = 2;
  CHECK(text(checked.report()) == "");
}

TEST_CASE("verify: two full token queues stop each other's producers") {
  // Both units keep the tokens that they cannot push, and take no further instruction: FINISH is serial, and a STORE
  // runs alone.
  Checked checked(R"(
.config token_queue_depth=1
nop.out push_prev
nop.out push_prev
nop.out pop_prev
nop.out pop_prev
finish push_next
finish push_next
finish pop_next
finish pop_next
)");
  const isa::VerifyReport report = checked.report();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == isa::FindingKind::deadlock);
  CHECK(report.findings[0].instruction == 1);
  CHECK(report.findings[0].diagnostic.why ==
        "load is empty; compute cannot finish #5 `finish push_next`, because compute -> store contains 1 of 1 tokens, "
        "and waits at #6 `finish pop_next` until the unit takes it; store cannot finish #1 `nop.out push_prev`, "
        "because store -> compute contains 1 of 1 tokens, and waits at #2 `nop.out pop_prev` until the unit takes it");
  checked.config.token_queue_depth = 2;
  CHECK(text(checked.report()) == "");
}

TEST_CASE("verify: a unit takes the next instruction's tokens while the previous one waits to push") {
  // The same between load and compute, where loads overlap.
  Checked checked(R"(
.config token_queue_depth=1
nop.inp push_next
nop.inp push_next
nop.inp pop_next
nop.inp pop_next
finish push_prev
finish push_prev
finish pop_prev
finish pop_prev
)");
  CHECK(text(checked.report()) == "");
}

TEST_CASE("verify: a wait of unlimited queues is reported together with the deadlock of the real ones") {
  // Compute waits for a missing store; loads are stopped by tokens that compute does not pop.
  Checked checked(R"(
.config token_queue_depth=1
finish pop_next
nop.inp push_next
nop.inp push_next
finish pop_prev
finish pop_prev
)");
  const isa::VerifyReport report = checked.report();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].instruction == 0);
  CHECK(report.findings[0].diagnostic.what == "deadlock, as a token is missing");
  CHECK(report.findings[0].diagnostic.why ==
        "load cannot finish #2 `nop.inp push_next`, because load -> compute contains 1 of 1 tokens; compute waits at "
        "#0 `finish pop_next` for token 1 of store -> compute, which nothing pushes; store is empty. With queues of "
        "unlimited depth, load is empty; compute waits at #0 `finish pop_next` for token 1 of store -> compute, which "
        "nothing pushes; store is empty");
}

}  // namespace dovetail::test
