// The report of `dovetail quantize` about a quantized model: for the terminal and as a page.
#pragma once

#include <string>

#include "compiler/quantize/quantize.h"

namespace dovetail::cli {

// Outputs, tensors (if there are many, those that lost most), the layers that lose most, and the nodes that stay float.
std::string quantized_text(const quantize::Quantized& quantized);
// The whole report. `title` names the model, `settings` describes how it was quantized.
std::string quantized_page(const std::string& title, const std::string& settings, const quantize::Quantized& quantized);

}  // namespace dovetail::cli
