#include "cli/progress.h"

#include "cli/output.h"

namespace dovetail::cli {

void print_progress(std::string_view step) { print_message("progress      {}\n", step); }

}  // namespace dovetail::cli
