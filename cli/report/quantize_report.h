// What `dovetail quantize` reports of a quantized model, for people: on the terminal and as a page.
#pragma once

#include <string>

#include "compiler/quantize/quantize.h"

namespace dovetail::cli {

// Outputs, tensors (of many only those that lost most), the layers that cost most, what stays float.
std::string quantized_text(const quantize::Quantized& quantized);
// All of it. `title` names the model, `settings` says how it was quantized.
std::string quantized_page(const std::string& title, const std::string& settings, const quantize::Quantized& quantized);

}  // namespace dovetail::cli
