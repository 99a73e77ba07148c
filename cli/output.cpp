#include "cli/output.h"

#include <cstdio>

#include "base/printable.h"

namespace dovetail::cli {

namespace {

void write(std::FILE* stream, std::string_view text) {
  const std::string filtered = printable(text, Lines::keep);
  std::fwrite(filtered.data(), 1, filtered.size(), stream);
}

}  // namespace

void write_output(std::string_view text) { write(stdout, text); }

void write_message(std::string_view text) {
  std::fflush(stdout);  // so that both streams keep their order in one file
  write(stderr, text);
}

}  // namespace dovetail::cli
