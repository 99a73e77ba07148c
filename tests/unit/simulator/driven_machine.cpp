// A machine that is driven through its registers: launches, errors, the interrupt, OFFSET, and several accelerators.
#include "simulator/driven_machine.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "isa/text.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "tests/catch.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using simulator::DrivenMachine;

namespace {

constexpr std::uint64_t kBase = 0x10000, kProgram = 0x11000, kBytes = 0x3000;

std::uint32_t register_of(std::string_view name) {
  return std::ranges::find(isa::spec::kRegisters, name, &isa::spec::Register::name)->offset;
}

std::unique_ptr<DrivenMachine> machine_of(const std::vector<isa::HardwareConfig>& configs,
                                          const std::string& engine = "functional", std::uint64_t bytes = kBytes) {
  auto machine = DrivenMachine::make(
      configs, kBase, bytes, [&](const isa::HardwareConfig& config) -> Result<std::unique_ptr<simulator::Simulator>> {
        if (engine == "cycle") return simulator::make_cycle(config, {});
        return simulator::make_functional(config);
      });
  REQUIRE((machine.ok() ? "" : to_string(machine.errors())) == "");
  return *std::move(machine);
}

isa::HardwareConfig config_of(const std::string& name) { return *isa::load_config(name); }

struct Driver {
  DrivenMachine& machine;
  std::size_t accelerator = 0;

  std::uint32_t get(std::string_view name) const { return machine.read(accelerator, register_of(name)).value(); }
  void set(std::string_view name, std::uint32_t value) const {
    REQUIRE(machine.write(accelerator, register_of(name), value).ok());
  }
  // Puts the program into memory and starts it. The text of the failure.
  std::string run(const isa::HardwareConfig& config, const std::string& text, std::uint64_t base = kProgram) const {
    const auto assembly = isa::parse_assembly(text, "program", config);
    REQUIRE((assembly.ok() ? "" : to_string(assembly.errors())) == "");
    const auto code = isa::Codec(config).encode_program(assembly->program).value();
    std::ranges::copy(code, machine.memory().begin() + (kProgram - kBase));
    return start(assembly->program.size(), base);
  }
  std::string start(std::size_t count, std::uint64_t base = kProgram) const {
    set("PROGRAM_BASE_LO", static_cast<std::uint32_t>(base));
    set("PROGRAM_BASE_HI", static_cast<std::uint32_t>(base >> 32));
    set("INSTRUCTION_COUNT", static_cast<std::uint32_t>(count));
    const auto started = machine.write(accelerator, register_of("CONTROL"), 1);
    return started.ok() ? "" : to_string(started.errors());
  }
  std::uint32_t status() const { return get("STATUS"); }
};

constexpr std::uint32_t kBusy = 1, kDone = 2, kError = 4;
std::uint32_t error(isa::spec::ErrorCode code) { return kError | static_cast<std::uint32_t>(code) << 4; }

// Copies an element of 16 int8 from 0x12000, widened, to 0x12100.
std::string copy_of(const std::string& config) {
  return ".config " + config +
         "\nload.acc8 sram=0 dram=0x12000/acc8.bytes size=1,1 push_next\nstore.out sram=0 dram=0x12100/out.bytes "
         "size=1,1 pop_prev\n";
}

}  // namespace

TEST_CASE("a driven machine runs a launch, and reports it in its registers") {
  for (const char* engine : {"functional", "cycle"}) {
    INFO(engine);
    const isa::HardwareConfig config = config_of("1x16x16");
    const auto machine = machine_of({config}, engine);
    const Driver driver{*machine};
    CHECK(driver.get("ID") == isa::spec::kRegisterId);
    CHECK(driver.get("CONFIG") == isa::spec::config_register(config));
    CHECK(driver.status() == 0);
    driver.set("INTERRUPT_ENABLE", 3);
    for (int i = 0; i < 16; ++i)
      machine->memory()[0x2000 + static_cast<std::size_t>(i)] = static_cast<std::byte>(i - 5);
    CHECK(driver.run(config, copy_of("1x16x16")) == "");
    CHECK(driver.status() == kDone);
    CHECK(driver.get("INTERRUPT_STATUS") == 1);
    CHECK((driver.get("CYCLES_LO") > 0) == (std::string(engine) == "cycle"));
    for (int i = 0; i < 16; ++i)
      CHECK(machine->memory()[0x2100 + static_cast<std::size_t>(i)] == static_cast<std::byte>(i - 5));
    driver.set("INTERRUPT_STATUS", 1);
    CHECK(driver.get("INTERRUPT_STATUS") == 0);
    CHECK(driver.start(0) == "");  // no instructions: done at once
    CHECK(driver.status() == kDone);
  }
}

TEST_CASE("a driven machine reports errors as the design does") {
  using isa::spec::ErrorCode;
  const isa::HardwareConfig config = config_of("1x16x16");
  for (const char* engine : {"functional", "cycle"}) {
    INFO(engine);
    const auto machine = machine_of({config}, engine);
    const Driver driver{*machine};
    const auto fails = [&](const std::string& text, ErrorCode code, std::uint32_t instruction, const std::string& why) {
      CHECK_THAT(driver.run(config, ".config 1x16x16\n" + text), ContainsSubstring(why));
      CHECK(driver.status() == error(code));
      CHECK(driver.get("ERROR_INSTRUCTION") == instruction);
      CHECK((driver.get("INTERRUPT_STATUS") & 2) != 0);
    };
    const std::string nop = "load.acc sram=0 dram=0x12000/acc.bytes size=1,1\n";
    fails(nop + "load.acc sram=0 dram=0x20000/acc.bytes size=1,1\n", ErrorCode::decode_error, 1, "0x20000");
    fails(nop + nop + "load.acc sram=0 dram=0x12000/acc.bytes size=1,1 push_next\n", ErrorCode::leftover_tokens, 3,
          "token");
    CHECK(driver.get("TOKENS_STORE") == 1);
    CHECK(driver.get("TOKENS_LOAD") == 0);
    // An unknown opcode in memory.
    driver.run(config, ".config 1x16x16\n" + nop + nop);
    std::ranges::fill(machine->memory().subspan(0x1010, 16), std::byte{0xff});
    CHECK(driver.start(2) != "");
    CHECK(driver.status() == error(ErrorCode::illegal));
    CHECK(driver.get("ERROR_INSTRUCTION") == 1);
    // A program outside of memory, and one beyond the addresses.
    CHECK_THAT(driver.start(2, 0x40000), ContainsSubstring("not within the memory"));
    CHECK(driver.status() == error(ErrorCode::decode_error));
    CHECK(driver.start(2, std::uint64_t{1} << 40) != "");
    CHECK(driver.status() == error(ErrorCode::address_space));
    // It waits for a token that never comes: busy for ever, as on a board.
    CHECK(driver.run(config, ".config 1x16x16\nstore.out sram=0 dram=0x12100/out.bytes size=1,1 pop_prev\n") != "");
    CHECK(driver.status() == kBusy);
    CHECK(driver.start(1) == "");  // no effect
    CHECK(driver.status() == kBusy);
  }
}

TEST_CASE("a driven machine has the registers of its designs, and memory within their addresses") {
  isa::HardwareConfig other = config_of("1x16x16-ext");
  other.offset = true;
  const auto machine = machine_of({config_of("1x16x16"), other});
  CHECK(machine->accelerators() == 2);
  CHECK(reinterpret_cast<std::uintptr_t>(machine->memory().data()) % 64 == 0);
  CHECK(machine->memory().size() == kBytes);
  const std::uint32_t offset = register_of("OFFSET_LO");
  CHECK_THAT(to_string(machine->read(0, offset).errors()), ContainsSubstring("the design has no register there"));
  CHECK(machine->write(1, offset, 64).ok());
  CHECK(machine->read(1, offset).value() == 64);
  CHECK_THAT(to_string(machine->read(2, 0).errors()), ContainsSubstring("the machine has 2, numbered from 0"));
  CHECK_FALSE(machine->write(0, 0x800, 1).ok());
  const auto make = [](const isa::HardwareConfig& config) -> Result<std::unique_ptr<simulator::Simulator>> {
    return simulator::make_functional(config);
  };
  CHECK_THAT(to_string(DrivenMachine::make(std::array{other}, 0xffff0000, 0x10001, make).errors()),
             ContainsSubstring("which have 32 bits"));
}
