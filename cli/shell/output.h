// All that the CLI prints. Names come from files, so that nothing reaches a terminal unfiltered; and a stream that is
// closed or full is not a reason to abort.
//
// A reader that leaves early (`dovetail … | head`) ends the process quietly, by SIGPIPE; if the command line names
// files to be written, the work continues to its end first, unheard.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"

namespace dovetail::cli {

// Reports, to stdout: on a terminal in lines that fit it, and with the headers of tables set off.
void write_report(std::string_view text);
// Results that other programs read, to stdout as they are: JSON, assembly text, constants.
void write_result(std::string_view text);
void print_json(const Json& json);
// Whether all of it was written, main() asks at the end.
bool flush_output();  // false: something was not written
// To stderr, after what stdout has got so far. Where that fails there is nobody left to report to.
void write_message(std::string_view text);
// The same, filtered and laid out already: for fail().
void write_styled_message(std::string_view text);

// A file goes to stdout (`-o -`): from here on reports go to stderr.
void give_stdout_to_a_file();
// The report is printed as JSON: from here on its text is dropped.
void drop_reports();
// The command line names a file that is to be written, even if nobody reads the report.
void finish_without_reader();
// Ends the process by SIGPIPE, if stdout's reader has left.
void end_without_reader();
// The reader has left, as a write has found that was not made here.
void end_by_reader();

// In all that is printed, `path` is called `name`.
void show_as(std::string path, std::string name);
std::string with_shown_names(std::string_view text);

template <typename... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_report(fmt::format(format, std::forward<Arguments>(arguments)...));
}
template <typename... Arguments>
void print_message(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_message(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace dovetail::cli
