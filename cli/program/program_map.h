// map.json: what is stored where in a program's memory image, and where its instructions come from. `asm` and `compile
// --emit` write it, the commands that take programs read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/program/source_lines.h"
#include "isa/config.h"
#include "isa/text.h"
#include "isa/verify.h"

namespace dovetail::cli {

struct ProgramMap {
  isa::HardwareConfig hardware;
  std::uint64_t image_base = 0, image_bytes = 0;
  std::size_t instructions = 0;
  std::vector<isa::Launch> launches;
  std::vector<isa::Symbol> symbols;
  SourceLines source;
  // Of a region of a model: where the image holds the program, and which names are its tensors.
  std::optional<std::uint64_t> program_base = std::nullopt;
  std::vector<std::string> inputs = {}, outputs = {};
};

// {"kind": "program map", "hardware", "instructions", "launches": [{"begin", "count"}], "image": {"base", "bytes"},
// "symbols": [{"name", "kind", "value", "bytes", "type", "shape", "line"}], "source": {"file", "lines": [[line, used
// line, how many instructions], ...]}}; of a region also "program_base", "inputs" and "outputs".
Json to_json(const ProgramMap& map);
// Errors: what is missing, malformed, or not within the program and the image.
Result<ProgramMap> program_map_from_json(const Json& json, const std::string& where);
Result<ProgramMap> read_program_map(const std::string& path);

}  // namespace dovetail::cli
