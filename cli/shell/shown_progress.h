// The line of progress at the bottom of a terminal. Other output replaces it.
#pragma once

#include <string_view>

namespace dovetail::cli {

void show_progress_line(std::string_view line);  // replaces the line that is shown
void clear_progress_line();                      // no effect without a line

}  // namespace dovetail::cli
