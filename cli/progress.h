// What takes long reports its steps on stderr: stdout holds results alone.
#pragma once

#include <string_view>

namespace dovetail::cli {

void print_progress(std::string_view step);

}  // namespace dovetail::cli
