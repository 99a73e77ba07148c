#include "simulator/soc/rv32.h"

#include <cstring>

namespace dovetail::simulator::soc {

namespace {

constexpr std::uint32_t field(std::uint32_t instruction, unsigned low, unsigned bits) {
  return instruction >> low & ((1u << bits) - 1);
}
constexpr std::int32_t as_signed(std::uint32_t value) { return static_cast<std::int32_t>(value); }
constexpr std::uint32_t sign_extended(std::uint32_t value, unsigned bits) {
  const std::uint32_t sign = 1u << (bits - 1);
  return ((value & ((sign << 1) - 1)) ^ sign) - sign;
}
constexpr std::uint32_t rd(std::uint32_t i) { return field(i, 7, 5); }
constexpr std::uint32_t funct3(std::uint32_t i) { return field(i, 12, 3); }
constexpr std::uint32_t rs1(std::uint32_t i) { return field(i, 15, 5); }
constexpr std::uint32_t rs2(std::uint32_t i) { return field(i, 20, 5); }
constexpr std::uint32_t funct7(std::uint32_t i) { return field(i, 25, 7); }

// Immediates, section 2.3.
constexpr std::uint32_t immediate_i(std::uint32_t i) { return sign_extended(i >> 20, 12); }
constexpr std::uint32_t immediate_s(std::uint32_t i) { return sign_extended(funct7(i) << 5 | rd(i), 12); }
constexpr std::uint32_t immediate_b(std::uint32_t i) {
  return sign_extended(field(i, 31, 1) << 12 | field(i, 7, 1) << 11 | field(i, 25, 6) << 5 | field(i, 8, 4) << 1, 13);
}
constexpr std::uint32_t immediate_u(std::uint32_t i) { return i & 0xfffff000; }
constexpr std::uint32_t immediate_j(std::uint32_t i) {
  return sign_extended(field(i, 31, 1) << 20 | field(i, 12, 8) << 12 | field(i, 20, 1) << 11 | field(i, 21, 10) << 1,
                       21);
}

enum Opcode : std::uint32_t {
  kLoad = 0x03,
  kOwn = 0x0b,  // custom-0: PicoRV32
  kFence = 0x0f,
  kImmediate = 0x13,
  kAuipc = 0x17,
  kStore = 0x23,
  kRegister = 0x33,
  kLui = 0x37,
  kBranch = 0x63,
  kJalr = 0x67,
  kJal = 0x6f,
  kSystem = 0x73,
};

}  // namespace

Rv32::Stop Rv32::run(std::uint64_t instructions, std::uint32_t cycles) {
  cycles_each_ = cycles;
  asked_ = false;
  for (; instructions != 0; --instructions) {
    if (trapped_) return Stop::trap;
    // An instruction that waits completes first, so that the interrupt returns to the one after it.
    if (!waiting_ && enters_interrupt()) continue;
    if (pc_ % 4 != 0) {
      raise(kMisalignedLine);
      if (trapped_) return Stop::trap;
    }
    const std::uint32_t instruction = read_word(pc_ & ~3u);
    next_ = pc_ + 4;
    returned_ = false;
    waiting_ = false;
    execute(instruction);
    if (trapped_) return Stop::trap;
    if (waiting_) return Stop::waiting;
    pc_ = next_;
    registers_[0] = 0;
    ++retired_;
    cycles_ += cycles_each_;
    if (asked_) return Stop::asked;
  }
  return Stop::count;
}

bool Rv32::enters_interrupt() {
  const std::uint32_t lines = pending() & ~mask_;
  if (lines == 0 || in_interrupt_ || returned_) return false;
  saved_[0] = pc_;
  saved_[1] = lines;
  latched_ &= mask_;
  in_interrupt_ = true;
  pc_ = kInterruptAddress;
  return true;
}

// An event of the processor itself: an interrupt, or the end where it cannot be one.
void Rv32::raise(std::uint32_t line) {
  if ((mask_ & line) != 0 || in_interrupt_) trapped_ = true;
  else latched_ |= line;
}

void Rv32::jump(std::uint32_t target) { next_ = target; }

std::uint32_t Rv32::read_word(std::uint32_t address) {
  if (address < ram_.size()) {
    std::uint32_t word = 0;
    std::memcpy(&word, ram_.data() + address, 4);
    return word;
  }
  return bus_.read(address);
}

void Rv32::execute(std::uint32_t i) {
  const std::uint32_t a = registers_[rs1(i)], b = registers_[rs2(i)];
  switch (i & 0x7f) {
    case kLui: registers_[rd(i)] = immediate_u(i); return;
    case kAuipc: registers_[rd(i)] = pc_ + immediate_u(i); return;
    case kJal: registers_[rd(i)] = pc_ + 4; return jump(pc_ + immediate_j(i));
    case kJalr:
      if (funct3(i) != 0) return raise(kIllegalLine);
      registers_[rd(i)] = pc_ + 4;
      return jump((a + immediate_i(i)) & ~1u);
    case kBranch:
      if (branches(funct3(i), a, b)) jump(pc_ + immediate_b(i));
      return;
    case kLoad: return load(i, a + immediate_i(i));
    case kStore: return store(i, a + immediate_s(i));
    case kImmediate: {
      const bool shift = funct3(i) == 1 || funct3(i) == 5;
      if (shift && funct7(i) != 0 && !(funct3(i) == 5 && funct7(i) == 0x20)) return raise(kIllegalLine);
      registers_[rd(i)] = compute(funct3(i), a, shift ? rs2(i) : immediate_i(i), shift && funct7(i) != 0);
      return;
    }
    case kRegister:
      if (funct7(i) == 1) registers_[rd(i)] = multiply(funct3(i), a, b);
      else if (funct7(i) == 0 || (funct7(i) == 0x20 && (funct3(i) == 0 || funct3(i) == 5)))
        registers_[rd(i)] = compute(funct3(i), a, b, funct7(i) != 0);
      else raise(kIllegalLine);
      return;
    case kFence: return;  // there is one processor, and no cache
    case kSystem: return read_counter(i);
    case kOwn: return own_instruction(i);
    default: return raise(kIllegalLine);
  }
}

// Section 2.4. `alternative`: SUB, and arithmetic right shifts.
std::uint32_t Rv32::compute(std::uint32_t function, std::uint32_t a, std::uint32_t b, bool alternative) const {
  switch (function) {
    case 0: return alternative ? a - b : a + b;
    case 1: return a << (b & 31);
    case 2: return as_signed(a) < as_signed(b) ? 1 : 0;
    case 3: return a < b ? 1 : 0;
    case 4: return a ^ b;
    case 5: return alternative ? static_cast<std::uint32_t>(as_signed(a) >> (b & 31)) : a >> (b & 31);
    case 6: return a | b;
    default: return a & b;
  }
}

// Chapter 7: the products' low and high halves, and divisions, which are defined for all operands.
std::uint32_t Rv32::multiply(std::uint32_t function, std::uint32_t a, std::uint32_t b) {
  const std::int64_t x = as_signed(a), y = as_signed(b);
  const auto high = [](auto product) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32); };
  const bool overflows = a == 0x80000000 && b == 0xffffffff;
  switch (function) {
    case 0: return a * b;
    case 1: return high(x * y);
    case 2: return high(x * static_cast<std::int64_t>(b));
    case 3: return high(std::uint64_t{a} * b);
    case 4: return b == 0 ? ~0u : overflows ? a : static_cast<std::uint32_t>(as_signed(a) / as_signed(b));
    case 5: return b == 0 ? ~0u : a / b;
    case 6: return b == 0 ? a : overflows ? 0 : static_cast<std::uint32_t>(as_signed(a) % as_signed(b));
    default: return b == 0 ? a : a % b;
  }
}

bool Rv32::branches(std::uint32_t function, std::uint32_t a, std::uint32_t b) {
  switch (function) {
    case 0: return a == b;
    case 1: return a != b;
    case 4: return as_signed(a) < as_signed(b);
    case 5: return as_signed(a) >= as_signed(b);
    case 6: return a < b;
    case 7: return a >= b;
    default: raise(kIllegalLine); return false;
  }
}

void Rv32::load(std::uint32_t i, std::uint32_t address) {
  const std::uint32_t function = funct3(i), bytes = 1u << (function & 3);
  if (function == 3 || function > 5) return raise(kIllegalLine);
  if (address % bytes != 0) return raise(kMisalignedLine);
  const std::uint32_t value = read_word(address & ~3u) >> 8 * (address & 3);
  if (bytes == 4) registers_[rd(i)] = value;
  else if (function >= 4) registers_[rd(i)] = value & ((1u << 8 * bytes) - 1);
  else registers_[rd(i)] = sign_extended(value, 8 * bytes);
}

void Rv32::store(std::uint32_t i, std::uint32_t address) {
  const std::uint32_t function = funct3(i), bytes = 1u << (function & 3);
  if (function > 2) return raise(kIllegalLine);
  if (address % bytes != 0) return raise(kMisalignedLine);
  const std::uint32_t value = registers_[rs2(i)];
  if (address < ram_.size()) {
    std::memcpy(ram_.data() + address, &value, bytes);
    return;
  }
  const unsigned shift = 8 * (address & 3);
  bus_.write(address & ~3u, value << shift, (bytes == 4 ? ~0u : (1u << 8 * bytes) - 1) << shift);
}

// RDCYCLE, RDTIME, RDINSTRET and their upper halves; ECALL and EBREAK are events.
void Rv32::read_counter(std::uint32_t i) {
  const std::uint32_t number = i >> 20;
  const bool reads = funct3(i) == 2 && rs1(i) == 0;
  const std::uint64_t value = (number & 3) == 2 ? retired_ : cycles_;
  switch (number) {
    case 0xc00:
    case 0xc01:
    case 0xc02:
      if (!reads) return raise(kIllegalLine);
      registers_[rd(i)] = static_cast<std::uint32_t>(value);
      return;
    case 0xc80:
    case 0xc81:
    case 0xc82:
      if (!reads) return raise(kIllegalLine);
      registers_[rd(i)] = static_cast<std::uint32_t>(value >> 32);
      return;
    default: return raise(kIllegalLine);
  }
}

void Rv32::own_instruction(std::uint32_t i) {
  switch (funct7(i)) {
    case 0: registers_[rd(i)] = saved_[rs1(i) & 3]; return;  // getq
    case 1: saved_[rd(i) & 3] = registers_[rs1(i)]; return;  // setq
    case 2:                                                  // retirq
      in_interrupt_ = false;
      returned_ = true;
      return jump(saved_[0] & ~1u);
    case 3: {  // maskirq
      const std::uint32_t old = mask_;
      mask_ = registers_[rs1(i)];
      registers_[rd(i)] = old;
      return;
    }
    case 4:  // waitirq
      waiting_ = pending() == 0;
      if (!waiting_) registers_[rd(i)] = pending();
      return;
    default: return raise(kIllegalLine);
  }
}

}  // namespace dovetail::simulator::soc
