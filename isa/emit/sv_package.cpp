// The SystemVerilog package. Yosys 0.23 sets the style: no imports, no unpacked or multi-dimensional constants, names
// written pkg::NAME.
#include <fmt/format.h>

#include "isa/emit/emit.h"
#include "isa/emit/tables.h"
#include "isa/spec/memories.h"
#include "isa/spec/registers.h"
#include "isa/spec/timing.h"

namespace dovetail::isa {

namespace {

using emit::PlacedField;
using emit::upper;

std::string comment(std::string_view doc) { return doc.empty() ? std::string() : fmt::format("  // {}", doc); }

// 64-bit values do not fit `int unsigned`.
std::string constant(std::string_view name, std::int64_t value, std::string_view doc = {}) {
  if (value > INT32_MAX || value < INT32_MIN)
    return fmt::format("  localparam logic [63:0] {} = 64'd{};{}\n", name, value, comment(doc));
  return fmt::format("  localparam int unsigned {} = {};{}\n", name, value, comment(doc));
}

std::string enumeration(std::string_view type, int bits, const std::vector<std::pair<std::string, int>>& values) {
  std::string text = fmt::format("  typedef enum logic [{}:0] {{\n", bits - 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    text +=
        fmt::format("    {} = {}'d{}{}\n", values[i].first, bits, values[i].second, i + 1 == values.size() ? "" : ",");
  return text + fmt::format("  }} {};\n\n", type);
}

std::string sv_fields(std::string_view prefix, const std::vector<PlacedField>& placed) {
  std::string text;
  for (const PlacedField& field : placed) {
    const std::string name = fmt::format("{}_{}", prefix, upper(field.spec->name));
    text += constant(name + "_LSB", field.slot.bit, field.spec->doc);
    text += constant(name + "_WIDTH", field.slot.width);
    if (field.spec->enabled_by != nullptr)
      text +=
          constant(name + "_PRESENT", field.is_present ? 1 : 0, "0: the bit is reserved or belongs to another field");
  }
  return text;
}

std::string reserved_mask(std::string_view prefix, const std::vector<PlacedField>& placed, Encoding encoding) {
  const std::vector<std::uint64_t> words = emit::reserved_words(placed, encoding);
  std::string digits;
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    digits += fmt::format("{}{:016x}", digits.empty() ? "" : "_", *word);
  return fmt::format("  localparam logic [{}:0] {}_RESERVED = {}'h{};  // bits that must be 0\n", 64 * words.size() - 1,
                     prefix, 64 * words.size(), digits);
}

// A packed struct is written from its highest bit down.
std::string packed_struct(std::string_view type, const std::vector<PlacedField>& placed, int total_bits) {
  std::vector<const PlacedField*> base;
  for (const PlacedField& field : placed)
    if (field.is_present && field.spec->enabled_by == nullptr) base.push_back(&field);
  std::string text = "  typedef struct packed {\n";
  int top = total_bits;
  int gap = 0;
  const auto member = [&](int bits, bool is_signed, std::string_view name) {
    text += fmt::format("    logic {}[{}:0] {};\n", is_signed ? "signed " : "", bits - 1, name);
  };
  const auto fill = [&](int down_to) {
    if (down_to < top) member(top - down_to, false, fmt::format("reserved_{}", gap++));
    top = down_to;
  };
  for (auto field = base.rbegin(); field != base.rend(); ++field) {
    fill((*field)->slot.bit + (*field)->slot.width);
    member((*field)->slot.width, (*field)->spec->is_signed, (*field)->spec->name);
    top = (*field)->slot.bit;
  }
  fill(0);
  return text + fmt::format("  }} {};\n\n", type);
}

std::string registers(const HardwareConfig& config) {
  std::string text = constant("REG_WINDOW_BYTES", spec::kRegisterWindowBytes);
  for (const spec::Register& row : spec::kRegisters) {
    text += fmt::format("  localparam logic [11:0] REG_{}_OFFSET = 12'h{:03x};{}\n", row.name, row.offset,
                        comment(row.doc));
    text += fmt::format("  localparam logic [31:0] REG_{}_RESET = 32'h{:08x};\n", row.name, row.reset(config));
    for (const spec::RegisterField& field : row.fields) {
      text += constant(fmt::format("REG_{}_{}_LSB", row.name, upper(field.name)), field.bit,
                       fmt::format("{}: {}", name(field.access), field.doc));
      text += constant(fmt::format("REG_{}_{}_WIDTH", row.name, upper(field.name)), field.width);
    }
  }
  return text;
}

}  // namespace

std::string emit_sv_package(const HardwareConfig& config) {
  const Encoding encoding = config.encoding();
  std::string text = fmt::format(
      "// Generated from isa/spec by `dovetail isa --format sv --hw {}`. Do not edit.\n// Use as "
      "dovetail_isa_pkg::NAME; a struct is never an array "
      "element.\npackage dovetail_isa_pkg;\n\n  // The design point {}.\n",
      config.name, config.name);
  for (const emit::Constant& row : emit::config_constants(config)) text += constant(row.name, row.value, row.doc);

  text += "\n  // Encodings.\n";
  std::vector<std::pair<std::string, int>> values;
  for (const spec::InstructionSpec& row : spec::kInstructions)
    values.emplace_back("OPCODE_" + upper(row.name), static_cast<int>(row.opcode));
  text += enumeration("opcode_e", 3, values);
  values.clear();
  for (const spec::MemoryInfo& row : spec::kMemories)
    values.emplace_back("MEMORY_" + upper(row.name), static_cast<int>(row.id));
  text += enumeration("memory_e", 3, values);
  values.clear();
  for (const spec::AluOpInfo& row : spec::kAluOps)
    values.emplace_back("ALU_" + upper(row.name), static_cast<int>(row.op));
  text += enumeration("alu_op_e", 3, values);
  values.clear();
  for (const spec::ErrorCodeInfo& row : spec::kErrorCodes)
    values.emplace_back("ERROR_" + upper(row.name), static_cast<int>(row.code));
  text += enumeration("error_code_e", 4, values);

  for (const spec::InstructionSpec& row : spec::kInstructions) {
    const std::vector<PlacedField> placed = emit::placed_fields(row.opcode, config, encoding);
    const std::string prefix = upper(row.name);
    text += fmt::format("  // {}\n", prefix);
    text += sv_fields(prefix, placed);
    text += reserved_mask(prefix, placed, encoding);
    text += packed_struct(fmt::format("{}_t", row.name), placed, static_cast<int>(8 * config.instruction_bytes()));
  }
  const std::vector<PlacedField> uop = emit::placed_uop_fields(config, encoding);
  text +=
      "  // Micro-op\n" + sv_fields("UOP", uop) + packed_struct("uop_t", uop, static_cast<int>(8 * config.uop_bytes()));

  text += "  // Timing.\n";
  for (const spec::TimingConstant& row : spec::kTimingConstants)
    text += constant("TIMING_" + upper(row.name), row.value, fmt::format("{}: {}", row.unit, row.doc));

  text += "\n  // AXI4-Lite registers.\n" + registers(config);
  return text + "\nendpackage : dovetail_isa_pkg\n";
}

}  // namespace dovetail::isa
