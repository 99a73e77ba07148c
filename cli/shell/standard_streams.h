// `-` on the command line: stdin where a file is read, stdout where one is written.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/ndarray.h"
#include "base/result.h"

namespace dovetail::cli {

inline constexpr std::string_view kStandardStream = "-";

bool is_stdin_terminal();

// All of stdin, in a file that goes with the process: what reads it may do so twice, and knows its kind by its name,
// which is that of its content. Reports call it "stdin". Error: it cannot be read or kept.
Result<std::string> file_of_stdin();
// Whether that is the file.
bool is_stdin_file(const std::filesystem::path& path);

// Error: there is no folder around what `option` names. A path that was mistyped makes none.
Result<void> check_folder_of(std::string_view option, const std::string& path);

// A result of a command, to a file or to stdout ("-"). Errors as write_file() has them; or there is no such folder.
Result<void> write_result_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
Result<void> write_result_file(const std::filesystem::path& path, const Pieces& pieces);
Result<void> write_result_text(const std::filesystem::path& path, std::string_view text);
Result<void> write_result_npy(const std::filesystem::path& path, const NdArray& array);

}  // namespace dovetail::cli
