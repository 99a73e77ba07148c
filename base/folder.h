// What is in a folder.
#pragma once

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>
#include <vector>

namespace dovetail {

// Its entries, in the order of their names; none of a folder that is not there or cannot be read. Where memory runs out
// std::bad_alloc is thrown, which std::filesystem takes for a folder that cannot be read.
inline std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) entries.push_back(entry.path());
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  std::ranges::sort(entries);
  return entries;
}

}  // namespace dovetail
