// Describes the content of a bundle on one page.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "cli/report/describe.h"

namespace dovetail::cli {

Result<Description> describe_bundle(std::span<const std::byte> bytes, const std::string& path);

}  // namespace dovetail::cli
