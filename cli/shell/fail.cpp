#include <fmt/format.h>

#include "base/printable.h"
#include "cli/shell/command.h"
#include "cli/shell/grouped.h"
#include "cli/shell/output.h"
#include "cli/shell/terminal.h"
#include "cli/shell/wrapped_text.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kMostPrinted = 20;
constexpr std::size_t kLongest = 4000;  // bytes of one diagnostic, since names in damaged files may have any length

// On a terminal, lines that fit its width; elsewhere one line. "error:" and "Hint:" are highlighted.
std::string paragraph(const std::string& text) {
  std::string lines = printable(with_shown_names(text), Lines::keep);
  if (const auto width = terminal_width(Stream::error)) {
    std::string broken;
    for (const std::string& line : wrapped(lines, *width, *width - 2)) broken += (broken.empty() ? "" : "\n  ") + line;
    lines = broken;
  }
  const auto set_off = [&](std::string_view word, std::size_t from, Style style) {
    const std::size_t at = lines.find(word, from);
    if (at != lines.npos) lines.replace(at, word.size(), styled(word, style, Stream::error));
  };
  if (lines.starts_with("error:")) set_off("error:", 0, Style::error);
  set_off("Hint:", lines.rfind("Hint:") == lines.npos ? 0 : lines.rfind("Hint:"), Style::hint);
  return lines;
}

}  // namespace

Exit fail(Exit exit, const Diagnostics& all) {
  const Diagnostics diagnostics = grouped(all);
  for (std::size_t i = 0; i < diagnostics.size() && i < kMostPrinted; ++i) {
    Diagnostic diagnostic = diagnostics[i];
    diagnostic.where =
        printable(diagnostic.where);  // so that a name with a line break does not look like another message
    std::string text = to_string(diagnostic);
    if (text.size() > kLongest) text = text.substr(0, kLongest) + " …";
    write_styled_message(paragraph(text) + "\n");
  }
  if (diagnostics.size() > kMostPrinted)
    print_message("error: and {} more of other kinds\n", diagnostics.size() - kMostPrinted);
  return exit;
}

}  // namespace dovetail::cli
