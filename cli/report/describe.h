// Describes the content of a file on one page, for `dovetail inspect`. Each kind of file has its own function.
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
  std::string text;
  Json json;  // "kind" first
};

// Recognizes the file by its content. With `config`, a file of no other kind is a raw program for that configuration.
Result<Description> describe(std::span<const std::byte> bytes, const std::string& path,
                             const std::optional<isa::HardwareConfig>& config);

}  // namespace dovetail::cli
