#include <cstdio>

#include <fmt/format.h>

#include "cli/command.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kMostPrinted = 20;
constexpr std::size_t kLongest = 4000;  // bytes of one diagnostic; damaged files may name themselves at any length

// Text from damaged files must not reach the terminal as control characters.
std::string printable(std::string text) {
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = '?';
  if (text.size() > kLongest) text = text.substr(0, kLongest) + " …";
  return text;
}

}  // namespace

Exit fail(Exit exit, const Diagnostics& diagnostics) {
  std::fflush(stdout);  // so that both streams keep their order in one file
  for (std::size_t i = 0; i < diagnostics.size() && i < kMostPrinted; ++i)
    fmt::print(stderr, "{}\n", printable(to_string(diagnostics[i])));
  if (diagnostics.size() > kMostPrinted)
    fmt::print(stderr, "error: and {} more like these\n", diagnostics.size() - kMostPrinted);
  return exit;
}

}  // namespace dovetail::cli
