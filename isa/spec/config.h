// The parameters of a HardwareConfig: JSON key, range, VTA's key and documentation, one row each. Reading, writing,
// validation, `.config` lines, the parameter table of docs/gen/isa.md and the constants of the generated packages are
// derived from these rows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "isa/config.h"

namespace dovetail::isa::spec {

// Operands are int8, accumulators int32. VTA's JSON states the widths, so they are read and checked; other widths are
// refused.
inline constexpr int kInpBits = 8;
inline constexpr int kWgtBits = 8;
inline constexpr int kAccBits = 32;
inline constexpr int kOutBits = 8;
inline constexpr std::int64_t kAccBytes = kAccBits / 8;

// An element never exceeds a page, so that page-aligned buffers are element-aligned (dram_base counts elements).
inline constexpr std::int64_t kMaxElementBytes = 4096;
// REQUANT reads acc[src + 1], double buffering needs two halves of at least two; below that no program does useful
// work.
inline constexpr std::int64_t kMinDepth = 4;

struct Parameter {
  std::string_view key;  // in JSON and in `.config` lines; the name of the member
  std::int64_t HardwareConfig::*member;
  std::int64_t minimum, maximum;
  bool power_of_two;
  std::string_view unit;
  std::string_view doc;
};

// clang-format off
inline constexpr std::array kParameters{
    Parameter{"batch", &HardwareConfig::batch, 1, 1024, true, "rows", "rows of an INP, ACC and OUT element"},
    Parameter{"block_in", &HardwareConfig::block_in, 1, 4096, true, "lanes",
              "lanes of an INP row, and of a WGT row; the length of one dot product"},
    Parameter{"block_out", &HardwareConfig::block_out, 1, 1024, true, "lanes", "lanes of an ACC or OUT row, and rows of a WGT element"},
    Parameter{"uop_buffer_bytes", &HardwareConfig::uop_buffer_bytes, 16, std::int64_t{1} << 27, true, "bytes", "micro-op SRAM"},
    Parameter{"inp_buffer_bytes", &HardwareConfig::inp_buffer_bytes, 4, std::int64_t{1} << 33, true, "bytes", "input SRAM"},
    Parameter{"wgt_buffer_bytes", &HardwareConfig::wgt_buffer_bytes, 4, std::int64_t{1} << 33, true, "bytes", "weight SRAM"},
    Parameter{"acc_buffer_bytes", &HardwareConfig::acc_buffer_bytes, 16, std::int64_t{1} << 33, true, "bytes",
              "accumulator SRAM; OUT has as many elements"},
    Parameter{"command_queue_depth", &HardwareConfig::command_queue_depth, 1, 65536, false, "instructions",
              "entries of each of the load, compute and store command queues"},
    Parameter{"token_queue_depth", &HardwareConfig::token_queue_depth, 1, 65536, false, "tokens", "entries of each of the four token FIFOs"},
    Parameter{"address_bits", &HardwareConfig::address_bits, 16, 56, false, "bits", "width of a physical byte address"},
    Parameter{"bus_bytes", &HardwareConfig::bus_bytes, 4, 128, true, "bytes", "data width of the AXI4 memory port, each way"},
    Parameter{"burst_beats", &HardwareConfig::burst_beats, 1, 256, false, "beats", "longest AXI4 burst; none crosses a 4 KiB boundary"},
    Parameter{"outstanding_beats", &HardwareConfig::outstanding_beats, 1, 65536, false, "beats",
              "read beats that a unit may have requested and not yet received: its beat buffer"},
};
// clang-format on

struct Extension {
  std::string_view key;
  bool HardwareConfig::*member;
  std::string_view doc;
};

// clang-format off
inline constexpr std::array kExtensions{
    Extension{"requant", &HardwareConfig::requant, "ALU operation REQUANT: exact scaling by a binary32 per lane, bias, zero point"},
    Extension{"saturate", &HardwareConfig::saturate, "STORE may clamp to the output width instead of wrapping"},
    Extension{"overwrite", &HardwareConfig::overwrite, "GEMM may write the product instead of adding it: no reset pass"},
};
// clang-format on

constexpr std::string_view extension_key(bool HardwareConfig::*member) {
  for (const Extension& row : kExtensions)
    if (row.member == member) return row.key;
  return {};
}

// VTA's vta_config.json. A `log2` row sets its parameters to 2^(value - shift); a `fixed` row must hold the value;
// `ignored` rows do not touch the instruction set or the timing.
struct VtaKey {
  enum class Kind : std::uint8_t { log2, fixed, ignored };
  std::string_view key;
  Kind kind;
  std::int64_t HardwareConfig::*first = nullptr;
  std::int64_t HardwareConfig::*second = nullptr;
  int value = 0;  // log2: the shift; fixed: the only accepted value
  std::string_view doc;
};

// clang-format off
inline constexpr std::array kVtaKeys{
    VtaKey{"LOG_BATCH", VtaKey::Kind::log2, &HardwareConfig::batch, nullptr, 0, "batch"},
    VtaKey{"LOG_BLOCK", VtaKey::Kind::log2, &HardwareConfig::block_in, &HardwareConfig::block_out, 0, "block_in and block_out"},
    VtaKey{"LOG_BLOCK_IN", VtaKey::Kind::log2, &HardwareConfig::block_in, nullptr, 0, "block_in"},
    VtaKey{"LOG_BLOCK_OUT", VtaKey::Kind::log2, &HardwareConfig::block_out, nullptr, 0, "block_out"},
    VtaKey{"LOG_UOP_BUFF_SIZE", VtaKey::Kind::log2, &HardwareConfig::uop_buffer_bytes, nullptr, 0, "uop_buffer_bytes"},
    VtaKey{"LOG_INP_BUFF_SIZE", VtaKey::Kind::log2, &HardwareConfig::inp_buffer_bytes, nullptr, 0, "inp_buffer_bytes"},
    VtaKey{"LOG_WGT_BUFF_SIZE", VtaKey::Kind::log2, &HardwareConfig::wgt_buffer_bytes, nullptr, 0, "wgt_buffer_bytes"},
    VtaKey{"LOG_ACC_BUFF_SIZE", VtaKey::Kind::log2, &HardwareConfig::acc_buffer_bytes, nullptr, 0, "acc_buffer_bytes"},
    VtaKey{"LOG_BUS_WIDTH", VtaKey::Kind::log2, &HardwareConfig::bus_bytes, nullptr, 3, "bus_bytes (VTA counts bits)"},
    VtaKey{"LOG_INP_WIDTH", VtaKey::Kind::fixed, nullptr, nullptr, 3, "input operands have 8 bits"},
    VtaKey{"LOG_WGT_WIDTH", VtaKey::Kind::fixed, nullptr, nullptr, 3, "weight operands have 8 bits"},
    VtaKey{"LOG_ACC_WIDTH", VtaKey::Kind::fixed, nullptr, nullptr, 5, "accumulators have 32 bits"},
    VtaKey{"LOG_OUT_WIDTH", VtaKey::Kind::fixed, nullptr, nullptr, 3, "outputs have 8 bits"},
    VtaKey{"TARGET", VtaKey::Kind::ignored, nullptr, nullptr, 0, "VTA's board or simulator; Dovetail's engine is chosen on the command line"},
    VtaKey{"HW_VER", VtaKey::Kind::ignored, nullptr, nullptr, 0, "VTA's hardware revision"},
    VtaKey{"HW_FREQ", VtaKey::Kind::ignored, nullptr, nullptr, 0, "VTA's FPGA clock in MHz: the system's `clock_mhz`"},
    VtaKey{"HW_CLK_TARGET", VtaKey::Kind::ignored, nullptr, nullptr, 0, "VTA's clock constraint for synthesis"},
};
// clang-format on

}  // namespace dovetail::isa::spec
