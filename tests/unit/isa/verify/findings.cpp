// The other kinds of findings, with their exact words.
#include "tests/unit/isa/verify/program.h"

namespace dovetail::test {

TEST_CASE("verify: reading unwritten SRAM is a finding") {
  Checked checked(kPipeline);
  std::swap(checked.program[0], checked.program[3]);
  CHECK(text(checked.report()) ==
        "undefined read: undefined read of uop[0] (#0 `gemm uop=0:1 iter=1x1 reset pop_prev`): the instruction reads "
        "elements that no instruction has written before, in this launch or an earlier one. Hint: load them "
        "first\nundefined read: undefined read of acc[0] (#4 `gemm uop=0:1 iter=1x1 pop_prev push_next`): the "
        "instruction reads elements that no instruction has written before, in this launch or an earlier one. Hint: "
        "load, reset or overwrite them first\n");
}

TEST_CASE("verify: REQUANT reads the element after its source") {
  Checked checked(R"(
.config requant=true
load.uop sram=0 dram=0x0 size=1x1 stride=1
load.acc sram=0 dram=0x10 size=1x2 stride=2
alu.requant uop=0:1 iter=1x1
)",
                  {{0, 1, 0}});
  CHECK(text(checked.report()) ==
        "undefined read: undefined read of acc[2] (#2 `alu.requant uop=0:1 iter=1x1`): the instruction reads elements "
        "that no instruction has written before, in this launch or an earlier one. Hint: load, reset or overwrite them "
        "first\n");
  std::get<isa::Load>(checked.program[1].body).x_size = 3;
  CHECK(text(checked.report()) == "");
}

TEST_CASE("verify: a table is loaded before it is read") {
  Checked checked(R"(
.config table=true
load.uop sram=0 dram=0x0 size=1x1 stride=1
load.acc sram=0 dram=0x10 size=1x1 stride=1
alu.table uop=0:0 iter=1x1 imm=0
alu.tableu uop=0:1 iter=1x1 imm=0
load.tab sram=0 dram=0x2 size=1x1 stride=1
alu.table uop=0:1 iter=1x1 imm=0
)",
                  {{0, 0, 0}});
  CHECK(text(checked.report()) ==
        "undefined read: undefined read of tab[0] (#3 `alu.tableu uop=0:1 iter=1x1 imm=0`): the instruction reads "
        "elements that no instruction has written before, in this launch or an earlier one. Hint: load them first\n");
  std::swap(checked.program[2], checked.program[4]);
  CHECK(text(checked.report()) == "");
}

TEST_CASE("verify: REQUANT's bias must be within ACC too") {
  Checked checked(R"(
.config requant=true
load.uop sram=0 dram=0x0 size=1x1 stride=1
load.acc sram=0 dram=0x10 size=1x1 stride=1
load.acc sram=2047 dram=0x10 size=1x1 stride=1
alu.requant uop=0:1 iter=1x1
)",
                  {{0, 2047, 0}});
  CHECK(text(checked.report()) ==
        "illegal: illegal instruction (#3 `alu.requant uop=0:1 iter=1x1`): src reaches ACC element 2048 of 2048: "
        "micro-op 0 names 2047, plus "
        "0 x 0 (outer) plus 0 x 0 (inner), plus 1 for the bias. Hint: lower the micro-op, the trip counts or the "
        "factors\n");
}

TEST_CASE("verify: a race lists its elements as runs") {
  const Checked checked(R"(
load.uop sram=0 dram=0x0 size=1x2 stride=2
load.acc sram=0 dram=0x10 size=1x16 stride=16 push_next
store.out sram=0 dram=0x200 size=1x16 stride=16 pop_prev
alu.add uop=0:2 iter=3x3 dst=4,1 imm=1
alu.add uop=0:1 iter=8x1 dst=2,0 imm=1
)",
                        {{0, 0, 0}, {1, 0, 0}});
  const isa::VerifyReport report = checked.report();
  REQUIRE(report.findings.size() == 2);
  // {0, 1} + {0, 1, 2} + {0, 4, 8}, then the even elements.
  CHECK(report.findings[0].extents == std::vector<isa::Extent>{{0, 12}});
  CHECK(report.findings[0].diagnostic.what == "race on acc[0..11]");
  CHECK(report.findings[1].diagnostic.what == "race on acc[0], acc[2], acc[4], acc[6] and 4 more ranges");
}

TEST_CASE("verify: an index beyond its memory is a finding") {
  Checked checked(R"(
load.uop sram=0 dram=0x0 size=1x2 stride=2
gemm uop=0:2 iter=3x4 dst=512,341 reset
)",
                  {{0, 0, 0}, {1, 0, 0}});
  // 1 + 2 * 512 + 3 * 341 = 2048.
  CHECK(text(checked.report()) ==
        "illegal: illegal instruction (#1 `gemm uop=0:2 iter=3x4 dst=512,341 reset`): dst reaches ACC element 2048 of "
        "2048: micro-op 1 names "
        "1, plus 2 x 512 (outer) plus 3 x 341 (inner). Hint: lower the micro-op, the trip counts or the factors\n");
  std::get<isa::Gemm>(checked.program[1].body).uop_end = 1;
  CHECK(text(checked.report()) == "");
}

TEST_CASE("verify: a zero-trip loop touches nothing") {
  const Checked checked("gemm uop=0:1 iter=0x9\ngemm uop=3:3 iter=9x9\nalu.add uop=0:1 iter=9x0 imm=1\n");
  CHECK(text(checked.report()) == "");
}

TEST_CASE("verify: transfers must stay within SRAM, the image and the address space") {
  const Checked checked(R"(
.config address_bits=24
load.inp sram=2046 dram=0x10 size=1x4 stride=4
load.inp sram=0 dram=0xfff size=1x2 stride=2
load.inp sram=0 dram=0xfffff size=1x2 stride=2
load.inp sram=0 dram=0xfffff size=0x2 stride=2 pad=1,1,0,0
load.inp sram=65535 dram=0xffffffff size=9x0 stride=2
)");
  CHECK(text(checked.report()) ==
        "illegal: illegal instruction (#0 `load.inp sram=2046 dram=0x10 size=1x4 stride=4`): 4 elements from 2046 end "
        "at 2050 > 2048, the depth of inp. Hint: move fewer elements, or lower sram_base\nillegal: illegal instruction "
        "(#1 `load.inp sram=0 dram=0xfff size=1x2 stride=2`): the instruction reads DRAM bytes 0xfff0..0x1000f, but "
        "the memory image covers 0x0..0xffff. Hint: dram_base counts elements from physical address 0; check it, the "
        "sizes, and the image's base and length\nillegal: illegal instruction (#2 `load.inp sram=0 dram=0xfffff "
        "size=1x2 stride=2`): the transfer ends at DRAM element 1048576 > 1048575, the last one of 16 bytes below "
        "address 2^24. Hint: lower dram_base, sizes or stride, or raise `address_bits`\n");
}

TEST_CASE("verify: flags and extensions that the queue or the configuration does not have are findings") {
  Checked checked(
      "load.inp sram=0 dram=0x10 size=1x1 stride=1\nload.acc sram=0 dram=0x10 size=1x1 stride=1 push_next\n"
      "store.out sram=0 dram=0x200 size=1x1 stride=1 pop_prev\n");
  checked.program[0].flags.pop_prev = true;
  std::get<isa::Store>(checked.program[2].body).saturate = true;
  CHECK(text(checked.report()) ==
        "illegal: illegal instruction (#0 `load.inp sram=0 dram=0x10 size=1x1 stride=1 pop_prev`): pop_prev is set on "
        "a load of inp, but the load queue has no previous queue. Hint: use pop_next and push_next, to and from the "
        "compute queue\nillegal: illegal instruction (#2 `store.out sram=0 dram=0x200 size=1x1 stride=1 saturate "
        "pop_prev`): the field belongs to the extension `saturate`, which is off. Hint: set \"saturate\": true in the "
        "configuration, or avoid `saturate`\n");
}

TEST_CASE("verify: micro-ops and program are constants, so that stores over them are findings") {
  Checked checked(kPipeline);
  std::get<isa::Store>(checked.program[5].body).dram_base = 0;
  CHECK(
      text(checked.report()) ==
      "micro-op overwrite: micro-ops overwritten at DRAM bytes 0x0..0x3 (#5 `store.out sram=0 dram=0x0 size=1x1 "
      "stride=1 pop_prev`): the instruction stores over micro-ops that #0 `load.uop sram=0 dram=0x0 size=1x1 stride=1` "
      "reads; micro-ops are constants of the memory image. Hint: move the stored data to other addresses\n");
  // Instruction 1 is at the stored bytes.
  std::get<isa::Store>(checked.program[5].body).dram_base = 0x101;
  CHECK(text(checked.report({.program_base = 0x1000})) ==
        "micro-op overwrite: program overwritten at DRAM bytes 0x1010..0x101f (#5 `store.out sram=0 dram=0x101 "
        "size=1x1 stride=1 pop_prev`): the instruction stores over the encoding of #1 `load.inp sram=0 dram=0x10 "
        "size=1x4 stride=4 push_next`, which is fetched from there. Hint: move the stored data to other addresses\n");
}

TEST_CASE("verify: load and store queues conflict in DRAM") {
  // A second layer loads the results of the first; rows interleave and share only one element.
  Checked checked(R"(
load.acc sram=0 dram=0x10 size=1x8 stride=8 push_next
store.out sram=0 dram=0x200 size=4x1 stride=2 pop_prev push_prev
load.inp sram=0 dram=0x201 size=3x1 stride=2
load.inp sram=8 dram=0x206 size=1x1 stride=1
load.uop sram=0 dram=0x0 size=1x0 pop_next
)");
  CHECK(
      text(checked.report()) ==
      "race: race on DRAM bytes 0x2060..0x206f (#1 `store.out sram=0 dram=0x200 size=4x1 stride=2 pop_prev push_prev` "
      "and #3 `load.inp sram=8 dram=0x206 size=1x1 stride=1`): #1 (store queue) writes, #3 (load queue) reads the same "
      "bytes, and no token orders the two. Hint: pass a token from #1 through a compute instruction to #3\n");
  // The NOP relays.
  std::rotate(checked.program.begin() + 3, checked.program.begin() + 4, checked.program.end());
  checked.program[3].flags.push_prev = true;
  checked.program[4].flags.pop_next = true;
  CHECK(text(checked.report()) == "");
}

TEST_CASE("verify: without an image findings about GEMM and ALU are possible ones") {
  Checked checked(kPipeline);
  checked.program[2].flags.push_next = false;
  checked.program[4].flags.pop_prev = false;
  CHECK(text(checked.report_without_image()) ==
        "race: possible race on wgt (#2 `load.wgt sram=0 dram=0x10 size=1x1 stride=1` and #4 `gemm uop=0:1 iter=1x1 "
        "push_next`): #2 (load "
        "queue) writes, #4 (compute queue) may read the same elements, and no token orders the two; without a memory "
        "image GEMM and ALU may access any element. Hint: push a push_next token at or after #2, and pop it (pop_prev) "
        "at or before #4\n");
  const isa::VerifyReport report = checked.report_without_image();
  CHECK(report.findings[0].possible);
}

TEST_CASE("verify: without an image, reading an unwritten memory is still an undefined read") {
  const Checked checked("load.uop sram=0 dram=0x0 size=1x1 stride=1\nalu.add uop=0:1 iter=1x1 imm=1\n");
  CHECK(text(checked.report_without_image()) ==
        "undefined read: undefined read of acc (#1 `alu.add uop=0:1 iter=1x1 imm=1`): the instruction reads elements "
        "of acc, but no instruction has written any of them before, in this launch or an earlier one. Hint: load, "
        "reset or overwrite them first\n");
}

TEST_CASE("verify: without an image a GEMM that may write first is a possible race, not an undefined read") {
  Checked checked(R"(
store.out sram=0 dram=0x200 size=1x1 stride=1
load.uop sram=0 dram=0x0 size=1x1 stride=1
gemm uop=0:1 iter=1x1 reset
)");
  isa::VerifyReport report = checked.report_without_image();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == isa::FindingKind::race);
  CHECK(report.findings[0].possible);
  // Ordered after the store, it defines nothing for it.
  checked.program[0].flags.push_prev = true;
  checked.program[2].flags.pop_next = true;
  report = checked.report_without_image();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == isa::FindingKind::undefined_read);
  // Ordered before it, it may have defined it.
  std::swap(checked.program[0], checked.program[2]);
  checked.program[0].flags = {.push_next = true};
  checked.program[2].flags = {.pop_prev = true};
  std::swap(checked.program[0], checked.program[1]);
  CHECK(text(checked.report_without_image()) == "");
}

TEST_CASE("verify: a launch border is a barrier and keeps defined elements") {
  Checked checked(kPipeline);
  for (isa::Instruction& instruction : checked.program) instruction.flags = {};
  const std::vector<isa::Launch> launches = {{0, 3}, {3, 2}, {5, 1}};
  CHECK(text(checked.report({.launches = launches})) == "");
  // Tokens do not cross it.
  checked.program[4].flags.push_next = true;
  checked.program[5].flags.pop_prev = true;
  const isa::VerifyReport report = checked.report({.launches = launches});
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].kind == isa::FindingKind::leftover_token);
  CHECK(report.findings[1].kind == isa::FindingKind::deadlock);
}

TEST_CASE("verify: a launch beyond the program is refused") {
  const Checked checked("finish\n");
  const std::vector<isa::Launch> launches = {{0, 2}};
  CHECK(text(checked.report({.launches = launches})) ==
        "illegal: launch 0 is outside the program (launch 0:2): the launch needs 2 instructions, but the program has "
        "1. Hint: fix the launch's begin or count\n");
}

TEST_CASE("verify: findings beyond the limit are counted, the first are kept") {
  std::string assembly = "load.uop sram=0 dram=0x0 size=1x1 stride=1\n";
  for (int i = 0; i < 10; ++i)
    assembly += "alu.add uop=" + std::to_string(i + 1) + ":" + std::to_string(i + 2) + " iter=1x1 imm=1\n";
  const Checked checked(assembly);
  const isa::VerifyReport report = checked.report({.max_findings = 3});
  REQUIRE(report.findings.size() == 3);
  CHECK(report.suppressed == 7);
  for (std::size_t i = 0; i < 3; ++i) CHECK(report.findings[i].instruction == i + 1);
  const isa::VerifyReport none = checked.report({.max_findings = 0});
  CHECK(none.findings.empty());
  CHECK_FALSE(none.clean());
}

}  // namespace dovetail::test
