// Properties of stdout and stderr: whether they are terminals, their width, and whether they get colors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::cli {

enum class Stream { out, error };

enum class Color {
  automatic,  // on a terminal, unless NO_COLOR is set or TERM is "dumb"
  always,     // in pipes and files, too
  never
};
// The value of --color: "auto", "always" or "never".
Result<Color> parse_color(std::string_view text);
// Sets it for the whole process. Call it before anything is printed.
void set_color(Color color);
bool has_color(Stream stream);

bool is_terminal(Stream stream);
// The width of a terminal, at least 40; nullopt if the stream is not a terminal.
std::optional<std::size_t> terminal_width(Stream stream);

// The width of help: that of the terminal, at most 100.
std::size_t help_width();

enum class Style { error, note, hint, header, faint };
// The text with the escape sequences of the style, if the stream has colors.
std::string styled(std::string_view text, Style style, Stream stream);

}  // namespace dovetail::cli
