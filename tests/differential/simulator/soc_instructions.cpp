// The processor of the system on chip, PicoRV32 in Verilator, and its interpreter in the SystemC model run random
// programs: all instructions of RV32IM, accesses to RAM, and errors of the bus. Both print all registers in the end.
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "simulator/rtl/build.h"
#include "simulator/rtl/find.h"
#include "simulator/rtl/model_file.h"
#include "simulator/soc/memory_map.h"
#include "simulator/soc/system.h"
#include "simulator/systemc_engine.h"
#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/torture/models.h"

namespace dovetail::test {

namespace {

namespace soc = simulator::soc;

constexpr std::uint32_t kScratch = 0x80000, kScratchBytes = 256;  // in RAM, far after every program

// Writes machine code. Registers 1 to 15 have random values; 16 to 31 belong to the program itself.
class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_(seed) {}

  std::vector<std::byte> program(int instructions) {
    for (std::uint32_t r = 1; r < 16; ++r) set(r, any_value());
    set(kBase, kScratch);
    for (std::uint32_t at = 0; at < kScratchBytes; at += 4) {
      set(kTemporary, any_value());
      put(store(2, kBase, kTemporary, at));
    }
    for (int i = 0; i < instructions; ++i) step();
    set(kUart, soc::window(soc::Target::uart).base);
    set(kTemporary, soc::kUartDivider);
    put(store(2, kUart, kTemporary, soc::soc_register(soc::Target::uart, "DIVIDER").offset));
    for (std::uint32_t r = 1; r < 16; ++r) print(r);
    for (std::uint32_t at = 0; at < kScratchBytes; at += 4) {
      put(load(2, kOther, kBase, at));
      print(kOther);
    }
    for (const char* name : {"FAULT", "FAULT_ADDRESS"}) {
      set(kTemporary, soc::window(soc::Target::system).base + soc::soc_register(soc::Target::system, name).offset);
      put(load(2, kOther, kTemporary, 0));
      print(kOther);
    }
    set(kTemporary, soc::kEndOfRun);
    send();
    put(0x0000006f);  // j .
    std::vector<std::byte> bytes(words_.size() * 4);
    std::memcpy(bytes.data(), words_.data(), bytes.size());
    return bytes;
  }

 private:
  static constexpr std::uint32_t kBase = 20, kTemporary = 21, kUart = 22, kOther = 23, kShifted = 24;

  std::uint32_t any(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  std::uint32_t any_register() { return any(16); }  // also x0
  std::uint32_t any_value() {
    constexpr std::uint32_t kSpecial[] = {0, 1, 2, 31, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff8000};
    return any(3) == 0 ? kSpecial[any(8)] : static_cast<std::uint32_t>(random_());
  }
  void put(std::uint32_t word) { words_.push_back(word); }
  void set(std::uint32_t rd, std::uint32_t value) {
    put(((value + 0x800) & 0xfffff000) | rd << 7 | 0x37);               // lui
    put((value & 0xfff) << 20 | rd << 15 | 0u << 12 | rd << 7 | 0x13);  // addi
  }
  static std::uint32_t load(std::uint32_t function, std::uint32_t rd, std::uint32_t base, std::uint32_t offset) {
    return offset << 20 | base << 15 | function << 12 | rd << 7 | 0x03;
  }
  static std::uint32_t store(std::uint32_t function, std::uint32_t base, std::uint32_t from, std::uint32_t offset) {
    return (offset >> 5 & 0x7f) << 25 | from << 20 | base << 15 | function << 12 | (offset & 31) << 7 | 0x23;
  }
  // Sends the byte in kTemporary when there is room.
  void send() {
    put(load(2, kShifted, kUart, soc::soc_register(soc::Target::uart, "STATUS").offset));
    put(1u << 20 | kShifted << 15 | 7u << 12 | kShifted << 7 | 0x13);  // andi 1
    put(0xfe000ce3 | kShifted << 15);                                  // beq kShifted, x0, -8
    put(store(2, kUart, kTemporary, soc::soc_register(soc::Target::uart, "DATA").offset));
  }
  void print(std::uint32_t r) {
    for (std::uint32_t shift = 0; shift < 32; shift += 4) {
      put(shift << 20 | r << 15 | 5u << 12 | kTemporary << 7 | 0x13);           // srli
      put(15u << 20 | kTemporary << 15 | 7u << 12 | kTemporary << 7 | 0x13);    // andi
      put(0x40u << 20 | kTemporary << 15 | 0u << 12 | kTemporary << 7 | 0x13);  // addi: a letter
      send();
    }
  }
  void step() {
    const std::uint32_t rd = any_register(), a = any_register(), b = any_register(), function = any(8);
    switch (any(8)) {
      case 0:
      case 1: {  // between registers, also products and divisions
        const bool alternative = (function == 0 || function == 5) && any(2) == 0;
        const std::uint32_t funct7 = any(2) == 0 ? 1 : alternative ? 0x20 : 0;
        return put(funct7 << 25 | b << 20 | a << 15 | function << 12 | rd << 7 | 0x33);
      }
      case 2: {  // with an immediate
        std::uint32_t immediate = any(4096);
        if (function == 1) immediate &= 31;
        if (function == 5) immediate &= 0x41f;
        return put(immediate << 20 | a << 15 | function << 12 | rd << 7 | 0x13);
      }
      case 3: {
        constexpr std::uint32_t kLoads[] = {0, 1, 2, 4, 5};
        const std::uint32_t kind = kLoads[any(5)], bytes = 1u << (kind & 3);
        return put(load(kind, rd, kBase, any(kScratchBytes / bytes) * bytes));
      }
      case 4: {
        const std::uint32_t kind = any(3), bytes = 1u << kind;
        return put(store(kind, kBase, a, any(kScratchBytes / bytes) * bytes));
      }
      case 5: {  // a branch over the next instruction
        constexpr std::uint32_t kBranches[] = {0, 1, 4, 5, 6, 7};
        put(b << 20 | a << 15 | kBranches[any(6)] << 12 | 8u << 7 | 0x63);
        return put(1u << 20 | rd << 15 | rd << 7 | 0x13);
      }
      case 6: {
        if (any(4) == 0) {  // jal over the next instruction; the link is an address of the program
          put(0x0080006f | rd << 7);
          return put(1u << 20 | a << 15 | rd << 7 | 0x13);
        }
        return put(any(1u << 20) << 12 | rd << 7 | (any(2) == 0 ? 0x37u : 0x17u));  // lui, auipc
      }
      default:
        if (any(8) != 0) return put(0x0000000f);  // fence
        // Nothing is there: the access ends, and is reported.
        set(kOther, 0x20000000 + any(1u << 20) * 4);
        if (any(2) == 0) return put(store(2, kOther, a, 0));
        put(load(2, kOther, kOther, 0));
        return;
    }
  }

  std::mt19937 random_;
  std::vector<std::uint32_t> words_;
};

}  // namespace

TEST_CASE("system on chip: PicoRV32 and its interpreter compute the same") {
  const auto core = soc::find_core();
  if (!core.ok()) return skip("PicoRV32 is missing: " + core.errors().front().hint);
  if (!simulator::verilator_version()) return skip("Verilator is not installed");
  if (!simulator::find_systemc_engine()) return skip("this kit has no SystemC");
  setenv("XDG_CACHE_HOME", DOVETAIL_BINARY_DIR "/rtl/tests", 1);
  const auto config = isa::load_config("tiny").value();
  const auto model = simulator::find_or_build_rtl_model(config, {.kind = {.core = *core}});
  REQUIRE(model.ok());
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    const std::vector<std::byte> firmware = Writer(seed).program(1500);
    REQUIRE(firmware.size() < kScratch);
    const soc::SystemOptions options{.config = config, .memory_bytes = 4096, .limit_cycles = 2'000'000};
    const auto design = soc::run_verilated(firmware, *model, options);
    const auto interpreter = soc::run_systemc(firmware, options);
    REQUIRE(design.ok());
    REQUIRE(interpreter.ok());
    CHECK(design->end == soc::SystemRun::End::ended);
    CHECK(interpreter->end == soc::SystemRun::End::ended);
    CHECK(design->serial.size() == 8 * (15 + kScratchBytes / 4 + 2));
    CHECK(design->serial == interpreter->serial);
  }
}

}  // namespace dovetail::test
