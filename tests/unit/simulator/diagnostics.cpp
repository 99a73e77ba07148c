// The functional simulator's diagnostics of programs that cannot run.
#include <vector>

#include "tests/catch.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::simulator::testing {

using Catch::Matchers::ContainsSubstring;

namespace {

const isa::HardwareConfig kConfig;

std::string failure_of(const std::vector<isa::Instruction>& program, std::size_t first_index = 0) {
  return failure(kConfig, program, image(kConfig, {{0, 0, 0}, {2047, 2047, 1023}}, 8192), first_index);
}

isa::Instruction load_uops(std::uint32_t count) {
  return load(isa::Memory::uop, 0, element_at(kConfig, isa::Memory::uop, 0), count);
}
isa::Instruction load_acc(std::uint32_t sram, std::uint32_t count) {
  return load(isa::Memory::acc, sram, element_at(kConfig, isa::Memory::acc, 64), count);
}

}  // namespace

TEST_CASE("a pop without a push is a deadlock, reported with the wait of each queue") {
  const std::string text =
      failure_of({load(isa::Memory::inp, 0, 256, 1), gemm(0, 1, kPopPrev), store(0, 0, 0, kPopPrev)}, 100);
  CHECK_THAT(text,
             ContainsSubstring("deadlock, as a token is missing (instruction 101): load is empty; compute waits"));
  CHECK_THAT(text, ContainsSubstring("compute waits at #101 `gemm") &&
                       ContainsSubstring("for token 1 of load -> compute, which nothing pushes"));
  CHECK_THAT(text, ContainsSubstring("store waits at #102 `store.out") &&
                       ContainsSubstring("for token 1 of compute -> store, which nothing pushes"));
  CHECK_THAT(text, ContainsSubstring("Hint: push the missing tokens"));
}

TEST_CASE("a token queue that is full for a while is not a failure; one that stays full is") {
  std::vector<isa::Instruction> program(65, nop(isa::Queue::load, kPushNext));
  program.insert(program.end(), 65, nop(isa::Queue::compute, kPopPrev));
  CHECK(failure_of(program) == "no failure");  // blocked for a while, then popped
  std::vector<isa::Instruction> longer(66, nop(isa::Queue::load, kPushNext));
  longer.insert(longer.end(), 66, nop(isa::Queue::compute, kPopPrev));
  CHECK(failure_of(longer) == "no failure");  // one more waits after the blocked one

  // The pops come after a compute instruction that waits for a push which the load queue makes only after the 65th.
  program.insert(program.begin() + 65, nop(isa::Queue::compute, kPopNext));
  program.push_back(nop(isa::Queue::store, kPushPrev));
  CHECK(failure_of(program) == "no failure");
  program.pop_back();
  CHECK_THAT(failure_of(program), ContainsSubstring("deadlock, as a token is missing (instruction 64)") &&
                                      ContainsSubstring("load cannot finish #64 `load.inp") &&
                                      ContainsSubstring("because load -> compute contains 64 of 64 tokens"));
}

TEST_CASE("two units that both wait to push are stopped only by depths; one more token of depth resolves it") {
  for (const std::size_t tokens : {std::size_t{64}, std::size_t{65}}) {
    std::vector<isa::Instruction> program;
    for (const auto& [queue, flags] : {std::pair{isa::Queue::store, kPushPrev},
                                       {isa::Queue::compute, kPushNext},
                                       {isa::Queue::store, kPopPrev},
                                       {isa::Queue::compute, kPopNext}})
      program.insert(program.end(), tokens, nop(queue, flags));
    const std::string text = failure_of(program);
    if (tokens == 64) {
      CHECK(text == "no failure");
    } else {
      CHECK_THAT(text, ContainsSubstring("deadlock, as queues are too short (instruction 64)"));
      CHECK_THAT(text, ContainsSubstring("store cannot finish #64 `store.out") &&
                           ContainsSubstring("because store -> compute contains 64 of 64 tokens"));
      CHECK_THAT(text, ContainsSubstring("raise command_queue_depth or token_queue_depth"));
    }
  }
}

TEST_CASE("fetch stops at a full command queue, and instructions that it does not reach cannot help") {
  for (std::size_t waiting : {128u, 129u}) {
    // The first waits for the load at the end; after it, instructions fill the compute queue.
    std::vector<isa::Instruction> program{nop(isa::Queue::compute, kPopPrev)};
    program.resize(waiting, finish());
    program.push_back(nop(isa::Queue::load, kPushNext));
    const std::string text = failure_of(program);
    if (waiting == 128) {
      CHECK(text == "no failure");
    } else {
      CHECK_THAT(text, ContainsSubstring("deadlock, as queues are too short (instruction 0)"));
      CHECK_THAT(text, ContainsSubstring("fetch waits at #128 `finish"));
      CHECK_THAT(text, ContainsSubstring("the compute queue contains 128 of 128"));
      CHECK_THAT(text, ContainsSubstring("raise command_queue_depth"));
    }
  }
}

TEST_CASE("tokens left over are an error") {
  const std::string text = failure_of(
      {nop(isa::Queue::load, kPushNext), nop(isa::Queue::load, kPushNext), nop(isa::Queue::compute, kPushNext)}, 7);
  CHECK_THAT(text, ContainsSubstring("2 tokens left over in load -> compute (instruction 7): 2 pushed and 0 popped"));
  CHECK_THAT(text, ContainsSubstring("1 token left over in compute -> store (instruction 9)"));
}

TEST_CASE("an index beyond its memory is an error, in full precision") {
  isa::Instruction far = alu_imm(isa::AluOp::add, 1, 1, 2);
  auto& body = std::get<isa::Alu>(far.body);
  body.iter_in = 3;
  body.dst_factor_in = 1;
  const std::string text = failure_of({load_uops(2), load_acc(2047, 1), far}, 10);
  CHECK_THAT(text, ContainsSubstring("cannot execute `alu"));
  CHECK_THAT(text, ContainsSubstring("(instruction 12)"));
  CHECK_THAT(text, ContainsSubstring(
                       "micro-op 1 at iteration (out 0, in 1) has the index dst 2048, but acc has 2048 elements"));
}

TEST_CASE("the bias after REQUANT's source must be within ACC too") {
  isa::HardwareConfig config;
  config.requant = true;
  const std::vector<isa::Instruction> program{load_uops(1), load_acc(0, 1), load_acc(2047, 1),
                                              alu(isa::AluOp::requant, 0, 1)};
  CHECK_THAT(failure(config, program, image(config, {{0, 2047, 0}}, 8192)),
             ContainsSubstring("has the index src 2047 (and reads the element after it), but acc has 2048 elements"));
}

TEST_CASE("a table is loaded before it is read") {
  isa::HardwareConfig config;
  config.table = true;
  std::vector<isa::Instruction> program{load_uops(2), load_acc(0, 2), alu_imm(isa::AluOp::table, 0, 0, 0)};
  const auto text = [&] { return failure(config, program, image(config, {{0, 0, 0}, {1, 0, 0}}, 8192)); };
  CHECK(text() == "no failure");  // no step
  for (const std::uint32_t steps : {1u, 2u}) {
    program.back() = alu_imm(isa::AluOp::table, 0, 0, steps);
    CHECK_THAT(text(), ContainsSubstring("the table is read, but was not written since reset"));
  }
  program.insert(program.end() - 1, load(isa::Memory::tab, 0, 8, 1));
  CHECK(text() == "no failure");
}

TEST_CASE("SRAM and DRAM ranges are checked") {
  CHECK_THAT(failure_of({load_acc(2047, 2)}),
             ContainsSubstring("illegal instruction `load") && ContainsSubstring("> 2048"));
  CHECK_THAT(failure_of({load(isa::Memory::inp, 0, 1000, 1)}),
             ContainsSubstring("bytes [0x3e80, 0x3e90) of DRAM are read, but the image covers [0x1000, 0x3008)"));
  CHECK_THAT(failure_of({load(isa::Memory::inp, 0, 255, 1)}), ContainsSubstring("bytes [0xff0, 0x1000)"));
  CHECK_THAT(failure_of({load_acc(0, 2), store(0, 0x300, 2)}),
             ContainsSubstring("bytes [0x3000, 0x3020) of DRAM are written"));
  CHECK_THAT(failure_of({load_acc(0, 2), store(0, 0x300, 1)}),
             ContainsSubstring("bytes [0x3000, 0x3010) of DRAM are written"));
  CHECK(failure_of({load_acc(0, 2), store(0, 0x2ff, 1)}) == "no failure");
}

TEST_CASE("reading unwritten SRAM is an error that names the element") {
  CHECK_THAT(failure_of({load_acc(0, 2), store(1, 512, 2)}), ContainsSubstring("element 2 of acc is stored"));
  CHECK_THAT(failure_of({load_uops(1), load_acc(0, 1), alu_imm(isa::AluOp::add, 1, 0, 2)}),
             ContainsSubstring("micro-op 1 is executed"));
  CHECK_THAT(failure_of({load_uops(1), alu_imm(isa::AluOp::add, 1, 0, 1)}),
             ContainsSubstring("reads element 0 of acc (dst)"));
  CHECK_THAT(failure_of({load_uops(1), reset(0, 1), gemm(0, 1)}), ContainsSubstring("reads element 0 of inp (src)"));
  CHECK_THAT(failure_of({load_uops(1), reset(0, 1), load(isa::Memory::inp, 0, 256, 1), gemm(0, 1)}),
             ContainsSubstring("reads element 0 of wgt (wgt)"));
  CHECK_THAT(
      failure_of({load_uops(1), load(isa::Memory::inp, 0, 256, 1), load(isa::Memory::wgt, 0, 17, 1), gemm(0, 1)}),
      ContainsSubstring("reads element 0 of acc (dst)"));
}

TEST_CASE("elements between those that are read may be undefined") {
  const isa::HardwareConfig config = kConfig;
  Dram dram = image(config, {{0, 0, 0}, {5, 0, 0}}, 8192);
  const std::vector<isa::Instruction> program{load_uops(2), load_acc(0, 1), load_acc(5, 1),
                                              alu_imm(isa::AluOp::add, 1, 0, 2)};
  CHECK(make_functional(config)->launch(program, dram).ok());
}

TEST_CASE("without the check, unwritten SRAM reads as zero") {
  Dram dram = image(kConfig, {{0, 0, 0}}, 8192);
  const std::vector<isa::Instruction> program{load_uops(1), gemm(0, 1), alu_imm(isa::AluOp::add, 3, 0, 1),
                                              store(0, 512, 1)};
  for (KernelLevel level : supported_levels()) {
    REQUIRE(
        make_functional(kConfig, {.check_undefined_reads = false, .kernel_level = level})->launch(program, dram).ok());
    CHECK(dram.bytes[512 * 16 - kDramBase] == std::byte{3});
  }
}

TEST_CASE("illegal instructions are refused") {
  CHECK_THAT(failure_of({load(isa::Memory::inp, 0, 256, 1, kPopPrev)}, 5),
             ContainsSubstring("illegal instruction `load") && ContainsSubstring("(instruction 5)"));
  CHECK_THAT(failure_of({store(0, 512, 1, kPushNext)}), ContainsSubstring("illegal instruction `store"));
  CHECK_THAT(failure_of({gemm(2, 1)}), ContainsSubstring("uop_begin 2 > uop_end 1"));
}

TEST_CASE("an instruction that fails changes nothing") {
  const Dram before = image(kConfig, {{0, 0, 0}}, 8192);
  Dram after = before;
  CHECK(!make_functional(kConfig)->launch(std::vector{load_acc(0, 2), store(0, 512, 3)}, after).ok());
  CHECK(after.bytes == before.bytes);
}

}  // namespace dovetail::simulator::testing
