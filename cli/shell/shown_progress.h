// The line of progress that stands on a terminal: whatever else is printed takes its place.
#pragma once

#include <string_view>

namespace dovetail::cli {

void show_progress_line(std::string_view line);  // writes over the one that is there
void clear_progress_line();                      // nothing, where there is none

}  // namespace dovetail::cli
