#include "cli/progress.h"

#include <cstdio>

#include <fmt/format.h>

namespace dovetail::cli {

void print_progress(std::string_view step) {
  std::fflush(stdout);  // so that both streams keep their order in one file
  fmt::print(stderr, "progress      {}\n", step);
}

}  // namespace dovetail::cli
