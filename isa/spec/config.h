// The rows of isa/spec/parameters.h as tables, and the keys of VTA. Reading, writing, validation, `.config` lines, the
// parameter table of docs/gen/isa.md and the constants of the generated packages are derived from them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "isa/config.h"

namespace dovetail::isa::spec {

// Operands are int8, accumulators int32. VTA's JSON states the widths, so they are read and checked; other widths are
// rejected.
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
  std::string_view resource;  // what-if analysis: label of an increase to `{}`; empty: not tried
  std::string_view doc;
};

#define DOVETAIL_ROW(name, initial, minimum, maximum, power_of_two, unit, resource, doc) \
  Parameter{#name, &HardwareConfig::name, minimum, maximum, power_of_two, unit, resource, doc},
inline constexpr std::array kParameters{DOVETAIL_PARAMETERS(DOVETAIL_ROW)};
#undef DOVETAIL_ROW

struct Extension {
  std::string_view key;
  bool HardwareConfig::*member;
  std::string_view doc;
};

#define DOVETAIL_ROW(name, doc) Extension{#name, &HardwareConfig::name, doc},
inline constexpr std::array kExtensions{DOVETAIL_EXTENSIONS(DOVETAIL_ROW)};
#undef DOVETAIL_ROW

constexpr std::string_view extension_key(bool HardwareConfig::*member) {
  for (const Extension& row : kExtensions)
    if (row.member == member) return row.key;
  return {};
}

// A key of VTA's vta_config.json. A `log2` row sets its parameters to 2^(value - shift); a `fixed` row must have the
// value; `ignored` rows do not affect the instruction set or the timing.
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
