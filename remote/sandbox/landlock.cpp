#include "remote/sandbox/landlock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dovetail::remote {

namespace {

// The numbers of the system calls, equal on all architectures.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;

// linux/landlock.h: rights to files.
constexpr std::uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3,
                        kRemoveFolder = 1 << 4, kRemoveFile = 1 << 5, kMakeFolder = 1 << 7, kMakeFile = 1 << 8,
                        kMakeLink = 1 << 12, kRefer = 1 << 13, kTruncate = 1 << 14, kControlDevice = 1 << 15;
constexpr std::uint64_t kAllOfAbi1 = (1 << 13) - 1;  // also making links, sockets, pipes and devices
constexpr std::uint64_t kOnFiles = kExecute | kWriteFile | kReadFile | kTruncate | kControlDevice;
constexpr std::uint64_t kBindTcp = 1 << 0, kConnectTcp = 1 << 1;
constexpr std::uint64_t kScopeAbstractSockets = 1 << 0, kScopeSignals = 1 << 1;

struct Ruleset {
  std::uint64_t files = 0, network = 0, scopes = 0;  // what is denied unless a rule allows it
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t rights;
  std::int32_t file;
};
constexpr int kPathBeneath = 1;

std::uint64_t handled_rights(int abi) {
  std::uint64_t rights = kAllOfAbi1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= kLandlockTruncates) rights |= kTruncate;
  if (abi >= 5) rights |= kControlDevice;
  return rights;
}

std::uint64_t rights_of(FileAccess access) {
  constexpr std::uint64_t kRead = kReadFile | kReadFolder;
  constexpr std::uint64_t kChange =
      kRead | kWriteFile | kTruncate | kMakeFile | kMakeFolder | kRemoveFile | kRemoveFolder | kRefer;
  switch (access) {
    case FileAccess::read: return kRead;
    case FileAccess::execute: return kRead | kExecute;
    case FileAccess::use: return kReadFile | kWriteFile | kTruncate | kControlDevice;
    case FileAccess::change: return kChange;
    case FileAccess::change_and_execute: return kChange | kMakeLink | kExecute;
  }
  return 0;
}

bool add_rule(int rules, int file, std::uint64_t rights) noexcept {
  const PathBeneath rule{rights, file};
  return ::syscall(kAddRule, rules, kPathBeneath, &rule, 0) == 0;
}

}  // namespace

int landlock_abi() {
  constexpr unsigned kVersion = 1;
  const long abi = ::syscall(kCreateRuleset, nullptr, 0, kVersion);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Result<Descriptor> make_landlock_rules(const std::vector<FileRule>& rules, int abi) {
  const auto refused = [](const std::string& where) {
    return Diagnostic{"cannot confine a command", where, fmt::format("Landlock: {}", std::strerror(errno)),
                      "report it with the kernel's version (`uname -r`)", cause_of(errno)};
  };
  Ruleset all;
  all.files = handled_rights(abi);
  if (abi >= kLandlockTcp) all.network = kBindTcp | kConnectTcp;
  if (abi >= kLandlockSignals) all.scopes = kScopeAbstractSockets | kScopeSignals;
  // A kernel accepts a longer structure than it knows if the rest is 0.
  Descriptor made(static_cast<int>(::syscall(kCreateRuleset, &all, sizeof all, 0)));
  if (made.file() < 0) return refused("");
  for (const FileRule& rule : rules) {
    const Descriptor file(::open(rule.path.c_str(), O_PATH | O_CLOEXEC));
    if (file.file() < 0 && (errno == ENOENT || errno == ENOTDIR)) continue;
    struct ::stat status;
    if (file.file() < 0 || ::fstat(file.file(), &status) != 0) return refused(rule.path.string());
    std::uint64_t rights = rights_of(rule.access) & all.files;
    if (!S_ISDIR(status.st_mode)) rights &= kOnFiles;
    if (!add_rule(made.file(), file.file(), rights)) return refused(rule.path.string());
  }
  return made;
}

bool add_landlock_reading(int rules, const char* path) noexcept {
  const int file = ::open(path, O_PATH | O_CLOEXEC);
  if (file < 0) return false;
  const bool added = add_rule(rules, file, kReadFile | kReadFolder);
  ::close(file);
  return added;
}

bool apply_landlock(int rules) noexcept { return ::syscall(kRestrictSelf, rules, 0) == 0; }

}  // namespace dovetail::remote
