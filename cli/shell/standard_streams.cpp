#include "cli/shell/standard_streams.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/temporary.h"
#include "bundle/bundle.h"
#include "bundle/format.h"
#include "cli/shell/output.h"

namespace dovetail::cli {

namespace {

namespace fs = std::filesystem;

struct StdinFile {
  TemporaryPath folder;
  fs::path path;
};
std::optional<StdinFile>& stdin_file() {
  static std::optional<StdinFile> file;
  return file;
}

// The suffix of files with this content, by which commands recognize them.
std::string_view ending_of(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\x93NUMPY")) return ".npy";
  if (text.starts_with("PK\x03\x04")) return ".npz";
  if (text.starts_with(bundle::format::kMagic)) return bundle::kFileExtension;
  // Text has no byte below a tab; a protobuf message has such bytes among its first lengths and field numbers.
  const bool is_text = std::ranges::none_of(text.substr(0, 4096), [](char c) { return c >= 0 && c < '\t'; });
  // Protobuf: an ONNX model begins with its version and then a message or text; a tensor begins with two numbers.
  constexpr char kFirstNumber = 0x08;
  if (!is_text) return text.size() > 2 && text[0] == kFirstNumber && (text[2] & 7) == 2 ? ".onnx" : ".pb";
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != text.npos && (text[begin] == '{' || text[begin] == '[') ? ".json" : ".s";
}

}  // namespace

bool is_stdin_terminal() { return isatty(STDIN_FILENO) == 1; }

Result<std::string> file_of_stdin() {
  if (stdin_file()) return stdin_file()->path.string();
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file("/dev/stdin"));
  DOVETAIL_ASSIGN(TemporaryPath folder, make_temporary_folder("stdin"));
  const fs::path path = folder.path() / fmt::format("stdin{}", ending_of(bytes));
  DOVETAIL_TRY(write_file(path, bytes));
  stdin_file().emplace(std::move(folder), path);
  show_as(path.string(), "stdin");
  return path.string();
}

void forget_stdin() { stdin_file().reset(); }

bool is_stdin_file(const fs::path& path) { return stdin_file() && stdin_file()->path == path; }

Result<void> check_folder_of(std::string_view option, const std::string& path) {
  fs::path parent = fs::path(path).parent_path();
  if (path.ends_with('/')) parent = parent.parent_path();  // "DIR/"
  std::error_code error;
  if (path.empty() || path == kStandardStream || parent.empty() || fs::exists(parent, error)) return {};
  return Diagnostic{"bad usage", fmt::format("{} {}", option, path),
                    fmt::format("there is no folder {}", parent.string()),
                    fmt::format("check the path, or create the folder first: mkdir -p {}", parent.string())};
}

Result<void> write_result_file(const fs::path& path, std::span<const std::byte> bytes) {
  return write_result_file(path, Pieces{bytes});
}

Result<void> write_result_file(const fs::path& path, const Pieces& pieces) {
  if (path != kStandardStream) {
    DOVETAIL_TRY(check_folder_of("the output", path.string()));
    return write_file(path, pieces);
  }
  flush_output();
  if (std::ranges::all_of(pieces, [](auto bytes) { return write_all(STDOUT_FILENO, bytes); })) return {};
  if (errno == EPIPE) {
    end_by_reader();
    return {};
  }
  return Diagnostic{"cannot write the output", "stdout", std::strerror(errno), "check that the disk is not full",
                    cause_of(errno)};
}

Result<void> write_result_text(const fs::path& path, std::string_view text) {
  const std::string shown = with_shown_names(text);
  return write_result_file(path, std::as_bytes(std::span(shown.data(), shown.size())));
}

Result<void> write_result_npy(const fs::path& path, const NdArray& array) {
  return write_result_file(path, format_npy(array));
}

}  // namespace dovetail::cli
