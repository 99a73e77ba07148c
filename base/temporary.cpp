#include "base/temporary.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dovetail {

namespace {

namespace fs = std::filesystem;

// The state that the signal handler reads: no heap memory, and every entry is complete when `used` is true.
constexpr std::size_t kPathBytes = 4096;  // PATH_MAX
struct Slot {
  std::atomic<bool> taken{false}, used{false};
  pid_t group = 0;  // process group; 0: the entry is a path
  std::array<char, kPathBytes> path{};
};
std::array<Slot, 64> slots;

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> former_actions;

// A signal handler may call only few functions, so another program removes the path.
void remove_by_program(char* path) {
  const pid_t child = ::_Fork();  // async-signal-safe; fork() takes locks
  if (child == 0) {
    char* const arguments[] = {const_cast<char*>("rm"), const_cast<char*>("-rf"), const_cast<char*>("--"), path,
                               nullptr};
    ::execv("/bin/rm", arguments);
    ::_exit(127);
  }
  if (child > 0)
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void end_groups() {
  for (Slot& slot : slots)
    if (slot.used.load() && slot.group > 0) ::kill(-slot.group, SIGKILL);
}

void handle(int signal) {
  const int before = errno;
  const auto number = static_cast<std::size_t>(std::ranges::find(kSignals, signal) - kSignals.begin());
  end_groups();
  if (former_actions[number].sa_handler != SIG_DFL) {  // another handler decides what the signal means
    former_actions[number].sa_handler(signal);
    errno = before;
    return;
  }
  remove_temporaries();
  // The process ends by the signal, as its parent expects.
  ::sigaction(signal, &former_actions[number], nullptr);
  ::raise(signal);
}

// The handlers are installed again each time, since other code may have replaced them.
void take_signals() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  struct sigaction action {};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now {};
    ::sigaction(kSignals[i], nullptr, &now);
    if (now.sa_handler == handle || now.sa_handler == SIG_IGN || (now.sa_flags & SA_SIGINFO) != 0) continue;
    former_actions[i] = now;
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

// -1: no slot is free; the file or group then remains if a signal ends the process.
int take_slot(const fs::path& path, pid_t group) {
  take_signals();
  if (path.native().size() + 1 > kPathBytes) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].taken.exchange(true)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.native().size() + 1);
    slots[i].group = group;
    slots[i].used.store(true);
    return static_cast<int>(i);
  }
  return -1;
}

void give_slot_back(int slot) {
  if (slot < 0) return;
  slots[static_cast<std::size_t>(slot)].used.store(false);
  slots[static_cast<std::size_t>(slot)].taken.store(false);
}

}  // namespace

void remove_temporaries() noexcept {
  end_groups();
  for (Slot& slot : slots)
    if (slot.used.load() && slot.group == 0 && ::unlink(slot.path.data()) != 0 && errno != ENOENT)
      remove_by_program(slot.path.data());
}

TemporaryPath::TemporaryPath(fs::path path) : path_(std::move(path)), slot_(take_slot(path_, 0)) {}
TemporaryPath::TemporaryPath(TemporaryPath&& other) noexcept
    : path_(std::move(other.path_)), slot_(std::exchange(other.slot_, -1)) {
  other.path_.clear();
}

TemporaryPath::~TemporaryPath() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  give_slot_back(slot_);
}

Result<TemporaryPath> make_temporary_folder(std::string_view purpose) {
  std::error_code error;
  const char* const set = std::getenv("TMPDIR");  // empty: as if it were not set
  const fs::path parent = set != nullptr && *set == '\0' ? fs::path("/tmp") : fs::temp_directory_path(error);
  const auto bad = [&](const fs::path& where, std::string why, Cause cause) {
    return Diagnostic{"cannot make a temporary folder", where.string(), std::move(why),
                      "set TMPDIR to a writable folder with free space", cause};
  };
  if (error)
    return bad(std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp", error.message(), Cause::input);
  std::string name = (parent / fmt::format("dovetail-{}-XXXXXX", purpose)).string();
  if (::mkdtemp(name.data()) == nullptr) return bad(parent, std::strerror(errno), cause_of(errno));
  try {
    return TemporaryPath(name);
  } catch (...) {  // no memory to register it
    ::rmdir(name.c_str());
    throw;
  }
}

TemporaryProcessGroup::TemporaryProcessGroup(pid_t group) : group_(group), slot_(take_slot({}, group)) {}
TemporaryProcessGroup::~TemporaryProcessGroup() {
  ::kill(-group_, SIGKILL);
  give_slot_back(slot_);
}

}  // namespace dovetail
