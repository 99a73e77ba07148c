// Wraps text into lines of a given width, counted in code points.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::cli {

std::size_t text_width(std::string_view text);

// Breaks one line at spaces into lines of at most `first` and then `width` columns. Longer words are broken only with
// LongWords::split. Returns at least one line; no line ends with a space.
enum class LongWords { keep, split };
std::vector<std::string> wrapped(std::string_view line, std::size_t first, std::size_t width,
                                 LongWords words = LongWords::keep);

// A report, laid out for a terminal: a line that is too long continues below, indented; the columns of a table
// (base/text_table.h) become narrower, with cells of several lines, and a table that needs more columns than there are
// is shown in parts, each with the first column.
std::string fitted(std::string_view report, std::size_t width);

}  // namespace dovetail::cli
