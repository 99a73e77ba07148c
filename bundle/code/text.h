// Code that is text, JSON among it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bundle/bundle.h"

namespace dovetail::bundle {

std::vector<std::byte> text_bytes(std::string_view text);
std::vector<std::byte> json_bytes(const Json& json);  // names that are no UTF-8 are replaced

std::string_view code_text(const Step& step);
// How diagnostics name a step's code.
std::string code_place(const Step& step);

}  // namespace dovetail::bundle
