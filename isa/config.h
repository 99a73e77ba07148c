// HardwareConfig: one design point of the accelerator as run-time data. isa/spec/parameters.h
// lists the parameters with their defaults and ranges; this struct has only the values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/spec/parameters.h"

namespace dovetail::isa {

// The on-chip and DRAM element kinds that an instruction can name; the values are the encoding (docs/gen/isa.md).
enum class Memory : std::uint8_t { uop = 0, wgt = 1, inp = 2, acc = 3, out = 4, acc8 = 5, tab = 6, wgt4 = 7 };

enum class Encoding : std::uint8_t {
  compact,  // 128-bit instructions, 32-bit micro-ops: VTA's own
  wide,     // 256-bit instructions, 64-bit micro-ops: chosen when a field does not fit the compact form
};

struct HardwareConfig {
  std::string name = "1x16x16";
  // One GEMM micro-op multiplies [batch][block_in] by [block_out][block_in]^T; the members are the rows of
  // isa/spec/parameters.h.
#define DOVETAIL_MEMBER(name, initial, ...) std::int64_t name = initial;
  DOVETAIL_PARAMETERS(DOVETAIL_MEMBER)
#undef DOVETAIL_MEMBER
#define DOVETAIL_MEMBER(name, doc) bool name = false;
  DOVETAIL_EXTENSIONS(DOVETAIL_MEMBER)
#undef DOVETAIL_MEMBER

  bool operator==(const HardwareConfig&) const = default;

  // Derived, all exact (sizes are powers of two).
  Encoding encoding() const;                        // wide if and only if a field does not fit the compact form
  std::int64_t instruction_bytes() const;           // 16 or 32
  std::int64_t uop_bytes() const;                   // 4 or 8
  std::int64_t element_bytes(Memory memory) const;  // in DRAM
  std::int64_t depth(Memory memory) const;          // elements on chip, of the memory's buffer; 0: off
  std::int64_t macs_per_uop() const { return batch * block_in * block_out; }
  // The longest burst: the beat buffer must have room for all of it.
  std::int64_t longest_burst_beats() const { return burst_beats < outstanding_beats ? burst_beats : outstanding_beats; }
};

// The named configurations (isa/configs/*.json, embedded in the binary), in listing order.
const std::vector<HardwareConfig>& named_configs();

// `name_or_path`: a named configuration, or a JSON file with our keys or VTA's (LOG_BATCH, LOG_BLOCK_IN, ...). The
// result is validated.
Result<HardwareConfig> load_config(std::string_view name_or_path);
Result<HardwareConfig> config_from_json(const Json& json, std::string_view where);
Json config_to_json(const HardwareConfig& config);
// Every violated range or combination, with the parameter's name, both numbers, and the remedy.
Result<void> validate(const HardwareConfig& config);

}  // namespace dovetail::isa
