// Whole launches: tokens, SRAM from launch to launch, raw programs, counters.
#include <vector>

#include "isa/codec.h"
#include "simulator/functional/functional.h"
#include "tests/catch.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::simulator::testing {

using Catch::Matchers::ContainsSubstring;

namespace {

// As VTA's runtime writes it: loads, a GEMM, a store, and a NOP that waits for both before FINISH.
std::vector<isa::Instruction> vta_program(const isa::HardwareConfig& config) {
  const std::uint64_t inp = element_at(config, isa::Memory::inp, 1024),
                      wgt = element_at(config, isa::Memory::wgt, 2048);
  return {load(isa::Memory::uop, 0, element_at(config, isa::Memory::uop, 0), 1),
          reset(0, 1, kPushPrev),
          load(isa::Memory::inp, 0, inp, 1, kPopNext),
          load(isa::Memory::wgt, 0, wgt, 1, kPushNext),
          gemm(0, 1, {.pop_prev = true, .push_next = true}),
          store(0, element_at(config, isa::Memory::out, 4096), 1, {.pop_prev = true, .push_prev = true}),
          nop(isa::Queue::load, kPushNext),
          nop(isa::Queue::compute, {.pop_prev = true, .pop_next = true}),
          finish()};
}

}  // namespace

TEST_CASE("a program in VTA's manner gives the same result in every order") {
  for (const isa::HardwareConfig& config : all_configs()) {
    CAPTURE(config.name);
    const Dram dram = image(config, {{0, 0, 0}}, 8192);
    const Dram expected = check_against_reference(config, vta_program(config), dram);
    for (ExecutionOrder order : {ExecutionOrder::program, ExecutionOrder::load_first, ExecutionOrder::store_first}) {
      Dram actual = dram;
      REQUIRE(make_functional(config, {.order = order})->launch(vta_program(config), actual).ok());
      CHECK(actual.bytes == expected.bytes);
    }
  }
}

TEST_CASE("an order other than the program's reveals a missing token") {
  const isa::HardwareConfig config;
  std::vector<isa::Instruction> program = vta_program(config);
  program[4].flags.push_next = program[5].flags.pop_prev = false;  // the store no longer waits for the GEMM
  const Dram dram = image(config, {{0, 0, 0}}, 8192);
  Dram in_order = dram, hasty = dram;
  REQUIRE(make_functional(config)->launch(program, in_order).ok());
  const auto result = make_functional(config, {.order = ExecutionOrder::store_first})->launch(program, hasty);
  REQUIRE(!result.ok());
  CHECK_THAT(to_string(result.errors()),
             ContainsSubstring("element 0 of acc is stored, but was not written since reset"));
}

TEST_CASE("a computation that waits for a later load starts when the load is done") {
  const isa::HardwareConfig config;
  const Dram dram = image(config, {{0, 0, 0}}, 8192);
  Dram actual = dram, expected = dram;
  std::vector<isa::Instruction> late = vta_program(config);
  std::swap(late[4], late[3]);
  std::swap(late[3], late[2]);  // GEMM before its loads
  REQUIRE(make_functional(config)->launch(vta_program(config), expected).ok());
  REQUIRE(make_functional(config)->launch(late, actual).ok());
  CHECK(actual.bytes == expected.bytes);
}

TEST_CASE("SRAM persists between launches until reset, and FINISH does not clear it") {
  const isa::HardwareConfig config;
  const Dram dram = image(config, {{0, 0, 0}}, 8192);
  const std::vector<isa::Instruction> first{finish(),
                                            load(isa::Memory::acc, 5, element_at(config, isa::Memory::acc, 1024), 1)};
  const std::vector<isa::Instruction> second{finish(), store(5, element_at(config, isa::Memory::out, 4096), 1)};
  const auto simulator = make_functional(config);
  Dram actual = dram;
  REQUIRE(simulator->launch(first, actual).ok());
  REQUIRE(simulator->launch(second, actual).ok());
  for (std::size_t lane = 0; lane < 16; ++lane) CHECK(actual.bytes[4096 + lane] == dram.bytes[1024 + 4 * lane]);
  simulator->reset();
  CHECK(!simulator->launch(second, actual).ok());
}

TEST_CASE("a failed launch leaves no tokens") {
  const isa::HardwareConfig config;
  Dram dram = image(config, {}, 64);
  const auto simulator = make_functional(config);
  CHECK(!simulator->launch(std::vector{nop(isa::Queue::load, kPushNext)}, dram).ok());
  CHECK(!simulator->launch(std::vector{nop(isa::Queue::compute, kPopPrev)}, dram).ok());
  CHECK(simulator->launch(std::vector{finish()}, dram).ok());
}

TEST_CASE("an empty launch is complete") {
  Dram dram;
  CHECK(make_functional({})->launch({}, dram).value() == Counters{});
}

TEST_CASE("a raw program runs launch by launch, and its counters add up") {
  const isa::HardwareConfig config;
  const isa::Codec codec(config);
  const std::vector<isa::Instruction> program = vta_program(config);
  const std::vector<std::byte> raw = codec.encode_program(program).value();
  const Dram dram = image(config, {{0, 0, 0}}, 8192);
  Dram whole = dram, parts = dram;
  const auto simulator = make_functional(config);
  const Counters once = run_program(*simulator, codec, raw, "p.bin", {}, whole).value();
  const std::vector<isa::Launch> twice{{0, 9}, {8, 1}, {0, 9}};
  const Counters sum = run_program(*simulator, codec, raw, "p.bin", twice, parts).value();
  CHECK(whole.bytes == parts.bytes);

  CHECK(once.instructions == std::array<std::uint64_t, 7>{5, 1, 2, 1, 0, 0, 0});
  CHECK(once.queue_instructions == std::array<std::uint64_t, 3>{3, 5, 1});
  CHECK(once.bytes_loaded == std::array<std::uint64_t, 8>{4, 256, 16, 0, 0, 0, 0, 0});
  CHECK(once.bytes_stored == 16);
  CHECK(once.gemm_uops == 1);
  CHECK(once.gemm_reset_uops == 1);
  CHECK(once.macs == 256);
  CHECK(once.tokens == 5);
  CHECK(once.nops == 2);
  Counters expected = once;
  expected += once;
  ++expected.instructions[3];
  ++expected.queue_instructions[1];
  CHECK(sum == expected);

  const Json json = to_json(once);
  CHECK(json.at("instructions").dump() ==
        R"({"load":5,"store":1,"gemm":2,"finish":1,"alu":0,"window":0,"gemmq":0,"total":9})");
  CHECK(json.at("bytes_loaded").dump() ==
        R"({"uop":4,"wgt":256,"inp":16,"acc":0,"acc8":0,"tab":0,"wgt4":0,"total":276})");
  CHECK(json.at("macs") == 256);
}

TEST_CASE("a launch beyond the program is an error") {
  const isa::HardwareConfig config;
  const isa::Codec codec(config);
  const std::vector<std::byte> raw = codec.encode_program(std::vector{finish()}).value();
  Dram dram;
  const std::vector<isa::Launch> launches{{0, 2}};
  const auto result = run_program(*make_functional(config), codec, raw, "p.bin", launches, dram);
  REQUIRE(!result.ok());
  CHECK(to_string(result.errors()) ==
        "error: cannot run a launch (p.bin): launch 0:2 needs a program of 2 instructions, but it has 1. Hint: a "
        "launch is BEGIN:COUNT, counted in instructions");
}

}  // namespace dovetail::simulator::testing
