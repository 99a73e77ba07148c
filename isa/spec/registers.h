// The AXI4-Lite register map: 32-bit registers, byte offsets. RTL, driver, virtual platform and documentation follow
// these rows. An access elsewhere in the 4 KiB window is answered with SLVERR.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/config.h"

namespace dovetail::isa::spec {

enum class Access : std::uint8_t {
  read_write,
  read_only,        // writes have no effect
  write_one_start,  // writing 1 acts; reads as 0
  write_one_clear,  // writing 1 clears the bit
};
constexpr std::string_view name(Access access) {
  switch (access) {
    case Access::read_write: return "RW";
    case Access::read_only: return "RO";
    case Access::write_one_start: return "W1S";
    case Access::write_one_clear: return "W1C";
  }
  return {};
}

struct RegisterField {
  std::string_view name;
  int bit, width;
  Access access;
  std::string_view doc;
};

struct Register {
  std::string_view name;
  std::uint32_t offset;
  std::span<const RegisterField> fields;  // the other bits read as 0
  std::uint32_t (*reset)(const HardwareConfig&);
  std::string_view doc;
  bool HardwareConfig::*enabled_by = nullptr;  // nullptr: in every design; otherwise the offset is not in the map
};
constexpr bool is_enabled(const Register& row, const HardwareConfig& config) {
  return row.enabled_by == nullptr || config.*row.enabled_by;
}

enum class ErrorCode : std::uint8_t {
  none = 0,
  slave_error = 1,      // SLVERR on the memory port
  decode_error = 2,     // DECERR on the memory port
  illegal = 3,          // unknown opcode, memory id or ALU operation, or a reserved bit
  leftover_tokens = 4,  // the launch ran to its end, and a token FIFO is not empty
  address_space = 5,    // the launch ends beyond 2^address_bits, or fills them
};
struct ErrorCodeInfo {
  ErrorCode code;
  std::string_view name, doc;
};
inline constexpr std::array kErrorCodes{
    ErrorCodeInfo{ErrorCode::none, "none", "no error"},
    ErrorCodeInfo{ErrorCode::slave_error, "slave_error", "the memory port answered SLVERR"},
    ErrorCodeInfo{ErrorCode::decode_error, "decode_error", "the memory port answered DECERR"},
    ErrorCodeInfo{ErrorCode::illegal, "illegal", "unknown opcode, memory id or ALU operation, or a reserved bit set"},
    ErrorCodeInfo{ErrorCode::leftover_tokens, "leftover_tokens",
                  "the launch ran to its end and left tokens in the FIFOs that TOKENS_LOAD and TOKENS_STORE name"},
    ErrorCodeInfo{
        ErrorCode::address_space, "address_space",
        "the launch's instructions end beyond the address space, or are as many as it holds; none was fetched"},
};

inline constexpr std::uint32_t kRegisterWindowBytes = 4096;
inline constexpr std::uint32_t kRegisterId = 0x4c545644;  // "DVTL" in ASCII, lowest byte first
inline constexpr std::uint32_t kRegisterVersion =
    0x00010001;  // version of this register map: major in the upper half, minor in the lower

inline constexpr std::array kControlFields{
    RegisterField{"start", 0, 1, Access::write_one_start,
                  "begin a launch; clears STATUS and CYCLES; no effect while busy"},
};
inline constexpr std::array kStatusFields{
    RegisterField{"busy", 0, 1, Access::read_only, "a launch is running"},
    RegisterField{"done", 1, 1, Access::read_only, "the last launch completed without an error"},
    RegisterField{"error", 2, 1, Access::read_only,
                  "the last launch was stopped, or left tokens; ERROR_INSTRUCTION says where"},
    RegisterField{"error_code", 4, 4, Access::read_only, "why: see the error codes"},
};
inline constexpr std::array kErrorInstructionFields{
    RegisterField{"index", 0, 32, Access::read_only,
                  "instruction that met the error, counted from PROGRAM_BASE; leftover_tokens: INSTRUCTION_BEGIN + "
                  "INSTRUCTION_COUNT"},
};
inline constexpr std::array kInterruptEnableFields{
    RegisterField{"done", 0, 1, Access::read_write, "raise the interrupt when a launch completes"},
    RegisterField{"error", 1, 1, Access::read_write, "raise the interrupt when a launch is stopped or leaves tokens"},
};
inline constexpr std::array kInterruptStatusFields{
    RegisterField{"done", 0, 1, Access::write_one_clear, "a launch completed"},
    RegisterField{"error", 1, 1, Access::write_one_clear, "a launch was stopped or left tokens"},
};
inline constexpr std::array kProgramBaseLoFields{
    RegisterField{"address", 0, 32, Access::read_write,
                  "bits 0-31 of the physical byte address of instruction 0; a multiple of the instruction size"},
};
inline constexpr std::array kProgramBaseHiFields{
    RegisterField{"address", 0, 32, Access::read_write, "bits 32-63"},
};
inline constexpr std::array kInstructionBeginFields{
    RegisterField{"index", 0, 32, Access::read_write, "first instruction of the launch"},
};
inline constexpr std::array kInstructionCountFields{
    RegisterField{"count", 0, 32, Access::read_write,
                  "instructions of the launch; 0 completes at once. They end within 2^address_bits, and are fewer than "
                  "fill them"},
};
inline constexpr std::array kCyclesLoFields{
    RegisterField{"cycles", 0, 32, Access::read_only, "bits 0-31 of the cycles of the running or last launch"},
};
inline constexpr std::array kCyclesHiFields{
    RegisterField{"cycles", 0, 32, Access::read_only, "bits 32-63"},
};
inline constexpr std::array kIdFields{
    RegisterField{"id", 0, 32, Access::read_only, "0x4c545644: \"DVTL\""},
};
inline constexpr std::array kVersionFields{
    RegisterField{"minor", 0, 16, Access::read_only, "raised when registers are added to every design"},
    RegisterField{"major", 16, 16, Access::read_only, "raised when a driver must change"},
};
inline constexpr std::array kConfigFields{
    RegisterField{"batch_log2", 0, 4, Access::read_only, "log2 of batch"},
    RegisterField{"block_in_log2", 4, 4, Access::read_only, "log2 of block_in"},
    RegisterField{"block_out_log2", 8, 4, Access::read_only, "log2 of block_out"},
    RegisterField{"wide", 12, 1, Access::read_only, "1: 256-bit instructions and 64-bit micro-ops"},
    RegisterField{"requant", 16, 1, Access::read_only, "extension `requant`"},
    RegisterField{"saturate", 17, 1, Access::read_only, "extension `saturate`"},
    RegisterField{"overwrite", 18, 1, Access::read_only, "extension `overwrite`"},
    RegisterField{"window", 19, 1, Access::read_only, "extension `window`"},
    RegisterField{"epilogue", 20, 1, Access::read_only, "extension `epilogue`"},
    RegisterField{"table", 21, 1, Access::read_only, "extension `table`"},
    RegisterField{"norm", 22, 1, Access::read_only, "extension `norm`"},
    RegisterField{"weights4", 23, 1, Access::read_only, "extension `weights4`"},
    RegisterField{"offset", 24, 1, Access::read_only, "extension `offset`"},
};
inline constexpr std::array kTokensLoadFields{
    RegisterField{"load_to_compute", 0, 16, Access::read_only, "tokens in the FIFO load -> compute, at most 65535"},
    RegisterField{"compute_to_load", 16, 16, Access::read_only, "tokens in the FIFO compute -> load"},
};
inline constexpr std::array kTokensStoreFields{
    RegisterField{"compute_to_store", 0, 16, Access::read_only, "tokens in the FIFO compute -> store"},
    RegisterField{"store_to_compute", 16, 16, Access::read_only, "tokens in the FIFO store -> compute"},
};
inline constexpr std::array kOffsetLoFields{
    RegisterField{
        "bytes", 0, 32, Access::read_write,
        "bits 0-31 of what a LOAD or STORE with `offset` adds to its address, rounded down to whole elements; "
        "bits from address_bits on read as 0"},
};
inline constexpr std::array kOffsetHiFields{
    RegisterField{"bytes", 0, 32, Access::read_write, "bits 32-63"},
};

constexpr std::uint32_t zero(const HardwareConfig&) { return 0; }
inline std::uint32_t config_register(const HardwareConfig& config) {
  const auto log2 = [](std::int64_t value) {
    return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(value)) - 1);
  };
  return log2(config.batch) | log2(config.block_in) << 4 | log2(config.block_out) << 8 |
         (config.encoding() == Encoding::wide ? 1u << 12 : 0u) | (config.requant ? 1u << 16 : 0u) |
         (config.saturate ? 1u << 17 : 0u) | (config.overwrite ? 1u << 18 : 0u) | (config.window ? 1u << 19 : 0u) |
         (config.epilogue ? 1u << 20 : 0u) | (config.table ? 1u << 21 : 0u) | (config.norm ? 1u << 22 : 0u) |
         (config.weights4 ? 1u << 23 : 0u) | (config.offset ? 1u << 24 : 0u);
}

// clang-format off
inline constexpr std::array kRegisters{
    Register{"CONTROL", 0x00, kControlFields, zero, "starts launches"},
    Register{"STATUS", 0x04, kStatusFields, zero, "state of the launch"},
    Register{"ERROR_INSTRUCTION", 0x08, kErrorInstructionFields, zero, "where a launch was stopped; valid while STATUS.error"},
    Register{"INTERRUPT_ENABLE", 0x0c, kInterruptEnableFields, zero, "which events raise the interrupt line"},
    Register{"INTERRUPT_STATUS", 0x10, kInterruptStatusFields, zero, "events so far; the line is high while an enabled one is set"},
    Register{"PROGRAM_BASE_LO", 0x14, kProgramBaseLoFields, zero, "address of the program"},
    Register{"PROGRAM_BASE_HI", 0x18, kProgramBaseHiFields, zero, "address of the program"},
    Register{"INSTRUCTION_BEGIN", 0x1c, kInstructionBeginFields, zero, "which part of the program a launch runs"},
    Register{"INSTRUCTION_COUNT", 0x20, kInstructionCountFields, zero, "which part of the program a launch runs"},
    Register{"CYCLES_LO", 0x24, kCyclesLoFields, zero, "clock cycles, from start to completion"},
    Register{"CYCLES_HI", 0x28, kCyclesHiFields, zero, "clock cycles, from start to completion"},
    Register{"ID", 0x2c, kIdFields, [](const HardwareConfig&) { return kRegisterId; }, "identifies a Dovetail accelerator"},
    Register{"VERSION", 0x30, kVersionFields, [](const HardwareConfig&) { return kRegisterVersion; }, "register map version"},
    Register{"CONFIG", 0x34, kConfigFields, config_register, "the design point, for drivers to compare with the program's"},
    Register{"TOKENS_LOAD", 0x38, kTokensLoadFields, zero, "what the last launch left over; valid while STATUS reports leftover_tokens"},
    Register{"TOKENS_STORE", 0x3c, kTokensStoreFields, zero, "what the last launch left over; valid while STATUS reports leftover_tokens"},
    Register{"OFFSET_LO", 0x40, kOffsetLoFields, zero, "added to the addresses of a launch's transfers; change only while not busy", &HardwareConfig::offset},
    Register{"OFFSET_HI", 0x44, kOffsetHiFields, zero, "added to the addresses of a launch's transfers; change only while not busy", &HardwareConfig::offset},
};
// clang-format on

}  // namespace dovetail::isa::spec
