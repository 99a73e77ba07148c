// The SystemVerilog package. Yosys 0.23 sets the style: no imports, no unpacked or multi-dimensional constants, names
// written pkg::NAME.
#include <algorithm>
#include <bit>

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

// The set of operations for which `belongs` is true, as a bit vector indexed by alu_opcode.
template <typename Belongs>
std::string alu_set(std::string_view name, Belongs&& belongs, std::string_view doc) {
  std::string bits;
  for (std::size_t op = spec::kMaxAluOps; op-- > 0;)
    bits += op < spec::kAluOps.size() && belongs(spec::kAluOps[op]) ? '1' : '0';
  return fmt::format("  localparam logic [{}:0] ALU_SET_{} = {}'b{};{}\n", spec::kMaxAluOps - 1, name, spec::kMaxAluOps,
                     bits, comment(doc));
}

std::string alu_sets(const HardwareConfig& config) {
  using spec::AluOpInfo;
  const auto is_enabled = [&](const AluOpInfo& row) { return spec::is_enabled(row, config); };
  const auto is_long = [](const AluOpInfo& row) { return row.kind == spec::AluKind::alu_long; };
  const auto takes_immediate = [](const AluOpInfo& row) { return spec::takes_immediate(row.op); };
  const auto reads_next = [](const AluOpInfo& row) { return row.source_elements > 1; };
  return "  // Sets of ALU operations: bit k is operation k.\n" +
         alu_set("ENABLED", is_enabled, "available at this design point") +
         alu_set("LONG", is_long, "kind alu_long, the others alu") +
         alu_set("IMMEDIATE", takes_immediate, "second operand is imm if use_imm is 1") +
         alu_set("READS_NEXT", reads_next, "read acc[src + 1] after acc[src]") + "\n";
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
    // The field has the enumeration's type, so that the design needs no cast, which Yosys does not support, and a case
    // over it is visibly complete.
    if (name == "alu_opcode") text += fmt::format("    alu_op_e {};\n", name);
    else text += fmt::format("    logic {}[{}:0] {};\n", is_signed ? "signed " : "", bits - 1, name);
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

// Structs shared by several modules of the design.
std::string bundles(const HardwareConfig& config) {
  const auto index_bits = [&](Memory memory) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(config.depth(memory)))) - 1;
  };
  const int acc = index_bits(Memory::acc), inp = index_bits(Memory::inp), wgt = index_bits(Memory::wgt);
  return fmt::format(
      "  // A step of GEMM or ALU, from stage X to the pipes.\n"
      "  typedef struct packed {{\n"
      "    logic empty;  // the instruction has no steps: it reads and writes nothing\n"
      "    logic first;  // first step of its instruction\n"
      "    logic last;\n"
      "    logic gemm;\n"
      "    logic reset;\n"
      "    logic overwrite;\n"
      "    logic use_imm;  // the second operand is imm\n"
      "    alu_op_e op;\n"
      "    logic [15:0] imm;\n"
      "    logic [{}:0] dst;\n"
      "    logic [{}:0] src;  // index into INP or ACC\n"
      "    logic [{}:0] wgt;\n"
      "  }} step_t;\n\n"
      "  // A burst that a unit asks the read port for.\n"
      "  typedef struct packed {{\n"
      "    logic valid;\n"
      "    logic [{}:0] addr;\n"
      "    logic [8:0] beats;\n"
      "  }} burst_t;\n\n"
      "  typedef struct packed {{\n"
      "    logic [1:0] resp;\n"
      "    logic [{}:0] data;\n"
      "  }} beat_t;\n\n"
      "  // The head of a command queue.\n"
      "  typedef struct packed {{\n"
      "    logic valid;\n"
      "    logic [31:0] index;  // index of the instruction in its program\n"
      "    logic [{}:0] instr;\n"
      "  }} command_t;\n\n"
      "  // The token FIFOs between a unit and a neighbor: their state, and the unit's request.\n"
      "  typedef struct packed {{\n"
      "    logic available;  // a token to pop\n"
      "    logic room;  // room for a token to push\n"
      "  }} tokens_t;\n\n"
      "  typedef struct packed {{\n"
      "    logic pop;\n"
      "    logic push;\n"
      "  }} token_use_t;\n\n"
      "  // An error that stops a launch.\n"
      "  typedef struct packed {{\n"
      "    logic valid;\n"
      "    logic [3:0] code;\n"
      "    logic [31:0] index;  // index of the instruction that caused it\n"
      "  }} error_t;\n\n",
      acc - 1, std::max(acc, inp) - 1, wgt - 1, config.address_bits - 1, 8 * config.bus_bytes - 1,
      8 * config.instruction_bytes() - 1);
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
  text += enumeration("alu_op_e", 3, values) + alu_sets(config);
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

  text += bundles(config);
  text += "  // Timing.\n";
  for (const spec::TimingConstant& row : spec::kTimingConstants)
    text += constant("TIMING_" + upper(row.name), row.value, fmt::format("{}: {}", row.unit, row.doc));

  text += "\n  // AXI4-Lite registers.\n" + registers(config);
  return text + "\nendpackage : dovetail_isa_pkg\n";
}

}  // namespace dovetail::isa
