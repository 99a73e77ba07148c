// How several accelerators divide the layers of a model, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "bundle/bundle.h"

namespace dovetail::cli {

// A table of the layers with what each is cut by, and the pieces of each accelerator; empty for a program of one
// accelerator.
std::string divided_text(const bundle::Bundle& program);
// [{"step", "layer", "by", "pieces", "parts": [{"accelerator", "begin", "end"}]}]; "by" is null where one accelerator
// computes the whole layer.
Json divided_json(const bundle::Bundle& program);

}  // namespace dovetail::cli
