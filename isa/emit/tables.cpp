#include "isa/emit/tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "isa/spec/memories.h"

namespace dovetail::isa::emit {

namespace {

void append(std::vector<PlacedField>& placed, std::span<const spec::FieldSpec> fields, const spec::Layout& layout) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool is_present = layout.slots[i].width > 0;
    const spec::Slot slot =
        is_present ? layout.slots[i] : spec::Slot{fields[i].fixed_bit.value_or(0), fields[i].width.compact};
    placed.push_back({&fields[i], slot, is_present});
  }
}

}  // namespace

std::vector<PlacedField> placed_fields(Opcode opcode, const HardwareConfig& config, Encoding encoding) {
  std::vector<PlacedField> placed{{&spec::kOpcodeField, spec::kOpcodeSlot, true}};
  for (std::size_t i = 0; i < spec::kFlagSpecs.size(); ++i)
    placed.push_back({&spec::kFlagSpecs[i], spec::flag_slot(i), true});
  append(placed, spec::info(opcode).fields, spec::instruction_layout(opcode, config, encoding));
  return placed;
}

std::vector<PlacedField> placed_uop_fields(const HardwareConfig& config, Encoding encoding) {
  std::vector<PlacedField> placed;
  append(placed, spec::kUopSpecs, spec::uop_layout(config, encoding));
  return placed;
}

std::string width_rule(spec::Width width, Encoding encoding) {
  if (encoding == Encoding::wide) return fmt::format("{}", width.wide);
  switch (width.rule) {
    case spec::Width::Rule::fixed: return fmt::format("{}", width.compact);
    case spec::Width::Rule::uop_index: return "log2(UOP depth)";
    case spec::Width::Rule::uop_end: return "log2(UOP depth) + 1";
    case spec::Width::Rule::inp_index: return "log2(INP depth)";
    case spec::Width::Rule::wgt_index: return "log2(WGT depth)";
    case spec::Width::Rule::acc_index: return "log2(ACC depth)";
    case spec::Width::Rule::src_index: return "log2(max(ACC depth, INP depth))";
  }
  return {};
}

std::vector<std::uint64_t> reserved_words(const std::vector<PlacedField>& fields, Encoding encoding) {
  std::vector<std::uint64_t> words(encoding == Encoding::compact ? 2 : 4, ~std::uint64_t{0});
  for (const PlacedField& field : fields)
    if (field.is_present)
      words[static_cast<std::size_t>(field.slot.word())] &= ~(field.slot.mask() << field.slot.shift());
  return words;
}

std::string fill(std::string_view pattern, const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string text(pattern);
  for (const auto& [name, value] : values) {
    const std::string mark = fmt::format("@{}@", name);
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += value.size())
      text.replace(at, mark.size(), value);
  }
  return text;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return result;
}

std::string_view name(Encoding encoding) { return encoding == Encoding::compact ? "compact" : "wide"; }

std::string_view name(Queue queue) {
  switch (queue) {
    case Queue::load: return "load";
    case Queue::compute: return "compute";
    case Queue::store: return "store";
  }
  return {};
}

std::vector<Constant> config_constants(const HardwareConfig& config) {
  const auto log2 = [](std::int64_t value) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
  };
  std::vector<Constant> constants;
  for (const spec::Parameter& row : spec::kParameters) {
    constants.push_back({upper(row.key), config.*row.member, fmt::format("{}: {}", row.unit, row.doc)});
    if (row.power_of_two) constants.push_back({upper(row.key) + "_LOG2", log2(config.*row.member), ""});
  }
  for (const spec::Extension& row : spec::kExtensions)
    constants.push_back({upper(row.key) + "_ENABLED", config.*row.member ? 1 : 0, std::string(row.doc)});
  constants.push_back(
      {"LONGEST_BURST_BEATS", config.longest_burst_beats(), "beats: BURST_BEATS, limited to what a beat buffer holds"});
  constants.push_back(
      {"WIDE_ENCODING", config.encoding() == Encoding::wide ? 1 : 0, "256-bit instructions and 64-bit micro-ops"});
  constants.push_back({"INSTRUCTION_BITS", 8 * config.instruction_bytes(), ""});
  constants.push_back({"INSTRUCTION_BYTES", config.instruction_bytes(), ""});
  constants.push_back({"UOP_BITS", 8 * config.uop_bytes(), ""});
  constants.push_back({"INP_LANE_BITS", spec::kInpBits, ""});
  constants.push_back({"WGT_LANE_BITS", spec::kWgtBits, ""});
  constants.push_back({"ACC_LANE_BITS", spec::kAccBits, ""});
  constants.push_back({"OUT_LANE_BITS", spec::kOutBits, ""});
  for (const spec::MemoryInfo& row : spec::kMemories) {
    const std::string memory = upper(row.name);
    constants.push_back(
        {memory + "_ELEMENT_BYTES", config.element_bytes(row.id), fmt::format("in DRAM: {}", row.element_rule)});
    constants.push_back({memory + "_ELEMENT_BYTES_LOG2", log2(config.element_bytes(row.id)), ""});
    if (row.buffer != row.id) continue;
    constants.push_back({memory + "_DEPTH", config.depth(row.id), fmt::format("{} on chip", row.doc)});
    constants.push_back({memory + "_DEPTH_LOG2", log2(std::max<std::int64_t>(1, config.depth(row.id))), ""});
  }
  return constants;
}

}  // namespace dovetail::isa::emit
