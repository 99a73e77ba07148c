// map.json: the addresses of data in a program's memory image, and the source lines of its instructions. `asm` and
// `compile --emit` write it, the commands that run programs read it.
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
  // Only for a region of a model: the address of the program in the image, and the names of its tensors.
  std::optional<std::uint64_t> program_base = std::nullopt;
  std::vector<std::string> inputs = {}, outputs = {};
};

// {"kind": "program map", "hardware", "instructions", "launches": [{"begin", "count"}], "image": {"base", "bytes"},
// "symbols": [{"name", "kind", "value", "bytes", "type", "shape", "line"}], "source": {"file", "lines": [[line, used
// line, number of instructions], ...]}}; for a region also "program_base", "inputs" and "outputs".
Json to_json(const ProgramMap& map);
// Errors: members that are missing, malformed, or outside the program or the image.
Result<ProgramMap> program_map_from_json(const Json& json, const std::string& where);
Result<ProgramMap> read_program_map(const std::string& path);

}  // namespace dovetail::cli
