// What `dovetail quantize` reports of a quantised model, for people: on the terminal and as a page.
#pragma once

#include <string>

#include "compiler/quantize/quantize.h"

namespace dovetail::cli {

// Outputs, tensors (of many only those that lost most), the layers that cost most, what stays float.
std::string quantised_text(const quantize::Quantised& quantised);
// All of it. `title` names the model, `settings` says how it was quantised.
std::string quantised_page(const std::string& title, const std::string& settings, const quantize::Quantised& quantised);

}  // namespace dovetail::cli
