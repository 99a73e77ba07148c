// Assembly text. format_* prints what parse_assembly reads; docs/gen/isa.md holds the grammar.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::isa {

// One instruction on one line, e.g. "load.inp sram=0 dram=0x40 size=4x8 stride=8 pad=1,1,1,1 pop_next push_next".
std::string format_instruction(const Instruction& instruction);

struct Assembly {
  HardwareConfig config;
  std::vector<Instruction> program;
  std::vector<Uop> uops;  // from `.uop` lines; empty in most files
};

// Begins with a `.config` line holding every parameter that differs from the default.
std::string format_assembly(const HardwareConfig& config, std::span<const Instruction> program);
std::string format_assembly(const Assembly& assembly);  // micro-ops before instructions
std::string format_config_line(const HardwareConfig& config);

// `expected`: the configuration asked for on the command line; a `.config` line that disagrees is an error naming the
// parameter and both values. Without either, the default configuration holds. All errors of a file are collected, each
// with its line and column.
Result<Assembly> parse_assembly(std::string_view text, std::string_view where,
                                const std::optional<HardwareConfig>& expected = std::nullopt);

}  // namespace dovetail::isa
