// JSON through nlohmann/json, with parse errors and missing keys as diagnostics instead of exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace dovetail {

using Json = nlohmann::ordered_json;

// `where` names the source in the diagnostic. Duplicate keys, trailing text and non-UTF-8 input are errors.
Result<Json> parse_json(std::string_view text, std::string_view where);
Result<Json> read_json_file(const std::filesystem::path& path);

}  // namespace dovetail
