// Each instruction of the system's processor, one case a row: RISC-V Instruction Set Manual, volume I, 20191213.
#include <cstring>
#include <map>
#include <vector>

#include "simulator/soc/rv32.h"
#include "tests/catch.h"

using dovetail::simulator::soc::Rv32;

namespace {

class WordBus final : public Rv32::Bus {
 public:
  std::uint32_t read(std::uint32_t address) override { return words[address]; }
  void write(std::uint32_t address, std::uint32_t value, std::uint32_t mask) override {
    words[address] = (words[address] & ~mask) | (value & mask);
  }
  std::map<std::uint32_t, std::uint32_t> words;
};

struct Processor {
  std::vector<std::byte> ram = std::vector<std::byte>(256);
  WordBus bus;
  Rv32 core{ram, bus};

  void put(std::uint32_t address, std::uint32_t word) { std::memcpy(ram.data() + address, &word, 4); }
  std::uint32_t word(std::uint32_t address) const {
    std::uint32_t word = 0;
    std::memcpy(&word, ram.data() + address, 4);
    return word;
  }
  // x1 = a, x2 = b, then the instruction at address 0x40.
  Rv32::Stop run(std::uint32_t instruction, std::uint32_t a = 0, std::uint32_t b = 0) {
    core.set_pc(0x40);
    put(0x40, instruction);
    core.set_register(1, a);
    core.set_register(2, b);
    core.set_register(3, 0xdeadbeef);
    return core.run(1);
  }
  std::uint32_t x3() const { return core.register_of(3); }
};

// Fields with rd x3, rs1 x1, rs2 x2.
constexpr std::uint32_t r_type(std::uint32_t opcode, std::uint32_t funct3, std::uint32_t funct7) {
  return funct7 << 25 | 2u << 20 | 1u << 15 | funct3 << 12 | 3u << 7 | opcode;
}
constexpr std::uint32_t i_type(std::uint32_t opcode, std::uint32_t funct3, std::int32_t immediate) {
  return static_cast<std::uint32_t>(immediate) << 20 | 1u << 15 | funct3 << 12 | 3u << 7 | opcode;
}
constexpr std::uint32_t s_type(std::uint32_t funct3, std::int32_t immediate) {
  const auto i = static_cast<std::uint32_t>(immediate);
  return (i >> 5 & 0x7f) << 25 | 2u << 20 | 1u << 15 | funct3 << 12 | (i & 31) << 7 | 0x23;
}
constexpr std::uint32_t b_type(std::uint32_t funct3, std::int32_t immediate) {
  const auto i = static_cast<std::uint32_t>(immediate);
  return (i >> 12 & 1) << 31 | (i >> 5 & 63) << 25 | 2u << 20 | 1u << 15 | funct3 << 12 | (i >> 1 & 15) << 8 |
         (i >> 11 & 1) << 7 | 0x63;
}

}  // namespace

TEST_CASE("RV32IM: operations on registers") {
  struct Row {
    std::uint32_t funct3, funct7, a, b, result;
  };
  const std::uint32_t least = 0x80000000, most = 0x7fffffff, minus_one = 0xffffffff;
  const Row rows[] = {
      {0, 0, 7, 8, 15},
      {0, 0, minus_one, 2, 1},
      {0, 0x20, 5, 7, 0xfffffffe},  // ADD, SUB
      {1, 0, 3, 4, 48},
      {1, 0, 1, 33, 2},  // SLL
      {2, 0, minus_one, 0, 1},
      {2, 0, 0, minus_one, 0},
      {3, 0, minus_one, 0, 0},
      {3, 0, 0, 1, 1},                 // SLT, SLTU
      {4, 0, 0xff00, 0x0ff0, 0xf0f0},  // XOR
      {5, 0, least, 31, 1},
      {5, 0x20, least, 31, minus_one},
      {5, 0x20, most, 30, 1},  // SRL, SRA
      {6, 0, 0xf0, 0x0f, 0xff},
      {7, 0, 0xfc, 0x3f, 0x3c},  // OR, AND
      {0, 1, 0x10001, 0x10001, 0x20001},
      {0, 1, minus_one, 5, 0xfffffffb},  // MUL
      {1, 1, minus_one, minus_one, 0},
      {1, 1, least, least, 0x40000000},
      {1, 1, most, 4, 1},  // MULH
      {2, 1, minus_one, minus_one, minus_one},
      {2, 1, 4, minus_one, 3},                   // MULHSU
      {3, 1, minus_one, minus_one, 0xfffffffe},  // MULHU
      {4, 1, 0xfffffff9, 2, 0xfffffffd},
      {4, 1, 7, 0, minus_one},
      {4, 1, least, minus_one, least},  // DIV
      {5, 1, 0xfffffff9, 2, 0x7ffffffc},
      {5, 1, 7, 0, minus_one},  // DIVU
      {6, 1, 0xfffffff9, 2, minus_one},
      {6, 1, 7, 0, 7},
      {6, 1, least, minus_one, 0},  // REM
      {7, 1, 0xfffffff9, 2, 1},
      {7, 1, 7, 0, 7},  // REMU
  };
  for (const Row& row : rows) {
    Processor processor;
    INFO("funct3 " << row.funct3 << ", funct7 " << row.funct7 << ", " << row.a << ", " << row.b);
    CHECK(processor.run(r_type(0x33, row.funct3, row.funct7), row.a, row.b) == Rv32::Stop::count);
    CHECK(processor.x3() == row.result);
    CHECK(processor.core.pc() == 0x44);
  }
}

TEST_CASE("RV32IM: operations with immediates") {
  struct Row {
    std::uint32_t funct3;
    std::int32_t immediate;
    std::uint32_t a, result;
  };
  const Row rows[] = {
      {0, -1, 5, 4},
      {0, 2047, 1, 2048},  // ADDI
      {2, -1, 0xfffffffe, 1},
      {3, -1, 5, 1},  // SLTI, SLTIU
      {4, -1, 0x0f, 0xfffffff0},
      {6, 0x70, 0x0f, 0x7f},
      {7, -16, 0x1234567f, 0x12345670},  // XORI, ORI, ANDI
      {1, 31, 1, 0x80000000},
      {5, 4, 0x80000000, 0x08000000},
      {5, 0x404, 0x80000000, 0xf8000000},  // SLLI, SRLI, SRAI
  };
  for (const Row& row : rows) {
    Processor processor;
    INFO("funct3 " << row.funct3 << ", immediate " << row.immediate);
    processor.run(i_type(0x13, row.funct3, row.immediate), row.a);
    CHECK(processor.x3() == row.result);
  }
  Processor processor;
  processor.run(0x12345000 | 3u << 7 | 0x37);  // LUI
  CHECK(processor.x3() == 0x12345000);
  processor.run(0xfffff000 | 3u << 7 | 0x17);  // AUIPC
  CHECK(processor.x3() == 0xfffff040);
  processor.run(0x13, 1, 2);  // ADDI x0, x0, 0
  CHECK(processor.core.register_of(0) == 0);
}

TEST_CASE("RV32IM: jumps and branches") {
  Processor processor;
  processor.run(0xff1ff06f | 3u << 7);  // JAL x3, -16
  CHECK(processor.x3() == 0x44);
  CHECK(processor.core.pc() == 0x30);
  processor.run(i_type(0x67, 0, 5), 0x80);  // JALR clears bit 0
  CHECK(processor.x3() == 0x44);
  CHECK(processor.core.pc() == 0x84);
  struct Row {
    std::uint32_t funct3, a, b;
    bool taken;
  };
  const Row rows[] = {{0, 5, 5, true},    {0, 5, 6, false},   {1, 5, 6, true},    {1, 5, 5, false},  {4, ~0u, 0, true},
                      {4, 0, ~0u, false}, {5, 0, ~0u, true},  {5, ~0u, 0, false}, {6, 0, ~0u, true}, {6, ~0u, 0, false},
                      {7, ~0u, 0, true},  {7, 0, ~0u, false}, {5, 3, 3, true},    {7, 3, 3, true}};
  for (const Row& row : rows) {
    INFO("funct3 " << row.funct3 << ": " << row.a << ", " << row.b);
    processor.run(b_type(row.funct3, -32), row.a, row.b);
    CHECK(processor.core.pc() == (row.taken ? 0x20u : 0x44u));
  }
}

TEST_CASE("RV32IM: loads and stores, in RAM and beyond") {
  Processor processor;
  processor.put(0x80, 0x8182f3f4);
  struct Row {
    std::uint32_t funct3;
    std::int32_t offset;
    std::uint32_t result;
  };
  for (const Row& row : {Row{0, 0, 0xfffffff4}, Row{0, 3, 0xffffff81}, Row{4, 1, 0xf3}, Row{1, 2, 0xffff8182},
                         Row{5, 0, 0xf3f4}, Row{2, 0, 0x8182f3f4}}) {
    INFO("funct3 " << row.funct3 << ", offset " << row.offset);
    processor.run(i_type(0x03, row.funct3, row.offset), 0x80);
    CHECK(processor.x3() == row.result);
  }
  processor.run(s_type(0, -1), 0x84, 0xaabbccdd);
  CHECK(processor.word(0x80) == 0xdd82f3f4);
  processor.run(s_type(1, 0), 0x80, 0xaabbccdd);
  CHECK(processor.word(0x80) == 0xdd82ccdd);
  processor.run(s_type(2, 4), 0x80, 0xaabbccdd);
  CHECK(processor.word(0x84) == 0xaabbccdd);
  processor.bus.words[0x1000] = 0x11223344;
  processor.run(i_type(0x03, 0, 1), 0x1000);
  CHECK(processor.x3() == 0x33);
  processor.run(s_type(1, 2), 0x1000, 0xaabbccdd);
  CHECK(processor.bus.words[0x1000] == 0xccdd3344);
}

TEST_CASE("RV32IM: counters") {
  Processor processor;
  processor.put(0, 0x13);
  processor.put(4, 0xc0202073 | 3u << 7);  // RDINSTRET x3
  processor.core.run(2, 5);
  CHECK(processor.x3() == 1);
  processor.put(8, 0xc0002073 | 3u << 7);  // RDCYCLE x3
  processor.core.run(1, 5);
  CHECK(processor.x3() == 10);
  processor.put(12, 0xc8002073 | 3u << 7);  // RDCYCLEH x3
  processor.core.run(1, 5);
  CHECK(processor.x3() == 0);
}

TEST_CASE("PicoRV32: an illegal instruction or a misaligned access stops, or is an interrupt") {
  for (const std::uint32_t instruction :
       {0u, 0xffffffffu, 0x00000073u, 0x00100073u, r_type(0x33, 1, 0x20), r_type(0x33, 0, 2), i_type(0x03, 3, 0),
        i_type(0x03, 6, 0), s_type(3, 0), b_type(2, 8), i_type(0x67, 1, 0), i_type(0x13, 1, 0x400), i_type(0x03, 2, 2),
        i_type(0x03, 1, 1), s_type(2, 1), r_type(0x0b, 0, 5)}) {
    INFO("instruction " << std::hex << instruction);
    Processor stopped;
    CHECK(stopped.run(instruction, 0x80) == Rv32::Stop::trap);  // all lines are disabled after reset
    Processor interrupted;
    interrupted.run(r_type(0x0b, 0, 3), 0);  // maskirq x3, x1
    CHECK(interrupted.x3() == ~0u);
    CHECK(interrupted.run(instruction, 0x80) == Rv32::Stop::count);
    CHECK(interrupted.core.run(1) == Rv32::Stop::count);
    CHECK(interrupted.core.pc() == Rv32::kInterruptAddress);
  }
}

TEST_CASE("PicoRV32: a level interrupts between instructions, and the handler returns") {
  Processor processor;
  processor.run(r_type(0x0b, 0, 3), ~(1u << 3));  // only line 3 is enabled
  processor.put(0x10, 0x0000018b);                // getq x3, q0
  processor.put(0x14, 0x0000818b);                // getq x3, q1
  processor.put(0x18, 0x0400000b);                // retirq
  processor.put(0x44, 0x13);
  processor.put(0x48, 0x13);
  processor.core.set_interrupts(1u << 4);
  processor.core.run(1);
  CHECK(processor.core.pc() == 0x48);  // line 4 is disabled
  processor.core.set_interrupts(3u << 3);
  processor.core.run(2);
  CHECK(processor.x3() == 0x48);
  processor.core.run(1);
  CHECK(processor.x3() == 1u << 3);
  processor.core.run(1);
  CHECK(processor.core.pc() == 0x48);
  processor.core.run(1);  // one instruction passes before the level is seen again
  CHECK(processor.core.pc() == 0x4c);
  processor.core.run(1);
  CHECK(processor.core.pc() == 0x10);
}

TEST_CASE("PicoRV32: waitirq waits for any line, also a disabled one") {
  Processor processor;
  CHECK(processor.run(r_type(0x0b, 0, 4)) == Rv32::Stop::waiting);
  CHECK(processor.core.run(5) == Rv32::Stop::waiting);
  processor.core.set_interrupts(1u << 5);
  CHECK(processor.core.run(1) == Rv32::Stop::count);
  CHECK(processor.x3() == 1u << 5);
  CHECK(processor.core.pc() == 0x44);
}

TEST_CASE("PicoRV32: an interrupt that ends waitirq returns to the instruction after it") {
  Processor processor;
  processor.run(r_type(0x0b, 0, 3), 0);  // maskirq: all lines are enabled
  CHECK(processor.run(r_type(0x0b, 0, 4)) == Rv32::Stop::waiting);
  processor.core.set_interrupts(1u << 5);
  CHECK(processor.core.run(2) == Rv32::Stop::count);
  CHECK(processor.x3() == 1u << 5);
  CHECK(processor.core.pc() == 0x10);
  processor.core.set_interrupts(0);
  processor.put(0x10, 2u << 25 | 0x0b);  // retirq
  CHECK(processor.core.run(1) == Rv32::Stop::count);
  CHECK(processor.core.pc() == 0x44);
}

TEST_CASE("PicoRV32: setq and getq keep four words") {
  Processor processor;
  processor.run(1u << 25 | 1u << 15 | 2u << 7 | 0x0b, 0x1234);  // setq q2, x1
  processor.run(2u << 15 | 3u << 7 | 0x0b);                     // getq x3, q2
  CHECK(processor.x3() == 0x1234);
}
