// Files that clients have uploaded, kept by their SHA-256, so that each is transferred once: a board's store. Uploads
// arrive in pieces and continue after an interruption, also of the board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_lock.h"
#include "base/result.h"
#include "base/sha256.h"
#include "remote/store_room.h"

namespace dovetail::remote {

// Complete files are renamed into place after their bytes are on the disk and have the right hash, so a crash leaves
// either an incomplete file, whose upload continues, or the complete one. Stores of several clients share a room
// (store_room.h). Where it or the disk is full, the files that were not used for the longest time are removed.
//
// One thread at a time may use a store.
class BlobStore {
 public:
  // Creates the folder if it is missing. Errors: another process has this store; the folder is in other hands.
  static Result<BlobStore> open(const std::filesystem::path& folder, std::shared_ptr<StoreRoom> room);
  // With a room of its own.
  static Result<BlobStore> open(const std::filesystem::path& folder, const StoreLimits& limits = {});

  // The bytes that are here, from the beginning; `bytes` of them: the file is complete. Errors of this and the other
  // functions: `sha256` is not 64 lowercase hexadecimal digits; a complete file has another size.
  Result<std::uint64_t> have(std::string_view sha256, std::uint64_t bytes);

  // Adds a piece of a file with `bytes` bytes, and returns the bytes that are here then. With the last piece the file
  // is complete. Of a piece that begins before what is here only the rest is added, so that two clients may upload one
  // file. Errors: the piece begins after what is here, or ends after the file's end; the whole file has another hash,
  // and is removed; a limit; the disk is full.
  Result<std::uint64_t> append(std::string_view sha256, std::uint64_t bytes, std::uint64_t offset,
                               std::span<const std::byte> piece);

  // Copies a complete file to `path`, which must not exist: a change of the copy does not change the original. The hash
  // is checked again. Errors: the file is not here; it is damaged, and is removed; `path` cannot be written.
  Result<void> place(std::string_view sha256, const std::filesystem::path& path);

  // As long as a Pin exists, its file is not removed.
  class Pin {
   public:
    Pin(Pin&& other) noexcept = default;
    Pin& operator=(Pin&& other) noexcept = default;

   private:
    friend BlobStore;
    explicit Pin(std::shared_ptr<const char> use) : use_(std::move(use)) {}
    std::shared_ptr<const char> use_;
  };
  // The file may still be incomplete.
  Result<Pin> pin(std::string_view sha256);

 private:
  // An upload that this process has seen.
  struct Upload {
    Sha256 hash;
    std::uint64_t bytes = 0;
  };

  BlobStore(std::filesystem::path folder, std::shared_ptr<StoreRoom> room, FileLock lock)
      : folder_(std::move(folder)), room_(std::move(room)), lock_(std::move(lock)) {}

  std::filesystem::path complete(std::string_view sha256) const { return folder_ / kCompleteFolder / sha256; }
  std::filesystem::path partial(std::string_view sha256) const { return folder_ / kUploadFolder / sha256; }
  Result<Upload*> find_upload(const std::string& sha256);
  Result<void> finish(const std::string& sha256, const Upload& upload);
  bool remove_if_damaged(const std::string& sha256);
  void forget(const std::string& sha256);
  // Calls `work` again while the disk is full and unused files can be removed. False: errno holds the reason.
  template <typename Work>
  bool with_space(const std::string& sha256, std::uint64_t bytes, const Work& work);

  std::filesystem::path folder_;
  std::shared_ptr<StoreRoom> room_;
  FileLock lock_;
  std::map<std::string, Upload, std::less<>> uploads_;
};

}  // namespace dovetail::remote
