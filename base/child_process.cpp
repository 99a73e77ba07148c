#include "base/child_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/machine_code_permission.h"
#include "base/memory_file.h"
#include "base/temporary.h"
#include "base/user_folder.h"

extern char** environ;

namespace dovetail {

namespace {

namespace fs = std::filesystem;

// Everything that the new process needs is allocated before the fork: between fork and exec nothing may allocate.
struct Start {
  std::string script, folder, log;
  std::vector<std::string> variables;
  std::vector<char*> arguments, environment;

  explicit Start(const ChildProcess& child)
      : script(child.script), folder(child.folder.string()), log(child.log.empty() ? "/dev/null" : child.log.string()) {
    for (const auto& [name, value] : child.variables) variables.push_back(name + "=" + value);
    arguments = {const_cast<char*>("sh"), const_cast<char*>("-c"), script.data(), nullptr};
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view entry = *variable;
      bool replaced = false;
      for (const auto& [name, value] : child.variables) replaced |= entry.starts_with(name + "=");
      if (!replaced) environment.push_back(*variable);
    }
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
  }
};

void default_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void run_script(const Start& start) {
  default_signals();
  const int in = ::open("/dev/null", O_RDONLY), out = ::open(start.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  const bool ready = in >= 0 && out >= 0 && ::dup2(in, 0) >= 0 && ::dup2(out, 1) >= 0 && ::dup2(out, 2) >= 0 &&
                     (start.folder.empty() || ::chdir(start.folder.c_str()) == 0);
  if (ready) ::execve("/bin/sh", start.arguments.data(), start.environment.data());
  ::_exit(127);
}

// The watcher is a process between this one and the script: when this process ends, even by SIGKILL, the watcher gets a
// signal and ends its process group, itself included. (The system has no such signal for whole groups.)
[[noreturn]] void watch(const Start& start, pid_t parent) {
  ::setpgid(0, 0);
  ::signal(SIGTERM, [](int) { ::kill(0, SIGKILL); });
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  const pid_t script = ::fork();
  if (script == 0) run_script(start);
  if (script < 0) ::_exit(126);
  int status = 0;
  while (::waitpid(script, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  ::signal(WTERMSIG(status), SIG_DFL);
  ::kill(::getpid(), WTERMSIG(status));
  ::_exit(127);
}

}  // namespace

Result<ChildEnd> run_child(const ChildProcess& child) {
  DOVETAIL_TRY(check_machine_code("cannot start a program", "sh"));  // a program is machine code
  const Start start(child);
  const pid_t parent = ::getpid();
  const pid_t watcher = ::fork();
  if (watcher == 0) watch(start, parent);
  if (watcher < 0)
    return Diagnostic{"cannot start a program", "sh", std::strerror(errno), "end some processes, or raise `ulimit -u`",
                      Cause::resource};
  ::setpgid(watcher, watcher);  // called by parent and child; whichever comes first takes effect
  {
    const TemporaryProcessGroup group(watcher);
    siginfo_t info;
    while (::waitid(P_PID, static_cast<id_t>(watcher), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
  }  // remaining processes of the script end here, before the group's number can be reused
  int status = 0;
  while (::waitpid(watcher, &status, 0) < 0 && errno == EINTR) {
  }
  ChildEnd end;
  if (WIFEXITED(status)) end.exit = WEXITSTATUS(status);
  else end.signal = WTERMSIG(status);
  return end;
}

Result<std::optional<std::string>> output_of(const std::string& script) {
  DOVETAIL_ASSIGN(const MemoryFile printed, MemoryFile::make("dovetail-output"));
  // The path has this process's number because the descriptor is closed in started programs.
  const fs::path log = fmt::format("/proc/{}/fd/{}", ::getpid(), printed.file());
  DOVETAIL_ASSIGN(const ChildEnd end, run_child({script, {}, {}, log}));
  if (end.exit != 0) return std::optional<std::string>();
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, printed.read());
  return std::optional(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

bool is_on_path(std::string_view program) {
  const std::string path = environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path folder = begin == end ? "." : path.substr(begin, end - begin);
    if (::access((folder / program).c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace dovetail
