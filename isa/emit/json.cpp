#include <fmt/format.h>

#include "isa/emit/emit.h"
#include "isa/emit/tables.h"
#include "isa/spec/memories.h"
#include "isa/spec/registers.h"
#include "isa/spec/timing.h"

namespace dovetail::isa {

namespace {

Json fields_json(const std::vector<emit::PlacedField>& placed) {
  Json fields = Json::array();
  for (const emit::PlacedField& field : placed) {
    if (!field.is_present) continue;
    Json row{{"name", field.spec->name},
             {"bit", field.slot.bit},
             {"width", field.slot.width},
             {"signed", field.spec->is_signed}};
    if (field.spec->enabled_by != nullptr) row["extension"] = spec::extension_key(field.spec->enabled_by);
    row["doc"] = field.spec->doc;
    fields.push_back(std::move(row));
  }
  return fields;
}

Json memories_json(const HardwareConfig& config) {
  Json memories = Json::array();
  for (const spec::MemoryInfo& row : spec::kMemories) {
    Json memory{{"name", row.name}, {"id", static_cast<int>(row.id)}, {"load", row.loadable}, {"store", row.storable}};
    memory["queue"] = row.loadable ? emit::name(row.load_queue) : emit::name(Queue::store);
    memory["element_bytes"] = config.element_bytes(row.id);
    memory["depth"] = config.depth(row.id);
    memory["layout"] = row.layout;
    memory["doc"] = row.doc;
    memories.push_back(std::move(memory));
  }
  return memories;
}

Json registers_json(const HardwareConfig& config) {
  Json registers = Json::array();
  for (const spec::Register& row : spec::kRegisters) {
    Json fields = Json::array();
    for (const spec::RegisterField& field : row.fields)
      fields.push_back({{"name", field.name},
                        {"bit", field.bit},
                        {"width", field.width},
                        {"access", spec::name(field.access)},
                        {"doc", field.doc}});
    registers.push_back({{"name", row.name},
                         {"offset", row.offset},
                         {"reset", row.reset(config)},
                         {"doc", row.doc},
                         {"fields", std::move(fields)}});
  }
  return registers;
}

}  // namespace

std::string emit_json(const HardwareConfig& config) {
  const Encoding encoding = config.encoding();
  Json json;
  json["generated"] = fmt::format("from isa/spec by `dovetail isa --format json --hw {}`", config.name);
  json["config"] = config_to_json(config);
  json["encoding"] = emit::name(encoding);
  json["instruction_bits"] = 8 * config.instruction_bytes();
  json["uop_bits"] = 8 * config.uop_bytes();
  json["memories"] = memories_json(config);
  json["instructions"] = Json::array();
  for (const spec::InstructionSpec& row : spec::kInstructions)
    json["instructions"].push_back({{"name", row.name},
                                    {"opcode", static_cast<int>(row.opcode)},
                                    {"doc", row.doc},
                                    {"fields", fields_json(emit::placed_fields(row.opcode, config, encoding))}});
  json["uop"] = fields_json(emit::placed_uop_fields(config, encoding));
  json["alu_operations"] = Json::array();
  for (const spec::AluOpInfo& row : spec::kAluOps)
    json["alu_operations"].push_back({{"name", row.name},
                                      {"code", static_cast<int>(row.op)},
                                      {"enabled", spec::is_enabled(row, config)},
                                      {"kind", name(row.kind)},
                                      {"source_elements", row.source_elements},
                                      {"vector_cycles", row.vector_cycles->value},
                                      {"of_row", row.scope == spec::AluScope::row},
                                      {"cycles_per_batch_row", row.serial},
                                      {"commutes", row.commutes},
                                      {"immediate", row.immediate.word},
                                      {"doc", row.doc}});
  json["timing"] = Json::array();
  for (const spec::TimingConstant& row : spec::kTimingConstants)
    json["timing"].push_back({{"name", row.name}, {"value", row.value}, {"unit", row.unit}, {"doc", row.doc}});
  json["registers"] = registers_json(config);
  json["error_codes"] = Json::array();
  for (const spec::ErrorCodeInfo& row : spec::kErrorCodes)
    json["error_codes"].push_back({{"name", row.name}, {"code", static_cast<int>(row.code)}, {"doc", row.doc}});
  return json.dump(2) + "\n";
}

}  // namespace dovetail::isa
