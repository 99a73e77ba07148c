// docs/gen/isa.md: the reference of the instruction set.
#include <fmt/format.h>

#include "isa/emit/emit.h"
#include "isa/emit/tables.h"
#include "isa/spec/memories.h"
#include "isa/spec/registers.h"
#include "isa/spec/timing.h"
#include "isa/text/grammar.h"

namespace dovetail::isa {

namespace {

using emit::PlacedField;

// Escapes bars: an unescaped bar would end the cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string row(std::initializer_list<std::string_view> cells) {
  std::string text = "|";
  for (const std::string_view entry : cells) text += fmt::format(" {} |", cell(entry));
  return text + "\n";
}

std::string header(std::initializer_list<std::string_view> cells) {
  std::string text = row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) text += "---|";
  return text + "\n";
}

std::string bit_range(int bit, int width) {
  return width == 1 ? fmt::format("{}", bit) : fmt::format("{}-{}", bit, bit + width - 1);
}

// One table for all instructions except FINISH, whose table is trivial: bits at this configuration, and the width rule
// if it is not a constant.
std::string field_table(const std::vector<PlacedField>& fields, Encoding encoding) {
  std::string text = header({"bits", "field", "width", "meaning"});
  for (const PlacedField& field : fields) {
    const bool is_extension = field.spec->enabled_by != nullptr;
    const std::string rule = emit::width_rule(field.spec->width, encoding);
    const std::string number = fmt::format("{}", field.slot.width);
    std::string meaning(field.spec->doc);
    if (field.spec->is_signed) meaning += "; signed";
    if (is_extension)
      meaning += fmt::format("; extension `{}`{}", spec::extension_key(field.spec->enabled_by),
                             field.is_present ? "" : ", off here: reserved");
    text += row({bit_range(field.slot.bit, field.slot.width), fmt::format("`{}`", field.spec->name),
                 rule == number ? number : fmt::format("{} = {}", number, rule), meaning});
  }
  return text + "\n";
}

std::string parameter_section() {
  std::string text =
      "## Parameters\n\nKeys of a configuration file and of `.config` lines. A missing key has its default.\n\n";
  text += header({"key", "default", "range", "unit", "meaning"});
  const HardwareConfig defaults;
  for (const spec::Parameter& p : spec::kParameters)
    text +=
        row({fmt::format("`{}`", p.key), fmt::format("{}", defaults.*p.member),
             fmt::format("{} to {}{}", p.minimum, p.maximum, p.power_of_two ? ", power of two" : ""), p.unit, p.doc});
  for (const spec::Extension& e : spec::kExtensions)
    text += row({fmt::format("`{}`", e.key), "false", "true, false", "extension", e.doc});
  text += fmt::format(
      "\nAn element of any memory has at most {} bytes, every buffer at least {} elements, and `outstanding_beats` is "
      "at least `burst_beats`.\n\n",
      spec::kMaxElementBytes, spec::kMinDepth);
  text +=
      "VTA's `vta_config.json` is accepted, too. Its keys hold base-2 logarithms:\n\n" + header({"VTA key", "sets"});
  for (const spec::VtaKey& key : spec::kVtaKeys) {
    const std::string effect = key.kind == spec::VtaKey::Kind::fixed ? fmt::format("must be {}: {}", key.value, key.doc)
                               : key.kind == spec::VtaKey::Kind::ignored ? fmt::format("nothing: {}", key.doc)
                                                                         : std::string(key.doc);
    text += row({fmt::format("`{}`", key.key), effect});
  }
  text += "\nNamed configurations:\n\n" + header({"name", "encoding", "UOP", "INP", "WGT", "ACC", "extensions"});
  for (const HardwareConfig& config : named_configs()) {
    std::string extensions;
    for (const spec::Extension& e : spec::kExtensions)
      if (config.*e.member) extensions += fmt::format("{}{}", extensions.empty() ? "" : ", ", e.key);
    const auto size = [&](Memory memory) {
      return fmt::format("{} x {} B", config.depth(memory), config.element_bytes(memory));
    };
    text += row({fmt::format("`{}`", config.name), emit::name(config.encoding()), size(Memory::uop), size(Memory::inp),
                 size(Memory::wgt), size(Memory::acc), extensions});
  }
  return text + "\n";
}

std::string memory_section(const HardwareConfig& config) {
  std::string text =
      "## Memories\n\n`sram_base` and `dram_base` count elements of the memory that the instruction names; `dram_base` "
      "is the physical byte "
      "address divided by the element's bytes. Loads go to the queue given here, stores to the store queue.\n\n";
  text += header({"id", "name", "instruction", "queue", "element bytes", "here", "depth here", "element"});
  for (const spec::MemoryInfo& m : spec::kMemories)
    text += row({fmt::format("{}", static_cast<int>(m.id)), fmt::format("`{}`", m.name), m.loadable ? "LOAD" : "STORE",
                 m.loadable ? emit::name(m.load_queue) : emit::name(Queue::store), m.element_rule,
                 fmt::format("{}", config.element_bytes(m.id)),
                 fmt::format("{}{}", config.depth(m.id), m.buffer == m.id ? "" : " (ACC)"), m.layout});
  return text + "\n";
}

std::string encoding_section(const HardwareConfig& config) {
  std::string text = "## Encoding\n\n";
  text +=
      "Instructions and micro-ops are little-endian. A field follows the one before it, and one that would straddle a "
      "multiple of 64 bits moves up to "
      "it. Bits that no field covers are reserved and must be 0; of a micro-op they are ignored. The compact form has "
      "128-bit instructions and "
      "32-bit micro-ops, bit for bit VTA's. A configuration whose fields do not fit it (or whose buffers or addresses "
      "its `sram_base` and "
      "`dram_base` cannot reach) has the wide form: 256-bit instructions and 64-bit micro-ops, with the same widths "
      "for every configuration. An "
      "extension's bit has a fixed place, and is reserved while the extension is off.\n\n";
  text += fmt::format(
      "The tables hold for `{}` ({} form). Dependency flags: the queues are in the order load, compute, store. An "
      "instruction takes "
      "all its tokens in one cycle before it starts and gives them when it is done.\n\n",
      config.name, emit::name(config.encoding()));
  text += header({"opcode", "instruction", "queue", "what it does"});
  for (const spec::InstructionSpec& i : spec::kInstructions) {
    const std::string_view queue = i.opcode == Opcode::load    ? "by memory"
                                   : i.opcode == Opcode::store ? "store"
                                                               : "compute";
    text += row({fmt::format("{}", static_cast<int>(i.opcode)), emit::upper(i.name), queue, i.doc});
  }
  text += "\n";
  for (const spec::InstructionSpec& i : spec::kInstructions) {
    text += fmt::format("### {}\n\n", emit::upper(i.name));
    text += field_table(emit::placed_fields(i.opcode, config, config.encoding()), config.encoding());
    for (const spec::Reservation& r : spec::kReservations)
      if (r.opcode == i.opcode)
        text += fmt::format("Kept for extensions to come: {} ({}).\n\n",
                            bit_range(r.first_bit, r.last_bit - r.first_bit + 1), r.purpose);
  }
  text += "### Micro-op\n\n" + field_table(emit::placed_uop_fields(config, config.encoding()), config.encoding());
  text +=
      "For y < iter_out, x < iter_in and each micro-op in [uop_begin, uop_end), in this order, every index is "
      "`uop.index + y * factor_out + x * "
      "factor_in`, in full precision. An index at or beyond the depth of its memory is illegal.\n\n";

  const HardwareConfig wide = *load_config("1x16x16-wide");
  text += "### Wide form\n\nEvery extension on; opcode and flags in bits 0-6 as above.\n\n" +
          header({"bits", "LOAD, STORE", "GEMM", "ALU", "micro-op"});
  const auto places = [&](std::vector<PlacedField> fields) {
    std::erase_if(fields, [](const PlacedField& field) {
      return field.slot.bit < spec::kHeaderBits && field.spec->width.wide < 8;
    });
    return fields;
  };
  const std::vector<PlacedField> columns[] = {places(emit::placed_fields(Opcode::store, wide, Encoding::wide)),
                                              places(emit::placed_fields(Opcode::gemm, wide, Encoding::wide)),
                                              places(emit::placed_fields(Opcode::alu, wide, Encoding::wide)),
                                              emit::placed_uop_fields(wide, Encoding::wide)};
  for (int word = 0; word < spec::kMaxWords; ++word) {
    std::string cells[4];
    for (std::size_t column = 0; column < 4; ++column)
      for (const PlacedField& field : columns[column])
        if (field.slot.word() == word)
          cells[column] += fmt::format("{}`{}` {}", cells[column].empty() ? "" : ", ", field.spec->name,
                                       bit_range(field.slot.bit, field.slot.width));
    text += row({fmt::format("{}-{}", 64 * word, 64 * word + 63), cells[0], cells[1], cells[2], cells[3]});
  }
  return text + "\n";
}

std::string alu_section() {
  std::string text =
      "## ALU operations\n\na = acc[dst], b = use_imm ? imm : acc[src]; lane by lane, int32. An operation's number is "
      "alu_opcode + 8 * "
      "alu_opcode_high.\n\n";
  text += header({"code", "operation", "acc[dst] becomes", "kind", "reads from src on", "cycles as vector", "commutes",
                  "extension"});
  for (const spec::AluOpInfo& op : spec::kAluOps)
    text += row({fmt::format("{}", static_cast<int>(op.op)), emit::upper(op.name), op.doc, spec::name(op.kind),
                 fmt::format("{}", op.source_elements),
                 fmt::format("{}{}", op.vector_cycles->value, op.serial ? " · batch" : ""), op.commutes ? "yes" : "",
                 op.enabled_by == nullptr ? std::string_view("") : spec::extension_key(op.enabled_by)});
  text +=
      "\nWhat kinds and cycles mean is the subject of docs/reference/timing.md, section 9. An operation commutes where "
      "op(a, b) "
      "= "
      "op(b, a).\n\n";
  for (const spec::AluOpInfo& op : spec::kAluOps)
    if (!op.notes.empty()) text += fmt::format("{}\n\n", op.notes);
  return text;
}

std::string timing_section() {
  std::string text = "## Timing constants\n\nHow they combine is the subject of docs/reference/timing.md.\n\n" +
                     header({"constant", "value", "unit", "meaning"});
  for (const spec::TimingConstant& t : spec::kTimingConstants)
    text += row({fmt::format("`{}`", t.name), fmt::format("{}", t.value), t.unit, t.doc});
  return text + "\n";
}

std::string register_section(const HardwareConfig& config) {
  std::string text = fmt::format(
      "## Registers\n\nAXI4-Lite, 32 bits each, byte offsets in a window of {} bytes. RW: read and write; RO: writes "
      "have no effect; W1S: writing 1 acts, "
      "reads 0; W1C: writing 1 clears. Bits without a field read 0. Any other offset answers SLVERR.\n\n",
      spec::kRegisterWindowBytes);
  text += header({"offset", "register", "bits", "field", "access", "reset", "meaning"});
  for (const spec::Register& r : spec::kRegisters) {
    text += row({fmt::format("0x{:02x}", r.offset), fmt::format("`{}`", r.name), "", "", "",
                 fmt::format("0x{:08x}", r.reset(config)), r.doc});
    for (const spec::RegisterField& f : r.fields)
      text += row({"", "", bit_range(f.bit, f.width), fmt::format("`{}`", f.name), spec::name(f.access), "", f.doc});
  }
  text += "\nError codes:\n\n" + header({"code", "name", "meaning"});
  for (const spec::ErrorCodeInfo& e : spec::kErrorCodes)
    text += row({fmt::format("{}", static_cast<int>(e.code)), e.name, e.doc});
  return text + "\n";
}

std::string assembly_section() {
  return fmt::format("## Assembly\n\n```text\n{}\n```\n\nExample:\n\n```asm\n{}```\n", text::grammar(), text::kExample);
}

}  // namespace

std::string emit_markdown(const HardwareConfig& config) {
  std::string command = "dovetail isa --format markdown";
  if (config != HardwareConfig{}) command += " --hw " + config.name;
  return fmt::format("<!-- Generated from isa/spec by `{}`. Do not edit. -->\n\n# Instruction set reference\n\n",
                     command) +
         parameter_section() + memory_section(config) + encoding_section(config) + alu_section() + timing_section() +
         register_section(config) + assembly_section();
}

}  // namespace dovetail::isa
