// The register map of isa/spec/registers.h on the design, over AXI4-Lite.
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "isa/spec/registers.h"
#include "simulator/cycle/cycle.h"
#include "simulator/rtl/rtl.h"
#include "tests/catch.h"
#include "tests/differential/simulator/directed.h"
#include "tests/torture/models.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::test {

namespace {

using namespace simulator::testing;
using isa::spec::Access;
using isa::spec::Register;
using isa::spec::RegisterField;
using simulator::Dram;
using simulator::RtlSimulator;

std::unique_ptr<RtlSimulator> design(const isa::HardwareConfig& config) {
  simulator::RtlOptions options;
  options.model = rtl_model(config);
  return options.model ? simulator::make_rtl(config, options).value() : nullptr;
}

std::uint32_t mask_of(const Register& row, Access access) {
  std::uint32_t mask = 0;
  for (const RegisterField& field : row.fields)
    if (field.access == access) mask |= (field.width == 32 ? ~0u : (1u << field.width) - 1) << field.bit;
  return mask;
}

const Register& row(std::string_view name) {
  for (const Register& each : isa::spec::kRegisters)
    if (each.name == name) return each;
  throw std::runtime_error("no register " + std::string(name));
}

// The registers of the design.
std::vector<Register> registers_of(const isa::HardwareConfig& config) {
  std::vector<Register> rows;
  for (const Register& each : isa::spec::kRegisters)
    if (isa::spec::is_enabled(each, config)) rows.push_back(each);
  return rows;
}

// Whether writing `value` to CONTROL would start a launch: the tests must not write such bits.
bool starts(const Register& row, std::uint32_t value) { return (mask_of(row, Access::write_one_start) & value) != 0; }

}  // namespace

TEST_CASE("RTL: registers read as the table says after reset, and other addresses answer with an error") {
  for (const char* name : {"tiny", "1x16x16-ext", "4x8x8", "tiny,offset=true"}) {
    const auto config = isa::load_config(name).value();
    const auto rtl = design(config);
    if (!rtl) return;
    for (const Register& each : registers_of(config)) {
      CAPTURE(name, each.name);
      CHECK(rtl->read_register(each.offset) == each.reset(config));
    }
    for (std::uint32_t offset = 0; offset < isa::spec::kRegisterWindowBytes; ++offset) {
      bool known = false;
      for (const Register& each : registers_of(config)) known |= each.offset == offset;
      if (known) continue;
      CAPTURE(offset);
      REQUIRE_FALSE(rtl->read_register(offset).has_value());
      REQUIRE_FALSE(rtl->write_register(offset, ~0u));
    }
    // None of these writes had an effect.
    for (const Register& each : registers_of(config)) CHECK(rtl->read_register(each.offset) == each.reset(config));
  }
}

TEST_CASE("RTL: every register keeps its writable bits, byte by byte, and no others") {
  const auto config = isa::load_config(GENERATE("tiny", "tiny,offset=true")).value();
  const auto rtl = design(config);
  if (!rtl) return;
  for (const Register& each : registers_of(config)) {
    const std::uint32_t before = each.reset(config);
    std::uint32_t writable = mask_of(each, Access::read_write);
    // OFFSET has as many bits as an address.
    if (each.name == "OFFSET_LO") writable = (1u << config.address_bits) - 1;
    if (each.name == "OFFSET_HI") writable = 0;
    std::uint32_t expected = before;
    for (const std::uint32_t value : {0xffffffffu, 0x00000000u, 0xa5c3961eu, 0x12345678u, 0x0u})
      for (unsigned strobes = 0; strobes < 16; ++strobes) {
        if (starts(each, value) && (strobes & 1) != 0) continue;
        CAPTURE(each.name, value, strobes);
        REQUIRE(rtl->write_register(each.offset, value, strobes));
        std::uint32_t bytes = 0;
        for (unsigned b = 0; b < 4; ++b) bytes |= (strobes >> b & 1) != 0 ? 0xffu << 8 * b : 0;
        expected = (expected & ~(bytes & writable)) | (value & bytes & writable);
        REQUIRE(rtl->read_register(each.offset) == expected);
      }
    for (const Register& other : registers_of(config))
      if (other.offset != each.offset)
        CHECK((rtl->read_register(other.offset).value() & mask_of(other, Access::read_only)) ==
              (other.reset(config) & mask_of(other, Access::read_only)));
    REQUIRE(rtl->write_register(each.offset, before));
  }
}

TEST_CASE("RTL: a launch reports its end and raises the interrupt where enabled, and only writing a one clears it") {
  const auto config = tiny();
  const auto rtl = design(config);
  if (!rtl) return;
  const std::uint32_t status = row("STATUS").offset, enable = row("INTERRUPT_ENABLE").offset,
                      events = row("INTERRUPT_STATUS").offset;
  Dram dram = image(config, {}, 4096);
  CHECK_FALSE(rtl->interrupt());
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}}) {
    const std::vector<isa::Instruction> program(count, finish());
    // Not enabled: an event, but no interrupt line.
    REQUIRE(rtl->write_register(enable, 0));
    REQUIRE(rtl->launch(program, dram).ok());
    CHECK(rtl->read_register(status) == 2);
    CHECK(rtl->read_register(events) == 1);
    CHECK_FALSE(rtl->interrupt());
    // The line is level-sensitive: enabling raises it.
    REQUIRE(rtl->write_register(enable, 2));
    CHECK_FALSE(rtl->interrupt());
    REQUIRE(rtl->write_register(enable, 1));
    CHECK(rtl->interrupt());
    REQUIRE(rtl->write_register(events, 0));
    REQUIRE(rtl->write_register(events, 2));       // the other event
    REQUIRE(rtl->write_register(events, 1, 0xe));  // not this byte
    CHECK(rtl->interrupt());
    CHECK(rtl->read_register(events) == 1);
    REQUIRE(rtl->write_register(events, 1));
    CHECK(rtl->read_register(events) == 0);
    CHECK_FALSE(rtl->interrupt());
    CHECK(rtl->read_register(status) == 2);
    // The next launch raises it again, and CYCLES reports its cycles.
    REQUIRE(rtl->launch(program, dram).ok());
    CHECK(rtl->interrupt());
    CHECK(rtl->read_register(row("CYCLES_LO").offset) == rtl->timing()->cycles);
    CHECK(rtl->read_register(row("CYCLES_HI").offset) == 0);
    REQUIRE(rtl->write_register(events, 3));
    rtl->reset();
    for (const Register& each : registers_of(config)) CHECK(rtl->read_register(each.offset) == each.reset(config));
  }
}

TEST_CASE("RTL: a launch that ends beyond the address space, or fills it, is refused at its first instruction") {
  const auto config = tiny();
  const auto rtl = design(config);
  if (!rtl) return;
  const std::uint32_t space = 1u << config.address_bits, most = space / 16;
  const std::uint32_t status = row("STATUS").offset, events = row("INTERRUPT_STATUS").offset;
  struct Launch {
    std::uint32_t base_hi, base_lo, begin, count;
  };
  for (const Launch& launch : {Launch{0, 0, 0, most},
                               {0, 0, 7, most - 6},
                               {0, 32, 0, most - 1},
                               {0, space - 16, 0, 2},
                               {1, 0, 0, 1},
                               {0, 0, ~0u, ~0u}}) {
    CAPTURE(launch.base_hi, launch.base_lo, launch.begin, launch.count);
    REQUIRE(rtl->write_register(row("PROGRAM_BASE_HI").offset, launch.base_hi));
    REQUIRE(rtl->write_register(row("PROGRAM_BASE_LO").offset, launch.base_lo));
    REQUIRE(rtl->write_register(row("INSTRUCTION_BEGIN").offset, launch.begin));
    REQUIRE(rtl->write_register(row("INSTRUCTION_COUNT").offset, launch.count));
    REQUIRE(rtl->write_register(row("CONTROL").offset, 1));
    CHECK(rtl->read_register(status) == 1);
    CHECK(rtl->read_register(status) == (4 | static_cast<std::uint32_t>(isa::spec::ErrorCode::address_space) << 4));
    CHECK(rtl->read_register(row("ERROR_INSTRUCTION").offset) == launch.begin);
    CHECK(rtl->read_register(events) == 2);
    REQUIRE(rtl->write_register(events, 3));
  }
  // A launch that ends exactly at the end of the address space runs; the same on engine cycle.
  simulator::RtlOptions options;
  options.model = rtl_model(config);
  Dram dram = image(config, {}, 4096);
  for (const std::size_t count : {std::size_t{1}, std::size_t{20}}) {
    const std::vector<isa::Instruction> program(count, finish()), more(count + 1, finish());
    options.engine.program_base = space - 16 * count;
    const auto cycle = simulator::make_cycle(config, options.engine);
    const auto last = simulator::make_rtl(config, options).value();
    REQUIRE(last->launch(program, dram).ok());
    REQUIRE(cycle->launch(program, dram).ok());
    CHECK(last->timing()->cycles == cycle->timing()->cycles);
    const auto refused = last->launch(more, dram);
    REQUIRE_FALSE(refused.ok());
    CHECK(to_string(refused.errors()) == to_string(cycle->launch(more, dram).errors()));
  }
}

TEST_CASE("RTL: two designs in one thread may run in either order") {
  const auto config = tiny();
  for (const bool newer_goes : {false, true}) {
    auto older = design(config), newer = design(config);
    if (!older) return;
    (newer_goes ? newer : older).reset();
    const auto& left = newer_goes ? older : newer;
    CHECK(left->read_register(row("STATUS").offset) == 0);
    left->reset();
    CHECK(left->read_register(row("STATUS").offset) == 0);
  }
}

TEST_CASE("RTL: each power-up seed gives other contents of SRAM") {
  const auto config = tiny();
  simulator::RtlOptions options;
  options.model = rtl_model(config);
  if (!options.model) return;
  std::set<std::vector<std::byte>> seen;
  const std::vector<std::uint64_t> seeds{0, 1, 2, 3, 4, 5, 6, 7, 1000, 1001, 0x7ffffffe};
  for (const std::uint64_t seed : seeds) {
    options.power_up_seed = seed;
    const auto rtl = simulator::make_rtl(config, options).value();
    std::vector<std::byte> all;
    for (std::int64_t i = 0; i < config.depth(isa::Memory::acc); ++i) {
      const auto element = rtl->sram_element(isa::Memory::acc, static_cast<std::uint64_t>(i));
      all.insert(all.end(), element.begin(), element.end());
    }
    CAPTURE(seed);
    CHECK(seen.insert(all).second);
  }
}

}  // namespace dovetail::test
