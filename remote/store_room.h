// What the stores of a board hold together: sizes and last uses of all files, in memory, and the limits on them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail::remote {

struct StoreLimits {
  std::uint64_t total_bytes = std::uint64_t{8} << 30;      // of all files, complete or not
  std::uint64_t file_bytes = std::uint64_t{4} << 30;       // of each
  std::size_t files = 50'000;                              // complete or not
  std::size_t uploads = 1'000;                             // that are not complete
  std::chrono::seconds upload_age = std::chrono::days(7);  // after which an upload that nobody continues is removed
};

// Files are removed where there is no room, those that were not used for the longest time first, except pinned ones.
// One thread at a time may use it.
class StoreRoom {
 public:
  explicit StoreRoom(const StoreLimits& limits) : limits_(limits) {}

  // Counts the files that a store's folder has from before, and removes uploads that are too old.
  void add(const std::filesystem::path& folder);

  // Makes room for an upload that grows by `bytes`. Error: pinned files take the room.
  Result<void> make_room(const std::string& sha256, std::uint64_t bytes);
  // Makes room for one upload more. Error: there are too many pinned files.
  Result<void> admit_upload(const std::string& sha256);
  // Removes files of together at least `bytes`, if there are so many that are unused, since the disk is full. False:
  // none was removed.
  bool free_disk(const std::string& sha256, std::uint64_t bytes);

  // The file is there, has this size, and is used now.
  void keep(const std::filesystem::path& path, std::uint64_t bytes);
  void forget(const std::filesystem::path& path);

  // As long as it exists, files with this hash are not removed.
  std::shared_ptr<const char> pin(const std::string& sha256);

  std::uint64_t bytes() const { return bytes_; }
  const StoreLimits& limits() const { return limits_; }

 private:
  using Time = std::chrono::system_clock::time_point;
  struct Kept {
    std::uint64_t bytes = 0;
    Time used = {};
  };
  using Files = std::map<std::filesystem::path, Kept>;

  bool is_pinned(const std::string& sha256) const;
  // The files that may be removed, the least recently used first.
  std::vector<Files::iterator> unused(const std::string& but_sha256, bool uploads_only = false);
  bool remove(Files::iterator file);
  void remove_old_uploads();

  StoreLimits limits_;
  Files files_;
  std::uint64_t bytes_ = 0;                                             // of files_
  std::size_t uploads_ = 0;                                             // among files_
  Time next_look_ = {};                                                 // for old uploads
  std::map<std::string, std::weak_ptr<const char>, std::less<>> pins_;  // by hash
};

// The parts of a store's folder.
inline constexpr const char* kCompleteFolder = "files";
inline constexpr const char* kUploadFolder = "partial";

}  // namespace dovetail::remote
