// Reading and writing whole files, with diagnostics that name the path.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail {

// Errors: missing, a directory, unreadable, larger than `limit_bytes`, or a pipe to which no program writes.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path,
                                         std::size_t limit_bytes = std::size_t{1} << 34);
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit_bytes = std::size_t{1} << 30);

// Byte ranges that are contiguous in a file, but not necessarily in memory.
using Pieces = std::vector<std::span<const std::byte>>;

// Writes to a temporary file in the folder of `path` and renames it, so that a failure loses nothing. Creates missing
// parent folders.
Result<void> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
Result<void> write_file(const std::filesystem::path& path, const Pieces& pieces);
Result<void> write_text_file(const std::filesystem::path& path, std::string_view text);
// Appends at the end, contiguously if the disk has room.
Result<void> append_text_file(const std::filesystem::path& path, std::string_view text);

// Writes all bytes to an open file; false: errno holds the reason.
bool write_all(int file, std::span<const std::byte> bytes);

}  // namespace dovetail
