#include "remote/revocation_list.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/printable.h"
#include "base/user_folder.h"

namespace dovetail::remote {

namespace {

constexpr std::size_t kMostBytes = 16 << 20;
constexpr std::size_t kFingerprintDigits = 64;

// The fingerprint in lower case without colons, which `openssl x509 -fingerprint` prints; empty: the line has none.
// nullopt: the line is malformed.
std::optional<std::string> fingerprint_in(std::string_view line) {
  std::string digits;
  for (const char c : line.substr(0, line.find('#'))) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) digits += c;
    else if (c >= 'A' && c <= 'F') digits += static_cast<char>(c - 'A' + 'a');
    else if (c != ' ' && c != '\t' && c != '\r' && c != ':') return std::nullopt;
  }
  if (!digits.empty() && digits.size() != kFingerprintDigits) return std::nullopt;
  return digits;
}

bool equal(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

std::string revocation_line(std::string_view fingerprint, std::string_view name) {
  return fmt::format("{}  # {}\n", fingerprint, name);
}

bool RevocationList::Version::operator==(const Version& other) const {
  return device == other.device && inode == other.inode && bytes == other.bytes && equal(modified, other.modified) &&
         equal(changed, other.changed);
}

Result<std::unique_ptr<RevocationList>> RevocationList::read(const std::filesystem::path& path) {
  std::unique_ptr<RevocationList> list(new RevocationList(path));
  if (auto problem = list->warning()) return *std::move(problem);
  return list;
}

bool RevocationList::contains(const std::string& fingerprint) {
  const std::lock_guard lock(mutex_);
  refresh();
  return fingerprints_.contains(fingerprint);
}

std::optional<Diagnostic> RevocationList::warning() {
  const std::lock_guard lock(mutex_);
  refresh();
  return warning_;
}

void RevocationList::refresh() {
  // The status is taken before the content, so that a change between the two is seen by the next call.
  struct ::stat status;
  std::optional<Version> version;
  if (::stat(path_.c_str(), &status) == 0)
    version = {status.st_dev, status.st_ino, status.st_size, status.st_mtim, status.st_ctim};
  if (version && version == version_) return;
  version_.reset();
  // Two changes within one tick of the file system's clock have equal times.
  constexpr std::time_t kTickSeconds = 2;
  if (read_content() && version && std::time(nullptr) - version->changed.tv_sec > kTickSeconds) version_ = version;
}

bool RevocationList::read_content() {
  constexpr const char* kHint =
      "repair the file: one fingerprint of 64 hexadecimal digits in a line, after `#` a comment. Until then, what the "
      "list revoked before stays revoked";
  const auto text = read_text_file(path_, kMostBytes);
  if (!text) {
    warning_ = text.errors().front();
    warning_->what = "cannot read the list of revoked certificates";
    warning_->hint = "restore the file; if no certificate was ever revoked, an empty file is right";
    return false;
  }
  if (auto why = other_hands(path_)) {
    warning_ = Diagnostic{"cannot trust the list of revoked certificates", path_.string(), *std::move(why),
                          "take ownership of the file and remove the others' permission to write: chown, chmod go-w"};
    return true;
  }
  std::set<std::string> read;
  std::optional<Diagnostic> problem;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const std::string_view line = std::string_view(*text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const auto fingerprint = fingerprint_in(line);
    if (fingerprint && !fingerprint->empty()) read.insert(*fingerprint);
    if (!fingerprint && !problem)
      problem = Diagnostic{
          "the list of revoked certificates is malformed", fmt::format("{}:{}", path_.string(), number),
          fmt::format("\"{}\" is not a fingerprint of 64 hexadecimal digits", printable(line.substr(0, 80))), kHint};
  }
  if (problem) fingerprints_.merge(read);
  else fingerprints_ = std::move(read);
  warning_ = std::move(problem);
  return true;
}

}  // namespace dovetail::remote
