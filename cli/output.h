// All that the CLI prints. Names come from files, so that nothing reaches a terminal unfiltered; and a stream that is
// closed or full is no reason to abort.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace dovetail::cli {

// To stdout. Whether all of it was written, main() asks at the end.
void write_output(std::string_view text);
bool flush_output();  // false: something was not written
// To stderr, behind what stdout has got so far. Where that fails there is nobody left to report to.
void write_message(std::string_view text);

template <typename... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_output(fmt::format(format, std::forward<Arguments>(arguments)...));
}
template <typename... Arguments>
void print_message(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_message(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace dovetail::cli
