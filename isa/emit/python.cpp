// A Python module for programs that write programs: the encodings of one design point, without dependencies.
#include <fmt/format.h>

#include "isa/emit/emit.h"
#include "isa/emit/tables.h"
#include "isa/spec/memories.h"
#include "isa/spec/registers.h"

namespace dovetail::isa {

namespace {

constexpr std::string_view kRuntime = R"(

def _encode(fields, size, values):
    word = 0
    for name, bit, width, signed, low in fields:
        value = int(values[name])
        bits = sum(field[2] for field in fields if field[0] == name)
        least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        if not least <= value <= most:
            raise ValueError(f"{name} = {value}, not from {least} to {most}")
        word |= (value >> low & ((1 << width) - 1)) << bit
    return word.to_bytes(size, "little")
)";

std::string fields_text(const std::vector<emit::PlacedField>& placed) {
  std::string text = "(";
  for (const emit::PlacedField& field : placed)
    if (field.is_present)
      text += fmt::format("(\"{}\", {}, {}, {}, {}), ",
                          field.spec->continues.empty() ? field.spec->name : field.spec->continues, field.slot.bit,
                          field.slot.width, field.spec->is_signed ? "True" : "False", field.spec->held_bits);
  return text + ")";
}

// One function: its fields are keywords, 0 where they are left out. `fixed`: the opcode.
std::string function(std::string_view name, std::string_view doc, const std::vector<emit::PlacedField>& placed,
                     std::string_view size, std::string_view fixed) {
  std::string arguments;
  for (const emit::PlacedField& field : placed)
    if (field.is_present && field.spec->name != "opcode" && field.spec->continues.empty())
      arguments += fmt::format(", {}=0", field.spec->name);
  return fmt::format("\n\ndef {}(*{}):\n    \"\"\"{}\"\"\"\n    return _encode({}_FIELDS, {}, dict(locals(){}))\n",
                     name, arguments, doc, emit::upper(name), size, fixed);
}

}  // namespace

std::string emit_python(const HardwareConfig& config) {
  const Encoding encoding = config.encoding();
  std::string text = fmt::format(
      "\"\"\"Generated from isa/spec by `dovetail isa --format python --hw {}`. Do not edit.\n\nEach function returns "
      "the "
      "bytes of one instruction: program = isa.load(memory=isa.INP, y_size=1, x_size=4, x_stride=4) + isa.finish().\n"
      "\"\"\"\n\nNAME = \"{}\"\nINSTRUCTION_BYTES = {}\nUOP_BYTES = {}\n",
      config.name, config.name, config.instruction_bytes(), config.uop_bytes());
  for (const emit::Constant& row : emit::config_constants(config))
    if (row.name != "INSTRUCTION_BYTES" && row.name != "UOP_BYTES")
      text += fmt::format("{} = {}{}{}\n", row.name, row.value, row.doc.empty() ? "" : "  # ", row.doc);
  text += "\n# Memories: id, bytes of an element in DRAM, elements on chip.\n";
  for (const spec::MemoryInfo& row : spec::kMemories)
    text += fmt::format("{} = {}  # {}\n", emit::upper(row.name), static_cast<int>(row.id), row.doc);
  text += "ELEMENT_BYTES = {";
  for (const spec::MemoryInfo& row : spec::kMemories)
    text += fmt::format("{}: {}, ", emit::upper(row.name), config.element_bytes(row.id));
  text += "}\nDEPTH = {";
  for (const spec::MemoryInfo& row : spec::kMemories)
    text += fmt::format("{}: {}, ", emit::upper(row.name), config.depth(row.id));
  text += "}\n\n# Operations of the ALU.\n";
  for (const spec::AluOpInfo& row : spec::kAluOps)
    text += fmt::format("ALU_{} = {}  # {}\n", emit::upper(row.name), static_cast<int>(row.op), row.doc);
  text += "\n# Fields: name, lowest bit, width, signed, the lowest bit of the value that it holds.\n";
  for (const spec::InstructionSpec& row : spec::kInstructions)
    text += fmt::format("{}_FIELDS = {}\n", emit::upper(row.name),
                        fields_text(emit::placed_fields(row.opcode, config, encoding)));
  text += fmt::format("UOP_FIELDS = {}\n", fields_text(emit::placed_uop_fields(config, encoding)));
  text += kRuntime;
  for (const spec::InstructionSpec& row : spec::kInstructions)
    text += function(row.name, row.doc, emit::placed_fields(row.opcode, config, encoding), "INSTRUCTION_BYTES",
                     fmt::format(", opcode={}", static_cast<int>(row.opcode)));
  text += function("uop", "A micro-op: indices that GEMM and ALU add to those of their loops.",
                   emit::placed_uop_fields(config, encoding), "UOP_BYTES", "");
  text += "\n\nREGISTERS = {\n";
  for (const spec::Register& row : spec::kRegisters)
    text += fmt::format("    \"{}\": 0x{:02x},  # {}\n", row.name, row.offset, row.doc);
  return text + "}\n";
}

}  // namespace dovetail::isa
