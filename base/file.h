// Whole files in and out, with diagnostics that name the path.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail {

// Errors: missing, a directory, unreadable, or larger than `limit_bytes`.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path,
                                         std::size_t limit_bytes = std::size_t{1} << 34);
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit_bytes = std::size_t{1} << 30);

// Bytes that follow one another in a file, and need not do so in memory.
using Pieces = std::vector<std::span<const std::byte>>;

// Writes to a temporary beside `path` and renames it, so that a failure loses nothing. Creates missing parent folders.
Result<void> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
Result<void> write_file(const std::filesystem::path& path, const Pieces& pieces);
Result<void> write_text_file(const std::filesystem::path& path, std::string_view text);
// At its end, in one piece where the disk has room for it.
Result<void> append_text_file(const std::filesystem::path& path, std::string_view text);

// All of it to an open file; false: errno says why not.
bool write_all(int file, std::span<const std::byte> bytes);

}  // namespace dovetail
