// Code that is text, including JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bundle/bundle.h"

namespace dovetail::bundle {

std::vector<std::byte> text_bytes(std::string_view text);
std::vector<std::byte> json_bytes(const Json& json);  // replaces names that are not UTF-8

std::string_view code_text(const Step& step);
// The text that names a step's code in diagnostics.
std::string code_place(const Step& step);

}  // namespace dovetail::bundle
