#include "remote/store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/printable.h"
#include "base/user_folder.h"

namespace dovetail::remote {

namespace {

namespace fs = std::filesystem;

// Digests become names of files, so nothing else may pass.
Result<std::string> checked_digest(std::string_view sha256) {
  constexpr std::size_t kDigits = 64;
  const auto is_digit = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  };
  if (sha256.size() == kDigits && std::ranges::all_of(sha256, is_digit)) return std::string(sha256);
  return Diagnostic{"cannot find a file by its hash", printable(sha256.substr(0, kDigits)),
                    fmt::format("a SHA-256 has {} hexadecimal digits, 0 to 9 and a to f", kDigits),
                    "give the hash as `sha256sum` prints it"};
}

Diagnostic bad_upload(std::string_view sha256, std::string why, std::string hint, Cause cause = Cause::input) {
  return {"cannot store an upload", std::string(sha256), std::move(why), std::move(hint), cause};
}
Diagnostic failed_upload(std::string_view sha256, const char* hint = "free some space on the board") {
  return bad_upload(sha256, std::strerror(errno), hint, cause_of(errno));
}

std::optional<std::uint64_t> size_of(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(bytes);
}

// The time of the last use, by which files are removed, is that of the last change in the file system.
void touch(const fs::path& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

// Calls `piece` with all bytes of a file. False: errno holds the reason.
template <typename Function>
bool read_pieces(int file, const Function& piece) {
  std::vector<std::byte> bytes(std::size_t{1} << 18);
  for (;;) {
    const ssize_t count = ::read(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    if (!piece(std::span<const std::byte>(bytes).first(static_cast<std::size_t>(count)))) return false;
  }
}

}  // namespace

template <typename Work>
bool BlobStore::with_space(const std::string& sha256, std::uint64_t bytes, const Work& work) {
  while (!work()) {
    const int error = errno;
    if ((error != ENOSPC && error != EDQUOT) || !room_->free_disk(sha256, bytes)) return errno = error, false;
  }
  return true;
}

Result<BlobStore> BlobStore::open(const fs::path& folder, const StoreLimits& limits) {
  auto room = std::make_shared<StoreRoom>(limits);
  room->add(folder);
  return open(folder, std::move(room));
}

Result<BlobStore> BlobStore::open(const fs::path& folder, std::shared_ptr<StoreRoom> room) {
  for (const fs::path& part : {folder, folder / kCompleteFolder, folder / kUploadFolder})
    DOVETAIL_TRY(make_private_folder(part));
  DOVETAIL_ASSIGN(auto lock, FileLock::try_take(folder / "lock"));
  if (!lock)
    return Diagnostic{"cannot open the store of uploaded files", folder.string(), "another process uses it",
                      "end the other `dovetail serve`, or give this one another folder"};
  return BlobStore(folder, std::move(room), *std::move(lock));
}

Result<std::uint64_t> BlobStore::have(std::string_view sha256, std::uint64_t bytes) {
  DOVETAIL_ASSIGN(const std::string digest, checked_digest(sha256));
  if (const auto there = size_of(complete(digest)); there && (*there == bytes || !remove_if_damaged(digest))) {
    if (*there != bytes)
      return bad_upload(digest, fmt::format("the file with this hash has {} bytes, not {}", *there, bytes),
                        "give the size of the file that was hashed");
    touch(complete(digest));
    room_->keep(complete(digest), bytes);
    return bytes;
  }
  const std::uint64_t there = size_of(partial(digest)).value_or(0);
  if (there < bytes) return there;
  // All bytes are here, but the board was ended before it checked them; or they are those of a file of another size.
  DOVETAIL_ASSIGN(const Upload* const upload, find_upload(digest));
  if (upload->bytes == bytes && finish(digest, *upload).ok()) return bytes;
  forget(digest);
  return 0;
}

// Whether a complete file has another hash than its name says.
bool BlobStore::remove_if_damaged(const std::string& sha256) {
  const Descriptor file(::open(complete(sha256).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  Sha256 hash;
  const auto add = [&](std::span<const std::byte> bytes) {
    hash.add(bytes);
    return true;
  };
  if (file.file() >= 0 && read_pieces(file.file(), add) && hash.digits() == sha256) return false;
  std::error_code ignored;
  fs::remove(complete(sha256), ignored);
  room_->forget(complete(sha256));
  return true;
}

Result<std::uint64_t> BlobStore::append(std::string_view sha256, std::uint64_t bytes, std::uint64_t offset,
                                        std::span<const std::byte> piece) {
  DOVETAIL_ASSIGN(const std::uint64_t there, have(sha256, bytes));
  const std::string digest(sha256);
  if (bytes > room_->limits().file_bytes)
    return bad_upload(digest, fmt::format("{} bytes > limit {} bytes of a file", bytes, room_->limits().file_bytes),
                      "raise the board's limit (`dovetail serve --help`)");
  if (offset > bytes || piece.size() > bytes - offset)
    return bad_upload(digest,
                      fmt::format("{} bytes from byte {} on exceed the file's {} bytes", piece.size(), offset, bytes),
                      "send the file that was announced");
  if (offset > there)
    return bad_upload(digest, fmt::format("the piece begins at byte {}, but {} bytes are here", offset, there),
                      fmt::format("continue at byte {}", there));
  if (fs::exists(complete(digest))) return bytes;
  piece = piece.subspan(std::min<std::size_t>(piece.size(), there - offset));
  DOVETAIL_TRY(room_->make_room(digest, bytes - there));
  DOVETAIL_ASSIGN(Upload* const upload, find_upload(digest));
  const Descriptor file(::open(partial(digest).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (file.file() < 0) return failed_upload(digest);
  const auto write = [&] {
    if (write_all(file.file(), piece)) return true;
    const int error = errno;
    [[maybe_unused]] const int cut = ::ftruncate(file.file(), static_cast<off_t>(upload->bytes));
    return errno = error, false;
  };
  if (!with_space(digest, bytes - there, write)) return failed_upload(digest);
  upload->hash.add(piece);
  upload->bytes += piece.size();
  room_->keep(partial(digest), upload->bytes);
  if (upload->bytes < bytes) return upload->bytes;
  DOVETAIL_TRY(finish(digest, *upload));
  return bytes;
}

// The upload's state; after a restart of the board it is read from the file.
Result<BlobStore::Upload*> BlobStore::find_upload(const std::string& sha256) {
  const std::optional<std::uint64_t> there = size_of(partial(sha256));
  if (const auto known = uploads_.find(sha256); known != uploads_.end() && there == known->second.bytes)
    return &known->second;
  if (!there) DOVETAIL_TRY(room_->admit_upload(sha256));
  if (uploads_.size() > room_->limits().uploads)  // whose files were removed to make room
    std::erase_if(uploads_, [&](const auto& known) { return !size_of(partial(known.first)); });
  Upload& upload = uploads_[sha256] = Upload();
  Descriptor file;
  with_space(sha256, 0, [&] {
    file = Descriptor(::open(partial(sha256).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    return file.file() >= 0;
  });
  const auto add = [&](std::span<const std::byte> bytes) {
    upload.hash.add(bytes);
    upload.bytes += bytes.size();
    return true;
  };
  if (file.file() < 0 || !read_pieces(file.file(), add)) return failed_upload(sha256);
  room_->keep(partial(sha256), upload.bytes);
  return &upload;
}

Result<void> BlobStore::finish(const std::string& sha256, const Upload& upload) {
  if (const std::string found = upload.hash.digits(); found != sha256) {
    forget(sha256);
    return bad_upload(sha256, fmt::format("the uploaded bytes have the hash {}", found), "upload the file again");
  }
  // The bytes must be on the disk before the name is.
  for (const bool of_folder : {false, true}) {
    const auto rename = [&] { return ::rename(partial(sha256).c_str(), complete(sha256).c_str()) == 0; };
    if (of_folder && !with_space(sha256, 0, rename)) return failed_upload(sha256);
    const fs::path path = of_folder ? complete(sha256).parent_path() : partial(sha256);
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.file() < 0 || ::fsync(file.file()) != 0) return failed_upload(sha256);
  }
  room_->forget(partial(sha256));
  room_->keep(complete(sha256), upload.bytes);
  uploads_.erase(sha256);
  return {};
}

void BlobStore::forget(const std::string& sha256) {
  std::error_code ignored;
  fs::remove(partial(sha256), ignored);
  room_->forget(partial(sha256));
  uploads_.erase(sha256);
}

Result<void> BlobStore::place(std::string_view sha256, const fs::path& path) {
  DOVETAIL_ASSIGN(const std::string digest, checked_digest(sha256));
  const auto failed = [&](std::string why, std::string hint, Cause cause = Cause::input) {
    return Diagnostic{"cannot give an uploaded file to a command", path.string(), std::move(why), std::move(hint),
                      cause};
  };
  const Descriptor from(::open(complete(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (from.file() < 0) return failed(fmt::format("there is no complete file with the hash {}", digest), "upload it");
  const std::uint64_t bytes = size_of(complete(digest)).value_or(0);
  Sha256 hash;
  bool exists = false;
  const auto copy = [&] {
    const Descriptor to(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    exists = to.file() >= 0;
    if (!exists || ::lseek(from.file(), 0, SEEK_SET) != 0) return false;
    hash = Sha256();
    const bool copied = read_pieces(from.file(), [&](std::span<const std::byte> piece) {
      hash.add(piece);
      return write_all(to.file(), piece);
    });
    const int error = errno;
    if (!copied) ::unlink(path.c_str());
    return errno = error, copied;
  };
  if (!with_space(digest, bytes, copy))
    return failed(std::strerror(errno),
                  exists ? "free some space on the board" : "name a new file in the command's folder", cause_of(errno));
  if (hash.digits() == digest) {
    touch(complete(digest));
    room_->keep(complete(digest), bytes);
    return {};
  }
  std::error_code ignored;
  fs::remove(path, ignored);
  fs::remove(complete(digest), ignored);
  room_->forget(complete(digest));
  return failed(fmt::format("the stored file was damaged: its hash is {}, not {}", hash.digits(), digest),
                "upload it again", Cause::work);
}

Result<BlobStore::Pin> BlobStore::pin(std::string_view sha256) {
  DOVETAIL_ASSIGN(const std::string digest, checked_digest(sha256));
  return Pin(room_->pin(digest));
}

}  // namespace dovetail::remote
