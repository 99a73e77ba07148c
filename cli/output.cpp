#include "cli/output.h"

#include <cstdio>

#include "base/fault.h"
#include "base/printable.h"

namespace dovetail::cli {

namespace {

void write(std::FILE* stream, std::string_view text) {
  const std::string filtered = printable(text, Lines::keep);
  std::fwrite(filtered.data(), 1, filtered.size(), stream);
}

bool output_failed = false;  // on request

}  // namespace

void write_output(std::string_view text) {
  if (refused_for_test(Refusable::write)) output_failed = true;
  else write(stdout, text);
}

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && !output_failed; }

void write_message(std::string_view text) {
  std::fflush(stdout);  // so that both streams keep their order in one file
  write(stderr, text);
}

}  // namespace dovetail::cli
