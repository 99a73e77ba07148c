#include "cli/shell/output.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "base/printable.h"
#include "base/text_stream.h"
#include "base/user_folder.h"
#include "cli/shell/command_process.h"
#include "cli/shell/shown_progress.h"
#include "cli/shell/terminal.h"
#include "cli/shell/wrapped_text.h"
#include "driver/value_text.h"
#include "remote/board.h"

namespace dovetail::cli {

namespace {

std::atomic<bool> progress_shown{false};  // atomic, since the thread of the progress display sets it

struct Streams {
  bool failed = false;                             // something was not written
  bool reader_left = false;                        // EPIPE
  bool reports_dropped = false;                    // drop_reports()
  bool work_continues = false;                     // finish_without_reader()
  bool stdout_is_a_file = false;                   // give_stdout_to_a_file()
  std::pair<std::string, std::string> shown_name;  // show_as()
};
Streams streams;

void note_failure() {
  if (errno == EPIPE) end_by_reader();
  else streams.failed = true;
}

bool is_rule(std::string_view line) {
  return line.find("--") != line.npos && line.find_first_not_of("- ") == line.npos;
}

// Makes headers of tables bold and their rules faint.
std::string with_headers(const std::string& text, Stream stream) {
  if (!has_color(stream)) return text;
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto line_from = [&](std::size_t at) { return std::string_view(text).substr(at, text.find('\n', at) - at); };
    const std::string_view line = line_from(begin);
    const std::size_t next = begin + line.size() + 1;
    const bool is_header = next < text.size() && !line.empty() && is_rule(line_from(next));
    const std::size_t inner = std::min(line.find_first_not_of(' '), line.size());
    out += line.substr(0, inner);
    out += is_header       ? styled(line.substr(inner), Style::header, stream)
           : is_rule(line) ? styled(line.substr(inner), Style::faint, stream)
                           : std::string(line.substr(inner));
    if (next <= text.size()) out += '\n';
    begin = next;
  }
  return out;
}

void put(std::FILE* stream, std::string_view text) {
  clear_progress_line();
  if (stream == stdout && streams.reader_left) return;
  if (std::fwrite(text.data(), 1, text.size(), stream) < text.size() && stream == stdout) note_failure();
}

void put_report(Stream stream, std::string_view text) {
  std::string filtered = printable(with_shown_names(text), Lines::keep);
  if (const auto width = terminal_width(stream)) filtered = fitted(filtered, *width);
  put(stream == Stream::out ? stdout : stderr, with_headers(filtered, stream));
}

}  // namespace

void show_progress_line(std::string_view line) {
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
  progress_shown = true;
}

void clear_progress_line() {
  if (!progress_shown.exchange(false)) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void write_report(std::string_view text) {
  if (streams.reports_dropped) return;
  put_report(streams.stdout_is_a_file ? Stream::error : Stream::out, text);
}

void write_result(std::string_view text) {
  put(streams.stdout_is_a_file ? stderr : stdout, printable(with_shown_names(text), Lines::keep));
}

void print_json(const Json& json) { write_result(report_text(json)); }

std::string report_text(Json json) {
  // The board's name and facts, one per line (remote/board.h).
  const std::optional<std::string> board = environment(remote::kBoardVariable);
  if (!board || !json.is_object() || !json.contains("kind")) return driver::json_text(json);
  std::string name;
  Json facts = Json::array();
  TextStream lines(*board);
  std::getline(lines, name);
  for (std::string fact; std::getline(lines, fact);) facts.push_back(fact);
  json["board"] = {{"name", name}, {"facts", facts}};
  return driver::json_text(json);
}

void begin_output() { streams = {}; }

bool flush_output() {
  if (std::fflush(stdout) != 0) {
    if (errno == EPIPE) streams.reader_left = true;
    else streams.failed = true;
  }
  return streams.reader_left || !streams.failed;
}

void write_message(std::string_view text) {
  flush_output();  // so that the order is kept if both streams go to one file
  put_report(Stream::error, text);
}

void write_styled_message(std::string_view text) {
  flush_output();
  put(stderr, text);
}

void give_stdout_to_a_file() { streams.stdout_is_a_file = true; }

void drop_reports() { streams.reports_dropped = true; }

void finish_without_reader() { streams.work_continues = true; }

void end_by_reader() {
  streams.reader_left = true;
  if (!streams.work_continues) end_by_signal(SIGPIPE);
}

void show_as(std::string path, std::string name) { streams.shown_name = {std::move(path), std::move(name)}; }

std::string with_shown_names(std::string_view text) {
  const auto& [path, name] = streams.shown_name;
  std::string shown(text);
  for (std::size_t at = 0; !path.empty() && (at = shown.find(path, at)) != shown.npos; at += name.size())
    shown.replace(at, path.size(), name);
  return shown;
}

bool reader_has_left() { return streams.reader_left; }

}  // namespace dovetail::cli
