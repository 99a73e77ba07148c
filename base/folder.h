// Listing of folders.
#pragma once

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>
#include <vector>

namespace dovetail {

// The folder's entries, sorted by name; empty if the folder is missing or cannot be read. Throws std::bad_alloc when
// memory runs out, which std::filesystem reports as an unreadable folder.
inline std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) entries.push_back(entry.path());
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  std::ranges::sort(entries);
  return entries;
}

}  // namespace dovetail
