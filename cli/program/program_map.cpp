#include "cli/program/program_map.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/dtype.h"
#include "base/file.h"

namespace dovetail::cli {

namespace {

constexpr std::string_view kKind = "program map";
constexpr std::array<std::string_view, 3> kKindNames{"constant", "address", "instruction"};  // in SymbolKind's order

Diagnostic malformed(const std::string& where, std::string why) {
  return {"cannot read program map", where, std::move(why), "write the map again with `dovetail asm --map`"};
}

Json lines_json(const std::vector<isa::SourceLine>& lines) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t end = i;
    while (end < lines.size() && lines[end] == lines[i]) ++end;
    runs.push_back({lines[i].line, lines[i].used_line, end - i});
    i = end;
  }
  return runs;
}

// The number in a required member; it must fit T.
template <typename T>
Result<T> number(const Json& json, const char* key, const std::string& where) {
  if (json.is_object() && json.contains(key) && json[key].is_number_integer()) {
    if (json[key].is_number_unsigned() && json[key].get<std::uint64_t>() <= std::numeric_limits<T>::max())
      return static_cast<T>(json[key].get<std::uint64_t>());
  }
  return malformed(where, fmt::format("`{}` must be an integer from 0 to {}", key, std::numeric_limits<T>::max()));
}

Result<const Json*> member(const Json& json, const char* key, Json::value_t type, const std::string& where) {
  if (json.is_object() && json.contains(key) && json[key].type() == type) return &json[key];
  return malformed(where, fmt::format("`{}` is missing, or has the wrong JSON type", key));
}

Result<isa::Symbol> symbol_from_json(const Json& json, const ProgramMap& map, const std::string& where) {
  isa::Symbol symbol;
  DOVETAIL_ASSIGN(const Json* name, member(json, "name", Json::value_t::string, where));
  symbol.name = *name;
  DOVETAIL_ASSIGN(const Json* kind, member(json, "kind", Json::value_t::string, where));
  const auto known = std::find(kKindNames.begin(), kKindNames.end(), kind->get<std::string>());
  if (known == kKindNames.end())
    return malformed(where, fmt::format("`{}` has the unknown kind `{}`", symbol.name, kind->get<std::string>()));
  symbol.kind = static_cast<isa::SymbolKind>(known - kKindNames.begin());
  DOVETAIL_ASSIGN(symbol.line, number<std::size_t>(json, "line", where));
  if (symbol.kind == isa::SymbolKind::constant) {
    if (!json.contains("value") || !json["value"].is_number_integer())
      return malformed(where, fmt::format("`{}` has no value", symbol.name));
    symbol.value = static_cast<std::uint64_t>(json["value"].get<std::int64_t>());
    return symbol;
  }
  DOVETAIL_ASSIGN(symbol.value, number<std::uint64_t>(json, "value", where));
  if (symbol.kind == isa::SymbolKind::instruction) return symbol;
  DOVETAIL_ASSIGN(symbol.bytes, number<std::uint64_t>(json, "bytes", where));
  DOVETAIL_ASSIGN(const Json* type, member(json, "type", Json::value_t::string, where));
  const auto dtype = dtype_from_name(type->get<std::string>());
  if (!dtype)
    return malformed(where, fmt::format("`{}` has the unknown type `{}`", symbol.name, type->get<std::string>()));
  symbol.dtype = *dtype;
  DOVETAIL_ASSIGN(const Json* shape, member(json, "shape", Json::value_t::array, where));
  std::uint64_t bytes = static_cast<std::uint64_t>(info(symbol.dtype).bytes);
  for (const Json& extent : *shape) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > isa::kMostImageBytes ||
        __builtin_mul_overflow(bytes, extent.get<std::uint64_t>(), &bytes))
      return malformed(where, fmt::format("`{}` has the invalid extent {}", symbol.name, extent.dump()));
    symbol.shape.push_back(extent.get<std::int64_t>());
  }
  const std::uint64_t end = map.image_base + map.image_bytes;
  if (bytes != symbol.bytes || symbol.value > end || symbol.bytes > end - symbol.value)
    return malformed(where,
                     fmt::format("`{}` is not within the image, or its shape does not match its size", symbol.name));
  return symbol;
}

}  // namespace

Json to_json(const ProgramMap& map) {
  Json launches = Json::array(), symbols = Json::array();
  for (const isa::Launch& launch : map.launches) launches.push_back({{"begin", launch.begin}, {"count", launch.count}});
  for (const isa::Symbol& symbol : map.symbols) {
    Json json{{"name", symbol.name},
              {"kind", kKindNames[static_cast<std::size_t>(symbol.kind)]},
              {"line", symbol.line},
              {"value", symbol.value}};
    if (symbol.kind == isa::SymbolKind::constant) json["value"] = static_cast<std::int64_t>(symbol.value);
    if (symbol.kind == isa::SymbolKind::address) {
      json["bytes"] = symbol.bytes;
      json["type"] = name(symbol.dtype);
      json["shape"] = symbol.shape;
    }
    symbols.push_back(std::move(json));
  }
  Json json{{"kind", kKind},
            {"hardware", isa::config_to_json(map.hardware)},
            {"instructions", map.instructions},
            {"launches", launches},
            {"image", {{"base", map.image_base}, {"bytes", map.image_bytes}}},
            {"symbols", symbols}};
  if (!map.source.lines.empty()) json["source"] = {{"file", map.source.file}, {"lines", lines_json(map.source.lines)}};
  if (map.program_base) json["program_base"] = *map.program_base;
  if (!map.inputs.empty() || !map.outputs.empty()) {
    json["inputs"] = map.inputs;
    json["outputs"] = map.outputs;
  }
  return json;
}

Result<ProgramMap> program_map_from_json(const Json& json, const std::string& where) {
  if (!json.is_object() || json.value("kind", Json()) != Json(kKind))
    return malformed(where, fmt::format("the file is not a {}", kKind));
  ProgramMap map;
  DOVETAIL_ASSIGN(const Json* hardware, member(json, "hardware", Json::value_t::object, where));
  DOVETAIL_ASSIGN(map.hardware, isa::config_from_json(*hardware, where));
  DOVETAIL_ASSIGN(map.instructions, number<std::size_t>(json, "instructions", where));
  DOVETAIL_ASSIGN(const Json* image, member(json, "image", Json::value_t::object, where));
  DOVETAIL_ASSIGN(map.image_base, number<std::uint64_t>(*image, "base", where));
  DOVETAIL_ASSIGN(map.image_bytes, number<std::uint64_t>(*image, "bytes", where));
  if (map.image_base > std::uint64_t{1} << 56 || map.image_bytes > std::uint64_t{1} << 56)
    return malformed(where, "the image exceeds 56 address bits");
  DOVETAIL_ASSIGN(const Json* launches, member(json, "launches", Json::value_t::array, where));
  for (const Json& launch : *launches) {
    DOVETAIL_ASSIGN(const auto begin, number<std::size_t>(launch, "begin", where));
    DOVETAIL_ASSIGN(const auto count, number<std::size_t>(launch, "count", where));
    if (begin > map.instructions || count > map.instructions - begin)
      return malformed(where, fmt::format("launch {}:{} exceeds the {} instructions", begin, count, map.instructions));
    map.launches.push_back({begin, count});
  }
  DOVETAIL_ASSIGN(const Json* symbols, member(json, "symbols", Json::value_t::array, where));
  for (const Json& entry : *symbols) {
    DOVETAIL_ASSIGN(isa::Symbol symbol, symbol_from_json(entry, map, where));
    map.symbols.push_back(std::move(symbol));
  }
  if (json.contains("program_base")) {
    DOVETAIL_ASSIGN(map.program_base, number<std::uint64_t>(json, "program_base", where));
  }
  for (const auto& [key, names] : {std::pair{"inputs", &map.inputs}, {"outputs", &map.outputs}}) {
    if (!json.contains(key)) continue;
    DOVETAIL_ASSIGN(const Json* list, member(json, key, Json::value_t::array, where));
    for (const Json& name : *list) {
      if (!name.is_string()) return malformed(where, fmt::format("`{}` must contain names", key));
      names->push_back(name);
    }
  }
  if (!json.contains("source")) return map;
  DOVETAIL_ASSIGN(const Json* file, member(json["source"], "file", Json::value_t::string, where));
  map.source.file = *file;
  DOVETAIL_ASSIGN(const Json* lines, member(json["source"], "lines", Json::value_t::array, where));
  for (const Json& run : *lines) {
    if (!run.is_array() || run.size() != 3 || !run[0].is_number_unsigned() || !run[1].is_number_unsigned() ||
        !run[2].is_number_unsigned() || run[2].get<std::uint64_t>() > map.instructions - map.source.lines.size())
      return malformed(where, "the source lines do not match the instructions");
    map.source.lines.insert(map.source.lines.end(), run[2].get<std::size_t>(),
                            {run[0].get<std::uint32_t>(), run[1].get<std::uint32_t>()});
  }
  return map;
}

Result<ProgramMap> read_program_map(const std::string& path) {
  DOVETAIL_ASSIGN(const Json json, read_json_file(path));
  return program_map_from_json(json, path);
}

}  // namespace dovetail::cli
