#include "explore/measure/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace dovetail::explore {

namespace {

using Clock = std::chrono::steady_clock;

// The interval at which the parent checks whether the child has ended or the work must stop. An answer wakes it at
// once.
constexpr std::chrono::milliseconds kLook{50};
// A longer answer is the output of a broken child.
constexpr std::uint64_t kMostAnswerBytes = std::uint64_t{1} << 30;

// The child writes this header, and then the answer.
struct Head {
  std::uint64_t bytes = 0;
  bool threw = false;
};

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int file() const { return file_; }
  void close() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

 private:
  int file_;
};

// Private writable memory, as counted by RLIMIT_DATA. 0: unknown.
std::uint64_t data_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;  // pages
  if (!(file >> size >> resident >> shared >> text >> library >> data)) return 0;
  return data * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(decltype(RLIMIT_CORE) what, std::uint64_t most) {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return;
  now.rlim_cur = std::min<rlim_t>(most, now.rlim_max);
  ::setrlimit(what, &now);
}

// Closes everything of its parent that the child must not have: terminal, signal handlers, files. Returns the file
// descriptor of the pipe, which may have changed.
int become_child(pid_t parent, int answer, std::optional<std::uint64_t> most_data_bytes, bool open_to_others) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  answer = ::fcntl(answer, F_DUPFD, 3);  // if the parent has no standard files, the pipe may have one of their numbers
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard < 3; ++standard) ::dup2(nothing, standard);
  ::close_range(3, static_cast<unsigned>(answer) - 1, 0);
  ::close_range(static_cast<unsigned>(answer) + 1, ~0U, 0);
  std::set_new_handler(nullptr);  // so that std::bad_alloc is thrown and becomes the answer
  limit(RLIMIT_CORE, 0);
  if (!open_to_others) ::prctl(PR_SET_DUMPABLE, 0);  // a crash is not reported to the system's collector either
  if (most_data_bytes) limit(RLIMIT_DATA, *most_data_bytes);
  return answer;
}

void send(int to, bool threw, std::span<const std::byte> answer) {
  const Head head{answer.size(), threw};
  if (write_all(to, std::as_bytes(std::span(&head, 1)))) write_all(to, answer);
}

[[noreturn]] void serve(const std::function<std::vector<std::byte>()>& function, int answer) {
  try {
    send(answer, false, function());
  } catch (const std::exception& exception) {
    send(answer, true, std::as_bytes(std::span(exception.what(), std::strlen(exception.what()))));
  } catch (...) {
    send(answer, true, {});
  }
  ::_exit(0);
}

// The child as its parent sees it. At the end of the scope its group is killed and it is reaped.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {
    ::setpgid(process, process);
  }  // the child does it too; one of them is first
  ~Child() { reap(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
  }
  // Returns the status from waitpid. Kills the group first: until the child is reaped, no other group can get its
  // number.
  int reap() {
    if (process_ == 0) return status_;
    ::kill(-process_, SIGKILL);
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return status_;
  }

 private:
  pid_t process_;
  int status_ = 0;
};

// Reads the answer piece by piece.
class Reader {
 public:
  explicit Reader(int from) : from_(from) {}

  // False: all writers have closed the pipe.
  bool read_some() {
    std::array<std::byte, 1 << 16> piece;
    const ssize_t count = ::read(from_, piece.data(), piece.size());
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    bytes_.insert(bytes_.end(), piece.begin(), piece.begin() + count);
    return count > 0 && bytes_.size() <= sizeof(Head) + kMostAnswerBytes;
  }
  // The answer, once it is complete.
  std::optional<ChildEnd> end() {
    Head head;
    if (bytes_.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, bytes_.data(), sizeof head);
    if (bytes_.size() - sizeof head != head.bytes) return std::nullopt;
    bytes_.erase(bytes_.begin(), bytes_.begin() + sizeof head);
    return ChildEnd{head.threw ? ChildEnding::threw : ChildEnding::returned, std::move(bytes_)};
  }

 private:
  int from_;
  std::vector<std::byte> bytes_;
};

ChildEnd end_without_answer(int status) {
  if (WIFSIGNALED(status)) return {ChildEnding::crashed, {}, WTERMSIG(status)};
  return {ChildEnding::exited, {}, WEXITSTATUS(status)};
}

ChildEnd await(Child& child, int from, const ChildLimits& limits) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds));
  Reader reader(from);
  bool open = true;
  for (;;) {
    if (limits.work != nullptr && limits.work->stopped()) return {ChildEnding::stopped};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return {ChildEnding::timed_out};
    const auto wait = static_cast<int>(std::min(left, open ? kLook : std::chrono::milliseconds(1)).count());
    pollfd file{open ? from : -1, POLLIN, 0};
    if (::poll(&file, 1, wait) > 0) {
      open = reader.read_some();
      if (auto end = reader.end()) return *std::move(end);
      continue;
    }
    // Another process that the child started may keep the pipe open. When the child has ended, all that it wrote can be
    // read.
    if (!child.has_ended()) continue;
    while (open && ::poll(&file, 1, 0) > 0) open = reader.read_some();
    if (auto end = reader.end()) return *std::move(end);
    return end_without_answer(child.reap());
  }
}

}  // namespace

std::string to_string(const ChildEnd& end, const ChildLimits& limits) {
  switch (end.ending) {
    case ChildEnding::returned: return "it returned";
    case ChildEnding::threw:
      return fmt::format("it failed: {}",
                         std::string_view(reinterpret_cast<const char*>(end.answer.data()), end.answer.size()));
    case ChildEnding::exited: return fmt::format("the process ended with status {}", end.number);
    case ChildEnding::crashed: {
      const char* name = ::sigdescr_np(end.number);
      return fmt::format("signal {} ended it: {}", end.number, name == nullptr ? "unknown" : name);
    }
    case ChildEnding::timed_out: return fmt::format("the process ran for more than {:g} s", limits.seconds);
    case ChildEnding::stopped: return "the process was stopped together with the command";
  }
  return "";
}

Result<ChildEnd> call_in_child(const std::function<std::vector<std::byte>()>& function, const ChildLimits& limits) {
  const auto refused = [](const char* what) {
    return Diagnostic{what, "", std::strerror(errno), "end some processes, or raise the limits (`ulimit -a`)",
                      Cause::resource};
  };
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return refused("cannot create a pipe");
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  std::optional<std::uint64_t> most_data_bytes;
  if (limits.memory_bytes) most_data_bytes = data_bytes() + *limits.memory_bytes;
  const pid_t parent = ::getpid();

  // No handler of this process may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t process = ::fork();
  if (process == 0) {
    const int answer = become_child(parent, to.file(), most_data_bytes, limits.open_to_others);
    serve(function, answer);
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  if (process < 0) return refused("cannot start a process");
  Child child(process);
  to.close();
  return await(child, from.file(), limits);
}

}  // namespace dovetail::explore
