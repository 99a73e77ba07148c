// The report of `dovetail quantize` about a quantized model: for the terminal and as a page.
#pragma once

#include <string>

#include "base/json.h"
#include "compiler/quantize/quantize.h"

namespace dovetail::cli {

// Outputs, tensors (if there are many, those that lost most), the layers that lose most, and the nodes that stay float.
std::string quantized_text(const quantize::Quantized& quantized);
// The whole report, of the JSON that `dovetail quantize --json` prints; "settings" may be missing. Any other member
// that is missing, or of another type: throws Json::exception.
std::string quantized_page(const Json& report);

}  // namespace dovetail::cli
