// Tokens of small streams. isa/verify and the tests with random streams and operators show that they suffice for whole
// programs.
#include "compiler/target/accel/stream/stream.h"
#include "isa/verify/token_machine.h"
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

StreamInstruction gemm(Stream& stream, isa::Uop uop, std::uint32_t steps = 1) {
  isa::Gemm gemm;
  gemm.iter_out = steps;
  gemm.iter_in = 1;
  return {{{}, gemm}, stream.kernel({uop})};
}
StreamInstruction load(std::uint32_t sram, std::uint64_t dram, std::uint32_t elements = 1) {
  return {{{}, isa::Load{transfer(isa::Memory::inp, sram, dram, 1, elements)}}};
}
StreamInstruction store(std::uint32_t sram, std::uint64_t dram, std::uint32_t elements = 1) {
  return {{{}, isa::Store{transfer(isa::Memory::out, sram, dram, 1, elements)}}};
}
const isa::DependencyFlags& flags(const Stream& stream, std::size_t instruction) {
  return stream.instructions[instruction].instruction.flags;
}
// Number of tokens of each FIFO, indexed by isa::TokenFifo.
using Tokens = std::array<std::uint64_t, isa::kTokenFifos>;

}  // namespace

TEST_CASE("insert_tokens: the pads of a load count as written") {
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

TEST_CASE("insert_tokens: a load of stored data waits through a compute instruction") {
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

TEST_CASE("insert_tokens: elements between those of a strided access are not touched") {
  // GEMM reads INP elements 0, 2, 4 and 6.
  for (const std::uint32_t element : {3u, 4u}) {
    Stream stream;
    stream.instructions.push_back(gemm(stream, {.dst = 0, .src = 0, .wgt = 0}, 4));
    std::get<isa::Gemm>(stream.instructions.back().instruction.body).src_factor_out = 2;
    stream.instructions.push_back(load(element, 0));
    CAPTURE(element);
    CHECK(insert_tokens(stream, kConfig).all_tokens() == (element == 4 ? 1 : 0));
  }
  // Rows of 2 elements at 0, 8 and 16 are stored; others between them are loaded.
  for (const std::uint64_t dram : {2u, 1u}) {
    Stream stream;
    for (const bool stores : {true, false}) {
      isa::Transfer rows = transfer(stores ? isa::Memory::out : isa::Memory::inp, 0, stores ? 0 : dram, 3, 2);
      rows.x_stride = 8;
      if (stores) stream.instructions.push_back({{{}, isa::Store{rows}}});
      else stream.instructions.push_back({{{}, isa::Load{rows}}});
    }
    CAPTURE(dram);
    CHECK(insert_tokens(stream, kConfig).all_tokens() == (dram == 1 ? 2 : 0));
  }
}

TEST_CASE("insert_tokens: an ordering that other tokens imply needs no token") {
  Stream stream;
  stream.instructions.push_back(load(0, 0, 8));
  stream.instructions.push_back(gemm(stream, {.dst = 0, .src = 0, .wgt = 0}));
  stream.instructions.push_back(gemm(stream, {.dst = 1, .src = 7, .wgt = 0}));  // waits after the first
  stream.instructions.push_back(store(0, 64, 2));
  stream.instructions.push_back(gemm(stream, {.dst = 1, .src = 1, .wgt = 0}));
  for (std::size_t i = 0; i < stream.instructions.size(); ++i) stream.instructions[i].node = i < 3 ? 0 : 1;
  const TokenStatistics statistics = insert_tokens(stream, kConfig);
  CHECK(statistics.tokens == Tokens{1, 0, 1, 1});
  // The first product waits for the load; the store for a product, and the last product for it.
  CHECK(statistics.by_node.at(0).tokens == 1);
  CHECK(statistics.by_node.at(1).tokens == 2);
  CHECK(statistics.by_node.at(0).stage_order == 1);
  CHECK(statistics.by_node.at(1).stage_order == 2);
  CHECK(flags(stream, 1).pop_prev);
  CHECK_FALSE(flags(stream, 2).pop_prev);
  CHECK_FALSE(flags(stream, 1).push_next);  // the store waits only for the second
  CHECK(flags(stream, 2).push_next);
  CHECK(statistics.stage_order_tokens == 3);
}

TEST_CASE(
    "insert_tokens: an instruction that waits for a load does not also wait for the store that the load waited for") {
  Stream stream;
  stream.instructions.push_back(store(5, 64));
  stream.instructions.push_back(gemm(stream, {.dst = 0, .src = 0, .wgt = 0}));
  stream.instructions.push_back(load(0, 64));  // of the stored data, through the GEMM or a NOP
  const std::size_t before = stream.instructions.size();
  stream.instructions.push_back(gemm(stream, {.dst = 5, .src = 0, .wgt = 0}));  // overwrites the stored data
  const TokenStatistics statistics = insert_tokens(stream, kConfig);
  CHECK(statistics.tokens == Tokens{1, 1, 0, 1});
  CHECK(stream.instructions.size() - before == 1 + statistics.relays_by_nop);
}

TEST_CASE("insert_tokens: a relay is an instruction that waits anyway, else one that need not wait long, else a NOP") {
  Stream stream;
  SECTION("an instruction that waits anyway") {
    stream.instructions.push_back(store(0, 64));
    stream.instructions.push_back(gemm(stream, {.dst = 9, .src = 1, .wgt = 0}));
    stream.instructions.push_back(
        gemm(stream, {.dst = 0, .src = 1, .wgt = 0}));  // overwrites the elements that are stored
    stream.instructions.push_back(gemm(stream, {.dst = 9, .src = 1, .wgt = 0}));
    stream.instructions.push_back(load(0, 64));
    const TokenStatistics statistics = insert_tokens(stream, kConfig);
    CHECK(statistics.relays_by_waiting == 1);
    CHECK(statistics.tokens == Tokens{0, 1, 0, 1});
    CHECK(flags(stream, 2).pop_next);
    CHECK(flags(stream, 2).push_prev);
  }
  SECTION("the first instruction that starts when the store has ended") {
    // The store takes about 256 cycles.
    stream.instructions.push_back(store(0, 64, 128));
    for (std::uint32_t i = 0; i < 6; ++i)
      stream.instructions.push_back(gemm(stream, {.dst = 200 + i, .src = 1, .wgt = 0}, 100));
    stream.instructions.push_back(load(0, 64));
    const TokenStatistics statistics = insert_tokens(stream, kConfig);
    CHECK(statistics.relays_by_made_to_wait == 1);
    CHECK(statistics.tokens == Tokens{0, 1, 0, 1});
    CHECK(flags(stream, 4).pop_next);
    CHECK(flags(stream, 4).push_prev);
  }
  SECTION("a NOP after a long GEMM that would wait") {
    stream.instructions.push_back(store(0, 64, 128));
    stream.instructions.push_back(gemm(stream, {.dst = 200, .src = 1, .wgt = 0}, 1000));
    stream.instructions.push_back(load(0, 64));
    const TokenStatistics statistics = insert_tokens(stream, kConfig);
    CHECK(statistics.relays_by_nop == 1);
    CHECK(statistics.tokens == Tokens{0, 1, 0, 1});
    CHECK(flags(stream, 2).pop_next);
    CHECK(flags(stream, 2).push_prev);
  }
  SECTION("no relay pops from a FIFO before an earlier pop of it") {
    stream.instructions.push_back(store(0, 64));
    stream.instructions.push_back(store(1, 65));
    for (std::uint32_t i = 0; i < 3; ++i)
      stream.instructions.push_back(gemm(stream, {.dst = 200 + i, .src = 1, .wgt = 0}, 50));
    stream.instructions.push_back(
        gemm(stream, {.dst = 0, .src = 1, .wgt = 0}));  // overwrites the elements that the first one stores
    stream.instructions.push_back(load(0, 65));
    const TokenStatistics statistics = insert_tokens(stream, kConfig);
    CHECK(statistics.tokens == Tokens{0, 1, 0, 2});
    CHECK(statistics.relays_by_nop == 1);
    CHECK(flags(stream, 5).pop_next);
    CHECK(flags(stream, 6).pop_next);
  }
}

TEST_CASE("insert_tokens: a load that is already ordered after its relay needs no token") {
  Stream stream;
  stream.instructions.push_back(store(0, 64));
  stream.instructions.push_back(gemm(stream, {.dst = 9, .src = 3, .wgt = 0}));
  stream.instructions.push_back(load(3, 0));   // overwrites the elements that the GEMM reads
  stream.instructions.push_back(load(0, 64));  // of the stored data
  stream.instructions.push_back(load(1, 64));
  const TokenStatistics statistics = insert_tokens(stream, kConfig);
  CHECK(stream.instructions.size() == 5 + statistics.relays_by_nop);
  CHECK(statistics.tokens[isa::index(isa::TokenFifo::store_to_compute)] == 1);
  CHECK(statistics.tokens[isa::index(isa::TokenFifo::compute_to_load)] == 1 + statistics.relays_by_nop);
}

TEST_CASE("insert_tokens: where FIFOs are too shallow, tokens wait for more instructions") {
  isa::HardwareConfig config;
  config.token_queue_depth = 2;
  for (const std::int64_t depth : {128, 4}) {
    // As many loads as exceed a queue of 4; then each is read.
    config.command_queue_depth = depth;
    Stream stream;
    for (std::uint32_t i = 0; i < 20; ++i) stream.instructions.push_back(load(i, i));
    for (std::uint32_t i = 0; i < 20; ++i) stream.instructions.push_back(gemm(stream, {.dst = 0, .src = i, .wgt = 0}));
    const TokenStatistics statistics = insert_tokens(stream, config);
    CAPTURE(depth);
    CHECK(statistics.limited_by_depth == (depth == 4));
    CHECK(statistics.all_tokens() == (depth == 4 ? 2 : 20));
    std::vector<isa::Instruction> program;
    for (const StreamInstruction& item : stream.instructions) program.push_back(item.instruction);
    CHECK(isa::TokenMachine(program, isa::queue_depths(config)).run());
  }
}

}  // namespace dovetail::accel
