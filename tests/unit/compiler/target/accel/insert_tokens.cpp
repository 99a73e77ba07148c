// Tokens of streams of two or three instructions. That they suffice for whole programs, isa/verify and the random
// operators show.
#include "compiler/target/accel/stream.h"
#include "tests/catch.h"

namespace dovetail::accel {

namespace {

const isa::HardwareConfig kConfig;

isa::Transfer transfer(isa::Memory memory, std::uint32_t sram, std::uint64_t dram, std::uint32_t y_size,
                       std::uint32_t x_size) {
  isa::Transfer t;
  t.memory = memory;
  t.sram_base = sram;
  t.dram_base = dram;
  t.y_size = y_size;
  t.x_size = t.x_stride = x_size;
  return t;
}

StreamInstruction gemm(Stream& stream, isa::Uop uop) {
  isa::Gemm gemm;
  gemm.iter_out = gemm.iter_in = 1;
  return {{{}, gemm}, stream.kernel({uop})};
}

}  // namespace

TEST_CASE("insert_tokens: the pads of a load are written as well") {
  for (const std::uint32_t element : {0u, 7u, 8u}) {
    isa::Load load{transfer(isa::Memory::inp, 0, 0, 0, 4)};  // two rows of zeros, elements 0 to 7
    load.y_pad_0 = load.y_pad_1 = 1;
    Stream stream;
    stream.instructions.push_back({{{}, load}});
    stream.instructions.push_back(gemm(stream, {.dst = 0, .src = element, .wgt = 0}));
    insert_tokens(stream, kConfig);
    CAPTURE(element);
    CHECK(stream.instructions[0].instruction.flags.push_next == (element < 8));
    CHECK(stream.instructions[1].instruction.flags.pop_prev == (element < 8));
  }
}

TEST_CASE("insert_tokens: a load waits for the GEMM that reads what it overwrites") {
  Stream stream;
  stream.instructions.push_back(gemm(stream, {.dst = 0, .src = 3, .wgt = 0}));
  stream.instructions.push_back({{{}, isa::Load{transfer(isa::Memory::inp, 3, 0, 1, 1)}}});
  insert_tokens(stream, kConfig);
  CHECK(stream.instructions[0].instruction.flags.push_prev);
  CHECK(stream.instructions[1].instruction.flags.pop_next);
}

TEST_CASE("insert_tokens: a load of what was stored waits through a compute instruction") {
  Stream stream;
  stream.instructions.push_back({{{}, isa::Store{transfer(isa::Memory::out, 0, 64, 1, 4)}}});
  stream.instructions.push_back({{{}, isa::Load{transfer(isa::Memory::inp, 0, 67, 1, 1)}}});
  insert_tokens(stream, kConfig);
  REQUIRE(stream.instructions.size() == 3);
  CHECK(stream.instructions[0].instruction.flags.push_prev);
  const isa::Instruction& relay = stream.instructions[1].instruction;
  CHECK(relay.queue() == isa::Queue::compute);
  CHECK(relay.flags.pop_next);
  CHECK(relay.flags.push_prev);
  CHECK(stream.instructions[2].instruction.flags.pop_next);
}

}  // namespace dovetail::accel
