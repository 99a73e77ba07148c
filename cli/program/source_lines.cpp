#include "cli/program/source_lines.h"

#include <charconv>

#include <fmt/format.h>

namespace dovetail::cli {

namespace {

constexpr std::string_view kWord = "instruction ";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// The number of characters before the index, if an instruction is cited at `at`; else 0.
std::size_t citation(std::string_view text, std::size_t at) {
  if (at > 0 && is_letter(text[at - 1])) return 0;
  if (text[at] == '#') return 1;
  return text.substr(at).starts_with(kWord) ? kWord.size() : 0;
}

}  // namespace

std::optional<std::string> SourceLines::of(std::size_t instruction) const {
  if (instruction >= lines.size()) return std::nullopt;
  const isa::SourceLine& line = lines[instruction];
  return line.used_line == 0 ? fmt::format("{}:{}", file, line.line)
                             : fmt::format("{}:{}, used in line {}", file, line.line, line.used_line);
}

std::string SourceLines::cite(std::string_view text) const {
  if (lines.empty()) return std::string(text);
  std::string cited;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t before = citation(text, at);
    std::size_t index = 0;
    const char* first = text.data() + at + before;
    const auto [stop, error] = std::from_chars(first, text.data() + text.size(), index);
    if (before == 0 || error != std::errc{}) {
      cited += text[at++];
      continue;
    }
    const std::size_t length = before + static_cast<std::size_t>(stop - first);
    cited += text.substr(at, length);
    at += length;
    if (const auto line = of(index)) cited += fmt::format(" ({})", *line);
  }
  return cited;
}

Diagnostics SourceLines::cite(Diagnostics diagnostics) const {
  if (lines.empty()) return diagnostics;
  for (Diagnostic& diagnostic : diagnostics)
    for (std::string* text : {&diagnostic.what, &diagnostic.where, &diagnostic.why, &diagnostic.hint})
      *text = cite(*text);
  return diagnostics;
}

}  // namespace dovetail::cli
