// What a file holds, described in a page: for `dovetail inspect`. One describer per kind of file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "isa/config.h"

namespace dovetail::cli {

struct Description {
  std::string text;  // for people
  Json json;         // "kind" first
};

// Recognizes the file by its content. `config`: given, a file of no other kind is a raw program for it.
Result<Description> describe(std::span<const std::byte> bytes, const std::string& path,
                             const std::optional<isa::HardwareConfig>& config);

}  // namespace dovetail::cli
