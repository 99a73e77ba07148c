// The error path of the design: SLVERR, DECERR and illegal instructions stop a launch, are reported with their place,
// raise the interrupt, and never hang; the next launch works.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/codec.h"
#include "isa/spec/registers.h"
#include "simulator/functional/functional.h"
#include "simulator/rtl/rtl.h"
#include "tests/catch.h"
#include "tests/differential/simulator/directed.h"
#include "tests/generator/random.h"
#include "tests/torture/models.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::test {

namespace {

using namespace simulator::testing;
using Catch::Matchers::ContainsSubstring;
using isa::Memory;
using isa::spec::ErrorCode;
using simulator::Dram;
using simulator::RtlOptions;
using simulator::RtlSimulator;

constexpr std::uint32_t kStatus = 0x04, kErrorInstruction = 0x08, kInterruptEnable = 0x0c, kInterruptStatus = 0x10;
constexpr std::uint64_t kData = 3 * 4096, kOut = 5 * 4096;

// Loads of every memory, a GEMM, and a store, all in order.
std::vector<isa::Instruction> everything(const isa::HardwareConfig& config) {
  const auto at = [&](Memory memory, std::uint64_t address) {
    return address / static_cast<std::uint64_t>(config.element_bytes(memory));
  };
  return {load(Memory::uop, 0, at(Memory::uop, kDramBase), 2),
          load(Memory::inp, 0, at(Memory::inp, kData), 8),
          load(Memory::wgt, 0, at(Memory::wgt, kData + 1024), 4, kPushNext),
          load(Memory::acc, 0, at(Memory::acc, kData + 2048), 8),
          gemm(0, 2, {.pop_prev = true, .push_next = true}),
          store(0, at(Memory::out, kOut), 8, kPopPrev)};
}

struct Stopped {
  std::uint32_t code = 0, instruction = 0;
  bool operator==(const Stopped&) const = default;
};

// Runs the program, which must stop with an error. Registers and interrupt must report the same error.
Stopped stopped(RtlSimulator& rtl, const std::vector<isa::Instruction>& program, Dram dram, std::size_t first_index,
                const char* said) {
  REQUIRE(rtl.write_register(kInterruptStatus, 3));
  REQUIRE(rtl.write_register(kInterruptEnable, 2));
  const auto counters = rtl.launch(program, dram, first_index);
  REQUIRE_FALSE(counters.ok());
  CHECK_THAT(to_string(counters.errors()), ContainsSubstring(said));
  CHECK(rtl.timing() == nullptr);
  CHECK(rtl.interrupt());
  CHECK(rtl.read_register(kInterruptStatus) == 2);
  const std::uint32_t status = rtl.read_register(kStatus).value();
  CHECK((status & 0xf) == 4);  // error, neither busy nor done
  REQUIRE(rtl.write_register(kInterruptStatus, 2));
  CHECK_FALSE(rtl.interrupt());
  return {status >> 4, rtl.read_register(kErrorInstruction).value()};
}

void works(RtlSimulator& rtl, const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program,
           const Dram& dram, std::size_t first_index) {
  Dram expected = dram, actual = dram;
  const auto functional = simulator::make_functional(config)->launch(program, expected, first_index);
  REQUIRE(functional.ok());
  const auto counters = rtl.launch(program, actual, first_index);
  if (!counters.ok()) FAIL(to_string(counters.errors()));
  CHECK(actual.bytes == expected.bytes);
  CHECK(rtl.read_register(kStatus) == 2);
}

// 0: the memory model.
std::optional<simulator::AxiSlave> slave_of(std::uint64_t seed) {
  return seed == 0 ? std::nullopt : std::optional(simulator::any_axi_slave(seed));
}

std::unique_ptr<RtlSimulator> design_with(const isa::HardwareConfig& config, RtlOptions options) {
  options.model = rtl_model(config);
  return options.model ? simulator::make_rtl(config, options).value() : nullptr;
}

}  // namespace

TEST_CASE("RTL: an error response stops the launch at the instruction that received it, and the next launch works") {
  const auto config = tiny();
  Dram dram = image(config, {{0, 1, 2}, {3, 2, 1}}, 7 * 4096);
  // The same program on data at another address, where no response is an error.
  std::copy_n(dram.bytes.begin(), 8, dram.bytes.begin() + 2048);
  std::vector<isa::Instruction> elsewhere = everything(config);
  for (isa::Instruction& instruction : elsewhere) {
    if (auto* from = std::get_if<isa::Load>(&instruction.body))
      from->dram_base += (from->memory == Memory::uop ? 2048u : 12288u) /
                         static_cast<std::uint64_t>(config.element_bytes(from->memory));
    else if (auto* to = std::get_if<isa::Store>(&instruction.body))
      to->dram_base += 8192u / static_cast<std::uint64_t>(config.element_bytes(Memory::out));
  }
  struct Case {
    std::uint64_t begin, bytes;
    std::uint32_t instruction;
  };
  for (const int response : {2, 3})
    for (const std::uint64_t slave : {0u, 1u, 2u, 3u})
      for (const Case& bad :
           {Case{kDramBase, 8, 0}, Case{kData, 8, 1}, Case{kData + 24, 8, 1}, Case{kData + 1024, 16, 2},
            Case{kData + 1024 + 56, 8, 2}, Case{kData + 2048, 8, 3}, Case{kData + 2048 + 120, 8, 3}, Case{kOut, 8, 5},
            Case{kOut + 24, 8, 5}, Case{kOut, 4096, 5}}) {
        RtlOptions options;
        options.bad_range = {bad.begin, bad.begin + bad.bytes, response};
        options.slave = slave_of(slave);
        const auto rtl = design_with(config, options);
        if (!rtl) return;
        CAPTURE(response, slave, bad.begin);
        const char* const said = response == 2 ? "the memory port answered SLVERR" : "the memory port answered DECERR";
        const auto code = static_cast<std::uint32_t>(response == 2 ? ErrorCode::slave_error : ErrorCode::decode_error);
        CHECK(stopped(*rtl, everything(config), dram, 0, said) == Stopped{code, bad.instruction});
        works(*rtl, config, elsewhere, dram, 0);
        // Again, with instructions counted from another number; then after a reset.
        CHECK(stopped(*rtl, everything(config), dram, 7, said) == Stopped{code, 7 + bad.instruction});
        rtl->reset();
        works(*rtl, config, elsewhere, dram, 0);
      }
}

TEST_CASE("RTL: an error response to fetch stops the launch at the instruction that it belongs to") {
  for (const std::int64_t bus : {4, 8, 64}) {
    const auto config = tiny(bus);
    const Dram dram = image(config, {}, 100);
    const std::uint64_t program_base = 2 * 4096;  // after the image
    const std::vector<isa::Instruction> program(20, finish());
    for (const std::uint64_t at : {0u, 1u, 5u, 19u})
      for (const std::uint64_t slave : {0u, 4u}) {
        RtlOptions options;
        options.engine.program_base = program_base;
        options.slave = slave_of(slave);
        const auto beat = static_cast<std::uint64_t>(bus);
        const std::uint64_t begin = (program_base + 16 * at + 12) / beat * beat;
        options.bad_range = {begin, begin + beat, 3};
        const auto rtl = design_with(config, options);
        if (!rtl) return;
        CAPTURE(bus, at, slave);
        // The first instruction of a beat that holds several receives it.
        const auto first = static_cast<std::uint32_t>((begin - program_base) / 16);
        CHECK(stopped(*rtl, program, dram, 0, "DECERR") ==
              Stopped{static_cast<std::uint32_t>(ErrorCode::decode_error), first});
        if (first > 0)
          works(*rtl, config, std::vector<isa::Instruction>(bus == 64 ? first / 4 * 4 : first, finish()), dram, 0);
      }
  }
}

TEST_CASE("RTL: a transfer after the image is refused, also at the program's address") {
  const auto config = tiny();
  constexpr std::size_t kImage = 7 * 4096;
  Dram dram = image(config, {{0, 1, 2}, {3, 2, 1}}, kImage);
  dram.bytes.resize(kImage);
  const std::uint64_t after_image = dram.base + kImage;
  for (const Memory memory : {Memory::uop, Memory::inp, Memory::wgt, Memory::acc})
    for (const std::uint64_t program_base : {after_image, after_image + 4096})
      for (const std::uint64_t slave : {0u, 1u, 2u}) {
        RtlOptions options;
        options.engine.program_base = program_base;
        options.slave = slave_of(slave);
        const auto rtl = design_with(config, options);
        if (!rtl) return;
        CAPTURE(static_cast<int>(memory), program_base, slave);
        std::vector<isa::Instruction> program = everything(config);
        works(*rtl, config, program, dram, 0);
        program.insert(program.begin() + 2,
                       load(memory, 0, after_image / static_cast<std::uint64_t>(config.element_bytes(memory)), 1));
        CHECK(stopped(*rtl, program, dram, 0, "the memory port answered DECERR") ==
              Stopped{static_cast<std::uint32_t>(ErrorCode::decode_error), 2});
      }
}

TEST_CASE("RTL: an illegal instruction stops the launch, whatever is in flight") {
  for (const char* name : {"tiny", "1x16x16", "1x16x16-ext", "tiny,weights4=true"}) {
    const auto config = isa::load_config(name).value();
    const isa::Codec codec(config);
    const Dram dram = image(config, {{0, 1, 2}, {3, 2, 1}}, 7 * 4096);
    std::vector<std::vector<std::byte>> illegal;
    const auto with = [&](const isa::Instruction& instruction, std::initializer_list<std::pair<int, int>> fields) {
      std::vector<std::byte> bytes = codec.encode_program(std::vector{instruction}).value();
      for (const auto& [bit, value] : fields) {
        bytes[static_cast<std::size_t>(bit / 8)] &= ~(std::byte{1} << bit % 8);
        bytes[static_cast<std::size_t>(bit / 8)] |= std::byte(value) << bit % 8;
      }
      illegal.push_back(bytes);
    };
    for (const int opcode : {5, 6, 7}) with(finish(), {{0, opcode & 1}, {1, opcode >> 1 & 1}, {2, opcode >> 2}});
    with(finish(), {{127, 1}});                                                         // a reserved bit
    with(load(Memory::inp, 0, 64, 1), {{7, 0}, {8, 0}, {9, 1}});                        // LOAD of OUT
    if (!config.table) with(load(Memory::inp, 0, 64, 1), {{7, 0}, {8, 1}, {9, 1}});     // memory 6
    if (!config.weights4) with(load(Memory::inp, 0, 64, 1), {{7, 1}, {8, 1}, {9, 1}});  // memory 7
    if (!config.offset) with(load(Memory::inp, 0, 64, 1), {{63, 1}});
    with(store(0, 64, 1), {{7, 1}, {8, 1}, {9, 0}});         // STORE to ACC
    if (!config.saturate) with(store(0, 64, 1), {{58, 1}});  // extensions that are off
    if (!config.overwrite)
      with(gemm(0, 1), {{config.block_in == 4 ? 127 : 63, 1}});  // on `tiny` bit 63 is part of a factor
    if (!config.requant) {
      isa::HardwareConfig more = config;
      more.requant = true;
      illegal.push_back(isa::Codec(more).encode_program(std::vector{alu(isa::AluOp::requant, 0, 1)}).value());
    }
    for (std::size_t i = 0; i < illegal.size(); ++i)
      for (const std::uint64_t slave : {0u, 1u})
        for (std::uint32_t at = 0; at < 6; ++at) {
          RtlOptions options;
          options.patches[at] = illegal[i];
          options.slave = slave_of(slave);
          const auto rtl = design_with(config, options);
          if (!rtl) return;
          CAPTURE(name, i, at, slave);
          CHECK(stopped(*rtl, everything(config), dram, 0,
                        "unknown opcode, memory id or ALU operation, or a reserved bit set") ==
                Stopped{static_cast<std::uint32_t>(ErrorCode::illegal), at});
          works(*rtl, config, everything(config), dram, 6);
        }
  }
}

TEST_CASE("RTL: random programs with a bad address end, and random programs after them are correct") {
  const auto config = tiny();
  std::size_t errors = 0, clean = 0;
  for (std::uint64_t seed = 0; seed < scaled(150); ++seed) {
    CAPTURE(seed);
    const GeneratedProgram program = generate(config, {.seed = seed}),
                           after = generate(config, {.seed = seed + 1000000});
    Random random(seed);
    RtlOptions options;
    const std::uint64_t begin = (program.dram_base + random.below(program.dram.size() + 2 * 4096)) / 8 * 8;
    options.bad_range = {begin, begin + 8 * random.between(1, 64), static_cast<int>(random.between(2, 3))};
    if (random.chance(50)) options.slave = simulator::any_axi_slave(random.bits());
    else options.engine.memory = simulator::PerturbedMemory{.base = {}, .seed = seed};
    options.power_up_seed = random.bits() | 1;
    auto rtl = design_with(config, options);
    if (!rtl) return;
    Dram dram{program.dram_base, program.dram};
    for (const isa::Launch& launch : program.launches) {
      const auto counters =
          rtl->launch(std::span(program.program).subspan(launch.begin, launch.count), dram, launch.begin);
      if (counters.ok()) {
        ++clean;
        continue;
      }
      ++errors;
      REQUIRE_THAT(to_string(counters.errors()), ContainsSubstring("the memory port answered"));
      break;
    }
    // Later instructions may reach the bad range too. Where they do not, the result is correct.
    Dram expected{after.dram_base, after.dram}, actual = expected;
    const auto functional = simulator::make_functional(config);
    for (const isa::Launch& launch : after.launches) {
      const auto part = std::span(after.program).subspan(launch.begin, launch.count);
      REQUIRE(functional->launch(part, expected, launch.begin).ok());
      const auto counters = rtl->launch(part, actual, launch.begin);
      if (!counters.ok()) {
        REQUIRE_THAT(to_string(counters.errors()), ContainsSubstring("the memory port answered"));
        break;
      }
      REQUIRE(actual.bytes == expected.bytes);
    }
  }
  CHECK(errors * 7 > scaled(150));
  CHECK(clean * 7 > scaled(150));
}

}  // namespace dovetail::test
