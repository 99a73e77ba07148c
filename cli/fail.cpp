#include <fmt/format.h>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/output.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kMostPrinted = 20;
constexpr std::size_t kLongest = 4000;  // bytes of one diagnostic; damaged files may name themselves at any length

}  // namespace

Exit fail(Exit exit, const Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < diagnostics.size() && i < kMostPrinted; ++i) {
    Diagnostic diagnostic = diagnostics[i];
    diagnostic.where = printable(diagnostic.where);  // a name with a line break must not look like another message
    std::string text = to_string(diagnostic);
    if (text.size() > kLongest) text = text.substr(0, kLongest) + " …";
    print_message("{}\n", text);
  }
  if (diagnostics.size() > kMostPrinted)
    print_message("error: and {} more like these\n", diagnostics.size() - kMostPrinted);
  return exit;
}

}  // namespace dovetail::cli
