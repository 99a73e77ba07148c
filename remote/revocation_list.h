// The file of revoked certificates. It is read again whenever it has changed, so that a revocation needs no restart.
//
// Each line has the SHA-256 fingerprint of a certificate; '#' begins a comment.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"

namespace dovetail::remote {

// The line of the file that revokes a certificate.
std::string revocation_line(std::string_view fingerprint, std::string_view name);

// May be used from several threads.
class RevocationList {
 public:
  // Errors: the file is missing, unreadable, malformed, or writable by another user. A missing file is an error because
  // a mistyped path would otherwise revoke nothing.
  static Result<std::unique_ptr<RevocationList>> read(const std::filesystem::path& path);

  // Whether a certificate is revoked now. A file that has become unusable revokes no less than before: if it is missing
  // or unreadable, the former list stays in force; if some of its lines are malformed, the former list stays in force
  // and the other lines are added. Refusing every connection instead would let a typing error stop the farm.
  bool contains(const std::string& fingerprint);
  // Why the file is unusable now; nullopt: the list is as in the file. For the log of the queue.
  std::optional<Diagnostic> warning();

 private:
  // What changes whenever the content does.
  struct Version {
    dev_t device;
    ino_t inode;
    off_t bytes;
    timespec modified, changed;
    bool operator==(const Version& other) const;
  };
  explicit RevocationList(std::filesystem::path path) : path_(std::move(path)) {}
  void refresh();
  bool read_content();  // false: the file could not be read

  std::filesystem::path path_;
  std::mutex mutex_;
  std::set<std::string> fingerprints_;
  std::optional<Version> version_;  // of the content that was read; nullopt: the file is read at the next call
  std::optional<Diagnostic> warning_;
};

}  // namespace dovetail::remote
