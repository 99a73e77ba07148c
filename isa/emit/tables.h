// Table data shared by all emitters: fields with their bit positions, at one configuration.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/spec/layout.h"

namespace dovetail::isa::emit {

struct PlacedField {
  const spec::FieldSpec* spec;
  spec::Slot slot;  // the position that the extension would have, if it is off
  bool is_present;
};

// All fields in table order, including opcode and flags.
std::vector<PlacedField> placed_fields(Opcode opcode, const HardwareConfig& config, Encoding encoding);
std::vector<PlacedField> placed_uop_fields(const HardwareConfig& config, Encoding encoding);

// "log2(ACC depth)", or a number where the rule is fixed.
std::string width_rule(spec::Width width, Encoding encoding);

// The bits of each 64-bit word that no present field covers.
std::vector<std::uint64_t> reserved_words(const std::vector<PlacedField>& fields, Encoding encoding);

std::string upper(std::string_view text);
std::string_view name(Encoding encoding);
std::string_view name(Queue queue);

// A template with @NAME@ of each pair replaced.
std::string fill(std::string_view pattern, const std::vector<std::pair<std::string_view, std::string>>& values);

struct Constant {
  std::string name;  // upper case
  std::int64_t value;
  std::string doc;
};
// Parameters, extensions (0 or 1) and everything derived from them.
std::vector<Constant> config_constants(const HardwareConfig& config);

}  // namespace dovetail::isa::emit
