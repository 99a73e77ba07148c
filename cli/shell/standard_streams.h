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

// Copies stdin into a temporary file of the process, so that it can be read twice; the file's suffix follows from its
// content. Reports call it "stdin". Error: stdin cannot be read, or the file cannot be written.
Result<std::string> file_of_stdin();
// Removes that file.
void forget_stdin();
// Whether `path` is the file of file_of_stdin().
bool is_stdin_file(const std::filesystem::path& path);

// Error: the parent folder of `path` does not exist. It is not created, since the path may be misspelled.
Result<void> check_folder_of(std::string_view option, const std::string& path);

// Writes a result of a command to a file or to stdout ("-"). Errors: those of write_file(); the folder does not exist.
Result<void> write_result_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
Result<void> write_result_file(const std::filesystem::path& path, const Pieces& pieces);
Result<void> write_result_text(const std::filesystem::path& path, std::string_view text);
Result<void> write_result_npy(const std::filesystem::path& path, const NdArray& array);

}  // namespace dovetail::cli
