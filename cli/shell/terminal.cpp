#include "cli/shell/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "base/user_folder.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kHelpColumns = 100, kLeastColumns = 40;

Color chosen = Color::automatic;  // --color

int file_of(Stream stream) { return stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO; }

}  // namespace

Result<Color> parse_color(std::string_view text) {
  if (text == "auto") return Color::automatic;
  if (text == "always") return Color::always;
  if (text == "never") return Color::never;
  return Diagnostic{"invalid value for --color", std::string(text), "the choice is unknown",
                    "give auto, always or never"};
}

void set_color(Color color) { chosen = color; }

bool has_color(Stream stream) {
  if (chosen != Color::automatic) return chosen == Color::always;
  // https://no-color.org: any value but the empty one.
  if (!environment("NO_COLOR").value_or("").empty() || environment("TERM").value_or("") == "dumb") return false;
  return is_terminal(stream);
}

bool is_terminal(Stream stream) { return isatty(file_of(stream)) == 1; }

std::optional<std::size_t> terminal_width(Stream stream) {
  if (!is_terminal(stream)) return std::nullopt;
  struct winsize size {};
  if (::ioctl(file_of(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kHelpColumns;
  return std::max<std::size_t>(size.ws_col, kLeastColumns);
}

std::size_t help_width() { return std::min(terminal_width(Stream::out).value_or(kHelpColumns), kHelpColumns); }

std::string styled(std::string_view text, Style style, Stream stream) {
  static constexpr std::array<std::string_view, 5> kCodes{"1;31", "33", "36", "1", "2"};
  if (text.empty() || !has_color(stream)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(style)], text);
}

}  // namespace dovetail::cli
