// The SystemVerilog package. Yosys 0.23 sets the style: no unpacked or multi-dimensional constants. It has no import
// either: scripts that run it make the package's declarations global (hw/syn).

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
  const auto of_row = [](const AluOpInfo& row) { return row.scope == spec::AluScope::row; };
  const auto is_serial = [](const AluOpInfo& row) { return row.serial; };
  return "  // Sets of ALU operations: bit k is operation k.\n" +
         alu_set("ENABLED", is_enabled, "available at this design point") +
         alu_set("LONG", is_long, "kind alu_long, the others alu") +
         alu_set("IMMEDIATE", takes_immediate, "second operand is imm if use_imm is 1") +
         alu_set("READS_NEXT", reads_next, "read acc[src + 1] after acc[src]") +
         alu_set("ROW", of_row, "a result for each batch row of acc[dst]; acc[src] is not read") +
         alu_set("SERIAL", is_serial, "computed for one batch row after the other") +
         "  // An operation of the two fields of an instruction.\n  typedef struct packed {\n    alu_op_e op;\n  } "
         "alu_code_t;\n\n";
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

// Structs shared by several modules of the design.
constexpr std::string_view kBundles = R"(  // A step of GEMM, GEMMQ, WINDOW or ALU, from stage X to the pipes.
  localparam int unsigned SRC_INDEX_BITS =  // of INP or ACC
      INP_DEPTH_LOG2 > ACC_DEPTH_LOG2 ? INP_DEPTH_LOG2 : ACC_DEPTH_LOG2;
  typedef struct packed {
    logic empty;  // the instruction has no steps: it reads and writes nothing
    logic first;  // first step of its instruction
    logic last;
    logic gemm;  // of GEMM, GEMMQ or WINDOW
    logic reset;
    logic overwrite;
    logic window;  // of WINDOW
    logic push;  // of WINDOW, without products
    logic requant;  // of an instruction with an epilogue
    logic parameters;  // reads those of the epilogue
    logic use_imm;  // no operand is read: the second is imm, or there is none
    alu_op_e op;
    logic [15:0] imm;
    logic [ACC_DEPTH_LOG2-1:0] dst;
    logic [SRC_INDEX_BITS-1:0] src;
    logic [WGT_DEPTH_LOG2-1:0] wgt;
  } step_t;

  // A burst that a unit requests from the read port, or hands to the write port.
  typedef struct packed {
    logic valid;
    logic [ADDRESS_BITS-1:0] addr;
    logic [7:0] len;  // beats - 1
  } burst_t;

  // A beat of read data, from the read port to a unit.
  typedef struct packed {
    logic [1:0] resp;
    logic [8*BUS_BYTES-1:0] data;
  } beat_t;

  localparam logic [1:0] AXI_BURST_INCR = 2'b01;

  // The channels of the AXI4 memory port, as their source drives them; READY is a separate port.
  typedef struct packed {  // AR or AW
    logic valid;
    logic [ADDRESS_BITS-1:0] addr;
    logic [7:0] len;
    logic [2:0] size;
    logic [1:0] burst;
  } axi_ax_t;

  typedef struct packed {
    logic valid;
    logic [8*BUS_BYTES-1:0] data;
    logic [1:0] resp;
    logic last;
  } axi_r_t;

  typedef struct packed {
    logic valid;
    logic [8*BUS_BYTES-1:0] data;
    logic [BUS_BYTES-1:0] strb;
    logic last;
  } axi_w_t;

  typedef struct packed {  // AXI4-Lite too
    logic valid;
    logic [1:0] resp;
  } axi_b_t;

  // The channels of the AXI4-Lite register port, likewise.
  typedef struct packed {  // AR or AW
    logic valid;
    logic [11:0] addr;
  } axil_ax_t;

  typedef struct packed {
    logic valid;
    logic [31:0] data;
    logic [1:0] resp;
  } axil_r_t;

  typedef struct packed {
    logic valid;
    logic [31:0] data;
    logic [3:0] strb;
  } axil_w_t;

  // The head of a command queue.
  typedef struct packed {
    logic valid;
    logic [31:0] index;  // index of the instruction in its program
    logic [INSTRUCTION_BITS-1:0] instr;
  } command_t;

  // The token FIFOs between a unit and a neighbor: their state, and the unit's request.
  typedef struct packed {
    logic available;  // a token to pop
    logic room;  // room for a token to push
  } tokens_t;

  typedef struct packed {
    logic pop;
    logic push;
  } token_use_t;

  // An error that stops a launch.
  typedef struct packed {
    logic valid;
    error_code_e code;
    logic [31:0] index;  // index of the instruction that caused it
  } error_t;

)";

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
      "// Generated from isa/spec by `dovetail isa --format sv --hw {}`. Do not edit.\n// Yosys "
      "takes no array of these structs.\npackage dovetail_isa_pkg;\n\n  // The design point {}.\n",
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
  text += enumeration("alu_op_e", 4, values) + alu_sets(config);
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

  text += kBundles;
  text += "  // Timing.\n";
  for (const spec::TimingConstant& row : spec::kTimingConstants)
    text += constant("TIMING_" + upper(row.name), row.value, fmt::format("{}: {}", row.unit, row.doc));

  text += "\n  // AXI4-Lite registers.\n" + registers(config);
  return text + "\nendpackage : dovetail_isa_pkg\n";
}

}  // namespace dovetail::isa
