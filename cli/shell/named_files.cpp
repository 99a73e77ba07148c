#include "cli/shell/named_files.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/terminal.h"

namespace dovetail::cli {

namespace {

namespace fs = std::filesystem;

bool is_written(File role) {
  return role == File::written || role == File::written_text || role == File::written_by_name;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const fs::file_status status = fs::status(a, error);
  if (fs::exists(status)) return fs::is_regular_file(status) && fs::equivalent(a, b, error) && !error;
  const fs::path canonical = fs::weakly_canonical(a, error);
  return !error && canonical == fs::weakly_canonical(b, error) && !error;
}

}  // namespace

void NamedFiles::add(std::string_view option, File role, std::function<void(const Change&)> each) {
  if (role != File::none) files_.push_back({std::string(option), role, std::move(each)});
}

std::vector<NamedFiles::Use> NamedFiles::uses() const {
  std::vector<Use> uses;
  for (const Named& named : files_)
    named.each([&](const std::string& path) { uses.push_back({named.option, path, named.role}); });
  return uses;
}

bool NamedFiles::writes() const {
  for (const Use& use : uses())
    if (is_written(use.role) || use.role == File::folder) return true;
  return false;
}

Result<void> NamedFiles::check(std::string_view option, const std::vector<std::string>& further) const {
  std::vector<Use> all = uses();
  for (const std::string& path : further) all.push_back({std::string(option), path, File::written});
  for (const Use& written : all) {
    if (written.role == File::folder || written.role == File::read_by_name)
      DOVETAIL_TRY(check_folder_of(written.option, written.path));
    if (!is_written(written.role) || written.path == kStandardStream) continue;
    for (const Use& other : all) {
      if (&other == &written || other.role == File::folder || !is_same_file(written.path, other.path)) continue;
      return Diagnostic{"bad usage", written.path,
                        fmt::format("{} would overwrite the file that {} {}", written.option, other.option,
                                    is_written(other.role) ? "writes" : "reads"),
                        "name another file"};
    }
    if (further.empty()) DOVETAIL_TRY(check_folder_of(written.option, written.path));
  }
  return {};
}

Result<void> NamedFiles::check_below() const {
  for (const Use& use : uses()) {
    if (use.path == kStandardStream) continue;
    const fs::path path(use.path);
    if (path.is_absolute() || std::ranges::find(path, fs::path("..")) != path.end())
      return Diagnostic{"bad usage", fmt::format("{} {}", use.option, use.path),
                        "the file is not one of those that were sent",
                        "files on a board are below the command's folder"};
  }
  return {};
}

Result<void> NamedFiles::open_standard_streams(bool takes_stdout) const {
  const auto wrong = [](const Use& use, std::string why, std::string hint) {
    return Diagnostic{"bad usage", fmt::format("{} {}", use.option, kStandardStream), std::move(why), std::move(hint)};
  };
  std::string reader, writer = takes_stdout ? "--json" : "";
  for (const Use& use : uses()) {
    if (use.path != kStandardStream) continue;
    if (use.role == File::folder) return wrong(use, "the option needs a folder, not stdout", "name a folder");
    if (use.role == File::read_by_name || use.role == File::written_by_name)
      return wrong(use, "the option needs a file name, not a stream", "name a file");
    std::string& taken = use.role == File::read ? reader : writer;
    if (!taken.empty())
      return wrong(use, fmt::format("{} already uses {}", taken, use.role == File::read ? "stdin" : "stdout"),
                   "name a file for one of them");
    taken = use.option;
    if (use.role == File::written && is_terminal(Stream::out))
      return wrong(use, "the output is binary, and stdout is a terminal",
                   "redirect stdout to a file or a pipe: `> FILE`, `| COMMAND`");
    if (use.role == File::read && is_stdin_terminal())
      return wrong(use, "stdin is a terminal", "redirect stdin from a file or a pipe: `< FILE`, `COMMAND |`");
  }
  if (!writer.empty() && !takes_stdout) give_stdout_to_a_file();
  if (reader.empty()) return {};
  DOVETAIL_ASSIGN(const std::string file, file_of_stdin());
  for (const Named& named : files_)
    if (named.role == File::read)
      named.each([&](std::string& path) {
        if (path == kStandardStream) path = file;
      });
  return {};
}

}  // namespace dovetail::cli
