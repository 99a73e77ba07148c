#include "remote/store_room.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/folder.h"

namespace dovetail::remote {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kBetweenLooks{1};

bool is_upload(const fs::path& path) { return path.parent_path().filename() == kUploadFolder; }

Diagnostic no_room(const std::string& sha256, std::string why) {
  return {"cannot store an upload", sha256, std::move(why),
          "wait until other commands have ended, or raise the board's limit", Cause::resource};
}

}  // namespace

void StoreRoom::add(const fs::path& folder) {
  for (const char* part : {kCompleteFolder, kUploadFolder})
    for (const fs::path& path : entries_of(folder / part)) {
      struct ::stat status;
      if (::stat(path.c_str(), &status) != 0) continue;
      keep(path, static_cast<std::uint64_t>(status.st_size));
      files_[path].used = Time(std::chrono::duration_cast<Time::duration>(
          std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec)));
    }
  remove_old_uploads();
}

void StoreRoom::keep(const fs::path& path, std::uint64_t bytes) {
  const auto [file, is_new] = files_.try_emplace(path);
  if (is_new && is_upload(path)) ++uploads_;
  bytes_ += bytes - file->second.bytes;
  file->second = {bytes, std::chrono::system_clock::now()};
}

void StoreRoom::forget(const fs::path& path) {
  const auto file = files_.find(path);
  if (file == files_.end()) return;
  bytes_ -= file->second.bytes;
  if (is_upload(path)) --uploads_;
  files_.erase(file);
}

std::shared_ptr<const char> StoreRoom::pin(const std::string& sha256) {
  std::erase_if(pins_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = pins_[sha256];
  auto use = known.lock();
  if (!use) known = use = std::make_shared<const char>('\0');
  return use;
}

bool StoreRoom::is_pinned(const std::string& sha256) const {
  const auto pin = pins_.find(sha256);
  return pin != pins_.end() && !pin->second.expired();
}

std::vector<StoreRoom::Files::iterator> StoreRoom::unused(const std::string& but_sha256, bool uploads_only) {
  std::vector<Files::iterator> found;
  for (auto file = files_.begin(); file != files_.end(); ++file) {
    const std::string name = file->first.filename().string();
    if (name != but_sha256 && !is_pinned(name) && (!uploads_only || is_upload(file->first))) found.push_back(file);
  }
  std::ranges::sort(found, {}, [](const Files::iterator& file) { return file->second.used; });
  return found;
}

bool StoreRoom::remove(Files::iterator file) {
  std::error_code error;
  fs::remove(file->first, error);
  if (error) return false;
  forget(fs::path(file->first));
  return true;
}

Result<void> StoreRoom::make_room(const std::string& sha256, std::uint64_t bytes) {
  if (bytes <= limits_.total_bytes && bytes_ <= limits_.total_bytes - bytes) return {};
  const std::vector<Files::iterator> removable = unused(sha256);
  std::uint64_t kept = bytes_;
  for (const auto& file : removable) kept -= file->second.bytes;
  if (bytes > limits_.total_bytes || kept > limits_.total_bytes - bytes)
    return no_room(sha256, fmt::format("{} bytes more, with {} bytes in use, > limit {} bytes of the store", bytes,
                                       kept, limits_.total_bytes));
  for (const auto& file : removable) {
    if (bytes_ <= limits_.total_bytes - bytes) break;
    remove(file);
  }
  return {};
}

Result<void> StoreRoom::admit_upload(const std::string& sha256) {
  if (std::chrono::system_clock::now() >= next_look_) remove_old_uploads();
  if (uploads_ >= limits_.uploads) {
    const std::vector<Files::iterator> removable = unused(sha256, true);
    if (removable.empty() || !remove(removable.front()))
      return no_room(sha256,
                     fmt::format("{} uploads are incomplete and in use, of at most {}", uploads_, limits_.uploads));
  }
  if (files_.size() >= limits_.files) {
    const std::vector<Files::iterator> removable = unused(sha256);
    if (removable.empty() || !remove(removable.front()))
      return no_room(sha256, fmt::format("{} files are in use, of at most {}", files_.size(), limits_.files));
  }
  return {};
}

bool StoreRoom::free_disk(const std::string& sha256, std::uint64_t bytes) {
  std::uint64_t freed = 0;
  bool any = false;
  for (const auto& file : unused(sha256)) {
    if (any && freed >= bytes) break;
    const std::uint64_t its_bytes = file->second.bytes;
    if (!remove(file)) continue;
    freed += its_bytes;
    any = true;
  }
  return any;
}

void StoreRoom::remove_old_uploads() {
  const Time now = std::chrono::system_clock::now();
  next_look_ = now + kBetweenLooks;
  for (const auto& file : unused("", true))
    if (now - file->second.used > limits_.upload_age) remove(file);
}

}  // namespace dovetail::remote
