#include "simulator/registers.h"

#include <algorithm>
#include <string_view>

namespace dovetail::simulator {

namespace {

constexpr std::uint32_t offset_of(std::string_view name) {
  for (const isa::spec::Register& row : isa::spec::kRegisters)
    if (row.name == name) return row.offset;
  throw "no such register";
}
constexpr std::uint32_t kControl = offset_of("CONTROL"), kStatus = offset_of("STATUS"),
                        kErrorInstruction = offset_of("ERROR_INSTRUCTION"),
                        kInterruptEnable = offset_of("INTERRUPT_ENABLE"),
                        kInterruptStatus = offset_of("INTERRUPT_STATUS"), kProgramBaseLo = offset_of("PROGRAM_BASE_LO"),
                        kProgramBaseHi = offset_of("PROGRAM_BASE_HI"),
                        kInstructionBegin = offset_of("INSTRUCTION_BEGIN"),
                        kInstructionCount = offset_of("INSTRUCTION_COUNT"), kCyclesLo = offset_of("CYCLES_LO"),
                        kCyclesHi = offset_of("CYCLES_HI"), kTokensLoad = offset_of("TOKENS_LOAD"),
                        kTokensStore = offset_of("TOKENS_STORE"), kOffsetLo = offset_of("OFFSET_LO"),
                        kOffsetHi = offset_of("OFFSET_HI");

constexpr std::uint32_t kDoneBit = 1, kErrorBit = 2;  // in both interrupt registers
static_assert(isa::spec::kInterruptStatusFields[0].name == "done" &&
              isa::spec::kInterruptStatusFields[1].name == "error");

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }
void set_low(std::uint64_t& value, std::uint32_t half) { value = (value >> 32 << 32) | half; }
void set_high(std::uint64_t& value, std::uint32_t half) { value = low(value) | std::uint64_t{half} << 32; }

}  // namespace

bool Registers::has(std::uint64_t offset) const {
  return std::ranges::any_of(isa::spec::kRegisters, [&](const isa::spec::Register& row) {
    return row.offset == offset && isa::spec::is_enabled(row, config_);
  });
}

std::uint32_t Registers::read(std::uint32_t offset, std::uint64_t cycles) const {
  if (!busy_) cycles = cycles_;
  const auto tokens = [&](isa::TokenFifo first, isa::TokenFifo second) {
    const auto field = [&](isa::TokenFifo fifo) {
      return static_cast<std::uint32_t>(std::min<std::size_t>(error_.tokens[isa::index(fifo)], 0xffff));
    };
    return field(first) | field(second) << 16;
  };
  const bool failed = error_.code != isa::spec::ErrorCode::none;
  if (offset == kStatus)
    return static_cast<std::uint32_t>(busy_) | static_cast<std::uint32_t>(done_) << 1 |
           static_cast<std::uint32_t>(failed) << 2 | static_cast<std::uint32_t>(error_.code) << 4;
  if (offset == kErrorInstruction) return static_cast<std::uint32_t>(error_.instruction);
  if (offset == kInterruptEnable) return interrupt_enable_;
  if (offset == kInterruptStatus) return interrupt_status_;
  if (offset == kProgramBaseLo) return low(program_base_);
  if (offset == kProgramBaseHi) return high(program_base_);
  if (offset == kOffsetLo) return low(offset_);
  if (offset == kOffsetHi) return high(offset_);
  if (offset == kInstructionBegin) return begin_;
  if (offset == kInstructionCount) return count_;
  if (offset == kCyclesLo) return low(cycles);
  if (offset == kCyclesHi) return high(cycles);
  if (offset == kTokensLoad) return tokens(isa::TokenFifo::load_to_compute, isa::TokenFifo::compute_to_load);
  if (offset == kTokensStore) return tokens(isa::TokenFifo::compute_to_store, isa::TokenFifo::store_to_compute);
  for (const isa::spec::Register& row : isa::spec::kRegisters)
    if (row.offset == offset) return row.reset(config_);
  return 0;
}

bool Registers::write(std::uint32_t offset, std::uint32_t value) {
  if (offset == kControl && (value & 1) != 0 && !busy_) {
    busy_ = true;
    done_ = false;
    error_ = {};
    cycles_ = 0;
    return true;
  }
  if (offset == kInterruptEnable) interrupt_enable_ = value & (kDoneBit | kErrorBit);
  if (offset == kInterruptStatus) interrupt_status_ &= ~value;
  if (offset == kProgramBaseLo) set_low(program_base_, value);
  if (offset == kProgramBaseHi) set_high(program_base_, value);
  if (offset == kOffsetLo) set_low(offset_, value);
  if (offset == kOffsetHi) set_high(offset_, value);
  offset_ &= (std::uint64_t{1} << config_.address_bits) - 1;
  if (offset == kInstructionBegin) begin_ = value;
  if (offset == kInstructionCount) count_ = value;
  return false;
}

void Registers::complete(std::uint64_t cycles) {
  done_ = true;
  end(cycles, kDoneBit);
}

void Registers::stop(const LaunchError& error, std::uint64_t cycles) {
  error_ = error;
  end(cycles, kErrorBit);
}

void Registers::end(std::uint64_t cycles, std::uint32_t event) {
  busy_ = false;
  cycles_ = cycles;
  interrupt_status_ |= event;
}

}  // namespace dovetail::simulator
