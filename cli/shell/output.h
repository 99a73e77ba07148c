// All output of the CLI. Names come from files, so everything is filtered before it reaches a terminal. A stream that
// is closed or full does not abort the process.
//
// If stdout's reader ends early (`dovetail … | head`), the process ends quietly, by SIGPIPE; if the command line names
// files to be written, it first completes its work, without output.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"

namespace dovetail::cli {

// Writes a report to stdout: on a terminal in lines that fit it, with highlighted table headers.
void write_report(std::string_view text);
// Writes results that other programs read to stdout unchanged: JSON, assembly text, constants.
void write_result(std::string_view text);
void print_json(const Json& json);
// The text of a report for other programs. On a board of a queue it names the board.
std::string report_text(Json json);
// Called before and after each command of a process.
void begin_output();  // forgets what the former command has set
bool flush_output();  // false: something was not written
// Writes to stderr, after flushing stdout. A failure is ignored, since it cannot be reported.
void write_message(std::string_view text);
// The same for text that is already filtered and wrapped, for fail().
void write_styled_message(std::string_view text);

// Call it when a file is written to stdout (`-o -`): later reports go to stderr.
void give_stdout_to_a_file();
// Call it when the report is printed as JSON: later text reports are dropped.
void drop_reports();
// Call it when the command line names a file to be written: the work then continues even if stdout's reader leaves.
void finish_without_reader();
bool reader_has_left();
// Call it when a write outside of this file found that stdout's reader has left.
void end_by_reader();

// All output shows `name` instead of `path`.
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
