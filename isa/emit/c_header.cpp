// A C header for drivers and firmware: plain macros, C99.
#include <fmt/format.h>

#include "isa/emit/emit.h"
#include "isa/emit/tables.h"
#include "isa/spec/memories.h"
#include "isa/spec/registers.h"
#include "isa/spec/timing.h"

namespace dovetail::isa {

namespace {

using emit::upper;

std::string define(std::string_view name, std::string_view value, std::string_view doc = {}) {
  return fmt::format("#define DOVETAIL_{} {}{}\n", name, value,
                     doc.empty() ? std::string() : fmt::format("  /* {} */", doc));
}
std::string define(std::string_view name, std::int64_t value, std::string_view doc = {}) {
  return define(name, fmt::format("{}{}", value, value > INT32_MAX ? "ll" : ""), doc);
}

std::string fields(std::string_view prefix, const std::vector<emit::PlacedField>& placed) {
  std::string text;
  for (const emit::PlacedField& field : placed) {
    if (!field.is_present) continue;
    const std::string name = fmt::format("{}_{}", prefix, upper(field.spec->name));
    text += define(name + "_BIT", field.slot.bit, field.spec->doc);
    text += define(name + "_WIDTH", field.slot.width);
  }
  return text;
}

}  // namespace

std::string emit_c_header(const HardwareConfig& config) {
  const Encoding encoding = config.encoding();
  std::string text = fmt::format(
      "/* Generated from isa/spec by `dovetail isa --format c --hw {}`. Do not edit. */\n#ifndef "
      "DOVETAIL_ISA_H\n#define DOVETAIL_ISA_H\n\n/* The design "
      "point {}. */\n",
      config.name, config.name);
  for (const emit::Constant& row : emit::config_constants(config)) text += define(row.name, row.value, row.doc);

  text += "\n/* Encodings. */\n";
  for (const spec::InstructionSpec& row : spec::kInstructions)
    text += define("OPCODE_" + upper(row.name), static_cast<int>(row.opcode));
  for (const spec::MemoryInfo& row : spec::kMemories)
    text += define("MEMORY_" + upper(row.name), static_cast<int>(row.id), row.doc);
  for (const spec::AluOpInfo& row : spec::kAluOps)
    text += define("ALU_" + upper(row.name), static_cast<int>(row.op), row.doc);

  text += "\n/* Fields: bit k of an instruction is bit k % 64 of its little-endian 64-bit word k / 64. */\n";
  for (const spec::InstructionSpec& row : spec::kInstructions)
    text += fields(upper(row.name), emit::placed_fields(row.opcode, config, encoding));
  text += fields("UOP", emit::placed_uop_fields(config, encoding));

  text += "\n/* Timing. */\n";
  for (const spec::TimingConstant& row : spec::kTimingConstants)
    text += define("TIMING_" + upper(row.name), row.value, fmt::format("{}: {}", row.unit, row.doc));

  text += "\n/* AXI4-Lite registers: byte offsets, masks, reset values. */\n";
  text += define("REG_WINDOW_BYTES", static_cast<std::int64_t>(spec::kRegisterWindowBytes));
  for (const spec::Register& row : spec::kRegisters) {
    text += define(fmt::format("REG_{}", row.name), fmt::format("0x{:03x}u", row.offset), row.doc);
    text += define(fmt::format("REG_{}_RESET", row.name), fmt::format("0x{:08x}u", row.reset(config)));
    for (const spec::RegisterField& field : row.fields) {
      const std::string name = fmt::format("REG_{}_{}", row.name, upper(field.name));
      text += define(name + "_SHIFT", field.bit, fmt::format("{}: {}", spec::name(field.access), field.doc));
      text += define(name + "_MASK", fmt::format("0x{:08x}u", spec::Slot{field.bit, field.width}.mask() << field.bit));
    }
  }
  for (const spec::ErrorCodeInfo& row : spec::kErrorCodes)
    text += define("ERROR_" + upper(row.name), static_cast<int>(row.code), row.doc);
  return text + "\n#endif\n";
}

}  // namespace dovetail::isa
