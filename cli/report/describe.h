// Describes the content of a file on one page, for `dovetail inspect` and the C interface. Each kind of file has its
// own function.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace dovetail::cli {

struct Description {
  std::string text;
  Json json;              // "kind" first
  std::size_t bytes = 0;  // of the file
};

// Recognizes the file by its content. With `hardware`, a configuration in the form of --hw, a file of unknown kind is a
// raw program for it.
Result<Description> describe(const std::string& path, const std::optional<std::string>& hardware);

}  // namespace dovetail::cli
