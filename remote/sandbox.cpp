#include "remote/sandbox.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kit_folder.h"
#include "base/machine_code_permission.h"
#include "base/thread_pool.h"
#include "remote/sandbox/landlock.h"
#include "remote/sandbox/system_calls.h"

namespace dovetail::remote {

namespace {

namespace fs = std::filesystem;

// The command's descriptors: 0, 1, 2, and this one.
constexpr int kMessages = 3;
// Those that a new process needs have at least this number until then, so that none is overwritten by another.
constexpr int kFirstHigh = 10;

// ---- Messages between the processes

// What failed before the command's program began.
enum class Step : std::uint8_t { processes, files, folder, limits, capabilities, landlock, filter, program };
struct Failure {
  Step step = {};
  int error = 0;
};
// From the supervisor: the command's group when it has started, then its end.
struct Report {
  pid_t group = 0;
  bool timed_out = false, killed = false;
  int status = 0;  // as waitpid gives it
};

// ---- Before the fork

std::vector<FileRule> file_rules(const SandboxOrder& order) {
  const bool gpu = !order.devices.empty();
  std::vector<FileRule> rules;
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"})
    rules.push_back({path, FileAccess::execute});
  for (const char* path :
       {"/etc/ld.so.cache", "/etc/localtime", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system",
        "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage", "/dev/random", "/dev/urandom"})
    rules.push_back({path, FileAccess::read});
  for (const char* path : {"/dev/null", "/dev/zero"}) rules.push_back({path, FileAccess::use});
  rules.push_back({order.command.front(), FileAccess::execute});
  // Of the kit's folder, which may be ~/.local, only the kit's own. In a build it has links to the sources.
  const fs::path prefix = kit_prefix();
  for (const fs::path& folder : {prefix / "lib" / "dovetail", prefix / "share" / "dovetail"}) {
    rules.push_back({folder, FileAccess::execute});
    std::error_code ignored;
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored))
      if (entry.is_symlink(ignored)) rules.push_back({entry.path(), FileAccess::execute});
  }
  for (const fs::path& path : order.readable) rules.push_back({path, FileAccess::execute});
  for (const fs::path& path : order.devices) rules.push_back({path, FileAccess::use});
  // A GPU's driver reads about its device there, also in processes that the command starts.
  if (gpu)
    for (const char* path : {"/proc", "/sys"}) rules.push_back({path, FileAccess::read});
  rules.push_back({order.folder, order.machine_code ? FileAccess::change_and_execute : FileAccess::change});
  return rules;
}

struct ResourceLimit {
  decltype(RLIMIT_CORE) what;
  rlim_t most;
};

std::vector<ResourceLimit> resource_limits(const SandboxOrder& order) {
  constexpr rlim_t kOpenFiles = 1024;
  std::vector<ResourceLimit> limits{
      {RLIMIT_CORE, 0}, {RLIMIT_NOFILE, kOpenFiles}, {RLIMIT_FSIZE, order.limits.file_bytes}};
  if (order.limits.memory_bytes)
    limits.push_back({order.devices.empty() ? RLIMIT_AS : RLIMIT_DATA, *order.limits.memory_bytes});
  const double processor_seconds =
      std::ceil(order.limits.seconds + order.limits.grace_seconds) * available_processors() + 1;
  if (processor_seconds < 1e9) limits.push_back({RLIMIT_CPU, static_cast<rlim_t>(processor_seconds)});
  return limits;
}

// Everything that the new processes need: between fork and exec nothing may allocate.
struct Start {
  std::string folder;
  std::vector<std::string> words, variables;
  std::vector<char*> arguments, environment;
  std::vector<ResourceLimit> limits;
  std::vector<std::byte> filter;               // empty: the kernel has none
  Descriptor rules;                            // of Landlock; none: the kernel has none
  Descriptor input, output, errors, messages;  // the command's ends
  Descriptor failure;                          // closed when the program begins
  Descriptor control;                          // the supervisor's end
  std::vector<int> inherited;                  // of the order
  std::vector<int> kept;                       // all of these descriptors, sorted
  double seconds = 0, grace_seconds = 0;
  pid_t parent = 0;

  Start(const SandboxOrder& order)
      : folder(order.folder.string()),
        words(order.command),
        limits(resource_limits(order)),
        inherited(order.inherited),
        seconds(order.limits.seconds),
        grace_seconds(order.limits.grace_seconds) {
    std::map<std::string, std::string> all = order.environment;
    all.insert({{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                {"HOME", folder},
                {"TMPDIR", folder},
                {"LANG", "C.UTF-8"},
                {"DOVETAIL_PREFIX", kit_prefix().string()}});
    all[kMessagesVariable] = fmt::format("{}", kMessages);
    if (!order.machine_code) all.insert({kMachineCodeVariable, kMachineCodeForbidden});
    for (const auto& [name, value] : all) variables.push_back(fmt::format("{}={}", name, value));
    for (std::string& word : words) arguments.push_back(word.data());
    for (std::string& variable : variables) environment.push_back(variable.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
  }
};

Diagnostic no_resources(const char* what) {
  return {what, "", std::strerror(errno), "end some processes, or raise the limits (`ulimit -a`)", Cause::resource};
}

// The same file with a number of at least kFirstHigh.
bool make_high(Descriptor& file) {
  if (file.file() >= kFirstHigh) return true;
  file = Descriptor(::fcntl(file.file(), F_DUPFD_CLOEXEC, kFirstHigh));
  return file.file() >= 0;
}

bool make_pipe(Descriptor& from, Descriptor& to) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  from = Descriptor(ends[0]);
  to = Descriptor(ends[1]);
  return true;
}

bool make_sockets(int type, Descriptor& one, Descriptor& other) {
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  one = Descriptor(ends[0]);
  other = Descriptor(ends[1]);
  return true;
}

bool never_block(const Descriptor& file) { return ::fcntl(file.file(), F_SETFL, O_NONBLOCK) == 0; }

// ---- Between fork and exec: only calls that are safe in a signal handler

void write_failure(const Start& start, Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const ssize_t written = ::write(start.failure.file(), &failure, sizeof failure);
}

bool set_limit(const ResourceLimit& limit) {
  rlimit now{};
  if (::getrlimit(limit.what, &now) != 0) return false;
  now.rlim_max = now.rlim_cur = std::min(limit.most, now.rlim_max);
  return ::setrlimit(limit.what, &now) == 0;
}

// When the machine's memory is exhausted, the kernel ends this process first.
void offer_memory_first() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
  ::close(file);
}

// Those of root, which neither this process nor a program that it starts gets back.
bool drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) return false;  // EPERM: it is not root
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capset, &header, none) == 0;
}

void default_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_command(const Start& start, pid_t supervisor) {
  const auto fail = [&](Step step) {
    write_failure(start, step);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);
  ::umask(077);
  const std::array files{start.input.file(), start.output.file(), start.errors.file(), start.messages.file()};
  for (int number = 0; number <= kMessages; ++number)
    if (::dup2(files[static_cast<std::size_t>(number)], number) < 0) fail(Step::files);
  for (const int file : start.inherited)
    if (::fcntl(file, F_SETFD, 0) != 0) fail(Step::files);
  if (::chdir(start.folder.c_str()) != 0) fail(Step::folder);
  offer_memory_first();
  for (const ResourceLimit& limit : start.limits)
    if (!set_limit(limit)) fail(Step::limits);
  if (!drop_capabilities() || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(Step::capabilities);
  if (start.rules.file() >= 0) {
    add_landlock_reading(start.rules.file(), "/proc/self");
    if (!apply_landlock(start.rules.file())) fail(Step::landlock);
  }
  default_signals();
  if (!start.filter.empty() && !apply_system_call_filter(start.filter)) fail(Step::filter);
  ::execve(start.arguments.front(), start.arguments.data(), start.environment.data());
  fail(Step::program);
  ::_exit(127);
}

double now_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Waits for the end of the command, of its time, or of the other end of `control`, from which a message asks to
// interrupt the command. `end`: of the command, which has not been reaped.
Report await_end(const Start& start, pid_t command, int end) {
  double deadline = now_seconds() + start.seconds;
  Report report;
  for (;;) {
    const double left = deadline - now_seconds();
    if (left <= 0) {
      if (report.timed_out || start.grace_seconds <= 0) return report.timed_out = true, report;
      report.timed_out = true;
      deadline += start.grace_seconds;
      ::kill(command, SIGINT);
      continue;
    }
    std::array<pollfd, 2> files{pollfd{end, POLLIN, 0}, pollfd{start.control.file(), POLLIN, 0}};
    ::poll(files.data(), files.size(), static_cast<int>(std::min(left, 3600.0) * 1e3) + 1);
    if (files[0].revents != 0) return report;
    if (files[1].revents == 0) continue;
    char request = 0;
    const ssize_t count = ::recv(start.control.file(), &request, sizeof request, MSG_DONTWAIT);
    if (count > 0) ::kill(command, SIGINT);
    else if (count == 0 || (errno != EAGAIN && errno != EINTR)) return report.killed = true, report;
  }
}

// The process between the starting one and the command. It has no files but its messages, blocks all signals, and is
// the parent of all processes that the command leaves.
[[noreturn]] void supervise(const Start& start) {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const auto fail = [&](Step step) {
    write_failure(start, step);
    ::_exit(127);  // which ends the command, if it has begun
  };
  unsigned next = 0;
  for (const int file : start.kept) {
    const auto number = static_cast<unsigned>(file);
    if (next < number && ::close_range(next, number - 1, 0) != 0) fail(Step::files);
    next = number + 1;
  }
  if (::close_range(next, ~0U, 0) != 0) fail(Step::files);
  const pid_t supervisor = ::getpid();
  const pid_t command = ::fork();
  if (command == 0) become_command(start, supervisor);
  if (command < 0) fail(Step::processes);
  ::setpgid(command, command);  // the command does it too; one of them is first
  const int end = static_cast<int>(::syscall(SYS_pidfd_open, command, 0));
  if (end < 0) fail(Step::processes);
  for (const int file : start.kept)
    if (file != start.control.file()) ::close(file);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // its memory is a copy of the board's
  Report report;
  report.group = command;
  ::send(start.control.file(), &report, sizeof report, MSG_NOSIGNAL);
  report = await_end(start, command, end);
  // The group keeps its number until the command is reaped. No process of it has left it.
  ::kill(-command, SIGKILL);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, __WALL);
    if (ended == command) report.status = status;
    if (ended < 0 && errno != EINTR) break;
  }
  report.group = command;
  ::send(start.control.file(), &report, sizeof report, MSG_NOSIGNAL);
  ::_exit(0);
}

// ---- In the parent

Diagnostic to_diagnostic(const Failure& failure, const SandboxOrder& order) {
  errno = failure.error;
  const auto failed = [&](const std::string& where, const char* what, const char* hint) {
    return Diagnostic{"cannot start a command", where, fmt::format("{}: {}", what, std::strerror(failure.error)), hint,
                      cause_of(failure.error)};
  };
  const char* const report = "report it with the kernel's version (`uname -r`): Linux 5.9 or later is needed";
  switch (failure.step) {
    case Step::processes: return no_resources("cannot start a process");
    case Step::files: return failed("", "the system refuses its files", report);
    case Step::folder: return failed(order.folder.string(), "it cannot be the working folder", "name a private folder");
    case Step::limits: return failed("", "the system refuses its limits", "raise the limits (`ulimit -a`)");
    case Step::capabilities: return failed("", "it cannot give up its capabilities", report);
    case Step::landlock: return failed("", "Landlock cannot confine it", report);
    case Step::filter: return failed("", "seccomp cannot confine it", report);
    case Step::program: return failed(order.command.front(), "the program does not start", "name an executable file");
  }
  return {};
}

int reap(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

ProcessEnd end_of(const Report& report) {
  if (report.timed_out) return {ProcessEnding::timed_out, 0};
  if (report.killed) return {ProcessEnding::killed, 0};
  if (WIFSIGNALED(report.status)) return {ProcessEnding::crashed, WTERMSIG(report.status)};
  return {ProcessEnding::exited, WEXITSTATUS(report.status)};
}

}  // namespace

SandboxFacts sandbox_facts() { return {landlock_abi(), has_system_call_filter(), ::geteuid() == 0}; }

std::vector<std::string> sandbox_gaps(const SandboxFacts& facts) {
  std::vector<std::string> gaps;
  if (facts.landlock_abi == 0) gaps.emplace_back("commands read and write all files of this user (no Landlock)");
  if (!facts.seccomp) gaps.emplace_back("commands may use the network and inspect other processes (no seccomp)");
  if (facts.landlock_abi < kLandlockSignals)
    gaps.emplace_back(
        "commands may send signals to other processes of this user (Linux 6.12 prevents it): use a user "
        "that runs nothing else");
  return gaps;
}

Result<void> check_sandbox(const SandboxFacts& facts) {
  utsname kernel{};
  ::uname(&kernel);
  const auto refused = [](const char* where, std::string why, std::string hint) {
    return Diagnostic{"cannot confine machine code", where, std::move(why), std::move(hint)};
  };
  Diagnostics problems;
  if (facts.landlock_abi == 0)
    problems.push_back(refused(
        "Landlock",
        fmt::format("the kernel, Linux {}, has no Landlock, which is in Linux 5.13 and later", kernel.release),
        "boot a kernel that has CONFIG_SECURITY_LANDLOCK, and landlock in its list of security modules (lsm=)"));
  if (!facts.seccomp)
    problems.push_back(refused("seccomp",
                               fmt::format("the kernel, Linux {}, does not filter system calls", kernel.release),
                               "boot a kernel that has CONFIG_SECCOMP_FILTER"));
  if (facts.root && facts.landlock_abi > 0 && facts.landlock_abi < kLandlockSignals)
    problems.push_back(refused(
        "root",
        fmt::format("code of root could end every process of root: Linux {} has ABI {} of Landlock, and only {} "
                    "confines signals",
                    kernel.release, facts.landlock_abi, kLandlockSignals),
        "run `dovetail serve` as a user that runs nothing else"));
  if (!problems.empty()) return problems;
  return {};
}

std::string to_string(const ProcessEnd& end) {
  switch (end.ending) {
    case ProcessEnding::exited: return fmt::format("it ended with status {}", end.number);
    case ProcessEnding::crashed: {
      const char* name = ::sigdescr_np(end.number);
      return fmt::format("signal {} ended it: {}", end.number, name == nullptr ? "unknown" : name);
    }
    case ProcessEnding::timed_out: return "it was ended at its limit of time";
    case ProcessEnding::killed: return "it was ended on request";
    case ProcessEnding::lost: return "the process that supervised it was killed";
  }
  return "";
}

Result<SandboxedProcess> SandboxedProcess::start(const SandboxOrder& order) {
  const SandboxFacts facts = sandbox_facts();
  if (order.machine_code) DOVETAIL_TRY(check_sandbox(facts));
  for (const fs::path& path : {order.folder, fs::path(order.command.at(0))})
    if (!path.is_absolute())
      return Diagnostic{"cannot start a command", path.string(), "the path is not absolute", "name an absolute path"};
  Start start(order);
  if (facts.landlock_abi > 0) {
    DOVETAIL_ASSIGN(start.rules, make_landlock_rules(file_rules(order), facts.landlock_abi));
  }
  if (facts.seccomp) {
    DOVETAIL_ASSIGN(start.filter, make_system_call_filter(facts.landlock_abi));
  }
  SandboxedProcess process;
  Descriptor failure;
  if (!make_pipe(start.input, process.input) || !make_pipe(process.output, start.output) ||
      !make_pipe(process.errors, start.errors) || !make_sockets(SOCK_STREAM, process.messages, start.messages) ||
      !make_sockets(SOCK_SEQPACKET, process.control_, start.control) || !make_pipe(failure, start.failure))
    return no_resources("cannot create a pipe");
  for (const Descriptor* file : {&process.input, &process.output, &process.errors, &process.messages})
    if (!never_block(*file)) return no_resources("cannot create a pipe");
  for (Descriptor* file :
       {&start.rules, &start.input, &start.output, &start.errors, &start.messages, &start.failure, &start.control}) {
    if (file->file() < 0) continue;
    if (!make_high(*file)) return no_resources("cannot create a pipe");
    start.kept.push_back(file->file());
  }
  start.kept.insert(start.kept.end(), order.inherited.begin(), order.inherited.end());
  std::ranges::sort(start.kept);

  // No handler of this process may run in the new ones.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) supervise(start);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  if (supervisor < 0) return no_resources("cannot start a process");
  process.supervisor_ = supervisor;
  for (Descriptor* file :
       {&start.rules, &start.input, &start.output, &start.errors, &start.messages, &start.failure, &start.control})
    file->close();

  Failure failed;
  ssize_t count = 0;
  while ((count = ::read(failure.file(), &failed, sizeof failed)) < 0 && errno == EINTR) {
  }
  if (count == sizeof failed) return to_diagnostic(failed, order);  // the destructor waits for the supervisor
  Report report;
  while ((count = ::recv(process.control_.file(), &report, sizeof report, 0)) < 0 && errno == EINTR) {
  }
  if (count == sizeof report) process.group_ = report.group;
  return process;
}

SandboxedProcess::~SandboxedProcess() {
  if (control_.file() < 0 || supervisor_ == 0) return;  // moved away, or never started
  kill();
  wait();
}

void SandboxedProcess::kill() { ::shutdown(control_.file(), SHUT_WR); }

void SandboxedProcess::interrupt() {
  const char request = 'i';
  [[maybe_unused]] const ssize_t sent = ::send(control_.file(), &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::optional<ProcessEnd> SandboxedProcess::poll() {
  if (end_) return end_;
  Report report;
  const ssize_t count = ::recv(control_.file(), &report, sizeof report, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (count == sizeof report) {
    end_ = end_of(report);
  } else {  // the supervisor ended without a report
    if (group_ != 0) ::kill(-group_, SIGKILL);
    end_ = ProcessEnd{ProcessEnding::lost, 0};
  }
  reap(supervisor_);
  return end_;
}

ProcessEnd SandboxedProcess::wait() {
  for (;;) {
    if (const auto end = poll()) return *end;
    pollfd file{control_.file(), POLLIN, 0};
    ::poll(&file, 1, -1);
  }
}

}  // namespace dovetail::remote
