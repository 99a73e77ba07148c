// Commands in the sandbox: what they cannot do, and that they end with all that they have started.
#include "remote/sandbox.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/thread_pool.h"
#include "remote/sandbox/landlock.h"
#include "remote/sandbox/system_calls.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::remote;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr const char* kShell = "/bin/sh";
constexpr const char* kPython = "/usr/bin/python3";

// Whether this kernel has what the test needs; otherwise the test is skipped.
bool can_confine(int abi = 1) {
  const SandboxFacts facts = sandbox_facts();
  if (facts.seccomp && facts.landlock_abi >= abi) return true;
  test::skip(fmt::format("the kernel has {}seccomp, and ABI {} of Landlock; {} is needed", facts.seccomp ? "" : "no ",
                         facts.landlock_abi, abi));
  return false;
}

SandboxOrder order_of(const fs::path& folder, std::vector<std::string> command) {
  return {.command = std::move(command), .folder = folder, .limits = {.seconds = 60}};
}
SandboxOrder script(const fs::path& folder, const std::string& text) { return order_of(folder, {kShell, "-c", text}); }

struct Ran {
  ProcessEnd end;
  std::string output, errors;
};

// Collects what is written until the end.
Ran finish(SandboxedProcess& process) {
  Ran ran;
  process.input.close();
  std::array<std::pair<int, std::string*>, 2> pipes{
      {{process.output.file(), &ran.output}, {process.errors.file(), &ran.errors}}};
  const auto read_all = [&] {
    for (const auto& [file, text] : pipes) {
      std::array<char, 4096> piece;
      for (ssize_t count = 0; (count = ::read(file, piece.data(), piece.size())) > 0;)
        text->append(piece.data(), static_cast<std::size_t>(count));
    }
  };
  for (;;) {
    const auto end = process.poll();
    read_all();
    if (end) return ran.end = *end, ran;
    std::array<pollfd, 3> files{pollfd{pipes[0].first, POLLIN, 0}, pollfd{pipes[1].first, POLLIN, 0},
                                pollfd{process.end_event(), POLLIN, 0}};
    ::poll(files.data(), files.size(), -1);
  }
}

Ran run(const SandboxOrder& order) {
  auto process = SandboxedProcess::start(order);
  if (!process.ok()) FAIL(to_string(process.errors()));
  return finish(*process);
}

// Runs a Python program, whose lines call `attempt(name, function)`; returns one line for each: "name: ok" or the
// error's name.
std::string attempts(const fs::path& folder, const std::string& lines, const std::vector<fs::path>& readable = {}) {
  const std::string text = R"(
import ctypes, errno, fcntl, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, function):
    try:
        function()
        print(name + ": ok")
    except OSError as error:
        print(name + ": " + errno.errorcode[error.errno])
def call(number, *arguments):
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments]) < 0:
        raise OSError(ctypes.get_errno(), "")
def of_libc(name, *arguments):
    ctypes.set_errno(0)
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), "")
)" + lines;
  SandboxOrder order = order_of(folder, {kPython, "-c", text});
  order.machine_code = true;
  order.readable = readable;
  const Ran ran = run(order);
  CHECK(ran.errors == "");
  CHECK(ran.end == ProcessEnd{ProcessEnding::exited, 0});
  return ran.output;
}

bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

// A process that was killed and not yet reaped has ended too.
bool has_ended(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  if (!std::getline(file, text)) return true;
  return text.at(text.rfind(')') + 2) == 'Z';
}

// The numbers that a command has written into a file, one per line; waits for `count`.
std::vector<pid_t> processes_in(const fs::path& file, std::size_t count) {
  std::vector<pid_t> numbers;
  eventually([&] {
    numbers.clear();
    std::ifstream text(file);
    for (pid_t number = 0; text >> number;) numbers.push_back(number);
    return numbers.size() >= count;
  });
  REQUIRE(numbers.size() == count);
  return numbers;
}

// A shell's process, its child, and one that was forked twice, all of which ignore signals and sleep.
const std::string kFamily = R"(
trap '' TERM HUP INT
(echo $(exec sh -c 'echo $PPID') >>started; sleep 1000) &
( (echo $(exec sh -c 'echo $PPID') >>started; trap '' TERM HUP INT; sleep 1000) & )
setsid sleep 1000 & setsid -f sleep 1000 2>/dev/null
echo $$ >>started
sleep 1000
)";

std::size_t open_files() { return entries_of("/proc/self/fd").size(); }

}  // namespace

TEST_CASE("sandbox: a command has its folder, its input and output, and only the environment of its order") {
  const test::TemporaryFolder folder;
  const test::Environment secret("SANDBOX_SECRET", "secret");
  REQUIRE(write_text_file(folder / "given", "given\n").ok());
  SandboxOrder order =
      script(folder.path(), "cat; cat given; echo result >result; pwd; umask; env; echo problem >&2; exit 7");
  order.environment = {{"EXTRA", "1"}, {"LANG", "C"}};
  auto process = SandboxedProcess::start(order);
  REQUIRE(process.ok());
  CHECK(::write(process->input.file(), "sent\n", 5) == 5);
  const Ran ran = finish(*process);
  CHECK(ran.end == ProcessEnd{ProcessEnding::exited, 7});
  CHECK(to_string(ran.end) == "it ended with status 7");
  CHECK(ran.errors == "problem\n");
  CHECK(ran.output.starts_with(fmt::format("sent\ngiven\n{}\n0077\n", folder.path().string())));
  for (const std::string line : {"EXTRA=1", "LANG=C", "PATH=/usr/local/bin:/usr/bin:/bin", "DOVETAIL_MESSAGES=3",
                                 "DOVETAIL_MACHINE_CODE=forbidden"})
    CHECK_THAT(ran.output, ContainsSubstring(fmt::format("\n{}\n", line)));
  for (const char* name : {"HOME", "TMPDIR"})
    CHECK_THAT(ran.output, ContainsSubstring(fmt::format("\n{}={}\n", name, folder.path().string())));
  CHECK_THAT(ran.output, !ContainsSubstring("SECRET"));
  CHECK(read_text_file(folder / "result").value() == "result\n");
}

TEST_CASE("sandbox: messages pass in both directions, and the command has no other files") {
  const test::TemporaryFolder folder;
  const int leaked = ::open("/dev/null", O_RDONLY);  // without close-on-exec, and below all that the sandbox opens
  REQUIRE(leaked >= 0);
  auto process = SandboxedProcess::start(order_of(folder.path(), {kPython, "-c", R"(
import os
socket = int(os.environ["DOVETAIL_MESSAGES"])
os.write(socket, os.read(socket, 100).upper())
for file in range(100):
    try:
        os.fstat(file)
        print(file)
    except OSError:
        pass
)"}));
  ::close(leaked);
  REQUIRE(process.ok());
  CHECK(::write(process->messages.file(), "question", 8) == 8);
  const Ran ran = finish(*process);
  CHECK(ran.output == "0\n1\n2\n3\n");
  std::array<char, 100> answer;
  CHECK(std::string_view(answer.data(), static_cast<std::size_t>(::read(process->messages.file(), answer.data(),
                                                                        answer.size()))) == "QUESTION");
}

TEST_CASE("sandbox: files outside are neither read nor changed") {
  if (!can_confine()) return;
  const test::TemporaryFolder folder, outside, readable;
  REQUIRE(write_text_file(outside / "secret", "secret").ok());
  REQUIRE(write_text_file(readable / "file", "text").ok());
  REQUIRE(write_text_file(folder / "file", "text").ok());
  const std::string lines = fmt::format(R"(
secret, outside, readable = "{0}/secret", "{0}", "{1}"
attempt("read", lambda: open(secret).read())
attempt("list", lambda: os.listdir(outside))
attempt("shadow", lambda: open("/etc/shadow").read())
attempt("home", lambda: os.listdir("{3}"))
attempt("environment of others", lambda: open("/proc/{2}/environ").read())
attempt("memory of others", lambda: open("/proc/{2}/mem"))
attempt("append", lambda: open(secret, "a"))
attempt("create", lambda: open(outside + "/new", "w"))
attempt("truncate", lambda: os.truncate(secret, 0))
attempt("remove", lambda: os.remove(secret))
attempt("rename", lambda: os.rename("file", outside + "/file"))
attempt("link in", lambda: os.link(secret, "linked"))
attempt("symbolic link", lambda: (os.symlink(secret, "linked"), open("linked").read()))
attempt("pipe", lambda: os.mkfifo("pipe"))
attempt("change", lambda: os.chmod(secret, 0o777))
attempt("change by number", lambda: call(452, -100, ctypes.addressof(ctypes.create_string_buffer(secret.encode())), 0o777, 0))
attempt("own", lambda: os.chown(secret, 12345, -1))
attempt("time", lambda: os.utime(secret))
attempt("attribute", lambda: os.setxattr(secret, "user.a", b"1"))
attempt("flags", lambda: fcntl.ioctl(open("file"), 0x40086602, bytes(8)))
attempt("flags of 32 bits", lambda: fcntl.ioctl(open("file"), 0x40046602, bytes(8)))
attempt("flags by number", lambda: call({4}, open("file").fileno(), 0x40086602 - (1 << 32), 0))
attempt("extended flags", lambda: fcntl.ioctl(open("file"), 0x401c5820, bytes(28)))
attempt("other request", lambda: fcntl.ioctl(open("file"), 0x541b, bytes(8)))
attempt("watch", lambda: of_libc("inotify_init"))
attempt("mount", lambda: of_libc("mount", b"none", b"/tmp", b"tmpfs", 0, None))
attempt("device", lambda: os.mknod("device", 0o600 | 0o020000, os.makedev(1, 3)))
attempt("readable", lambda: open(readable + "/file").read())
attempt("readable written", lambda: open(readable + "/file", "w"))
attempt("program of the system", lambda: open("/usr/bin/env", "a"))
attempt("own folder", lambda: (os.mkdir("made"), os.rename("file", "made/file"), os.truncate("made/file", 2), os.remove("made/file"), os.rmdir("made")))
attempt("/dev/null", lambda: open("/dev/null", "w").write("x"))
attempt("/dev/kmsg", lambda: open("/dev/kmsg"))
)",
                                        outside.path().string(), readable.path().string(), ::getpid(),
                                        std::getenv("HOME") == nullptr ? "/root" : std::getenv("HOME"), SYS_ioctl);
  const int abi = sandbox_facts().landlock_abi;
  CHECK(
      attempts(folder.path(), lines, {readable.path()}) ==
      fmt::format(
          "read: EACCES\nlist: EACCES\nshadow: EACCES\nhome: EACCES\nenvironment of others: EACCES\n"
          "memory of others: EACCES\nappend: EACCES\ncreate: EACCES\ntruncate: {}\nremove: EACCES\n"
          "rename: {}\nlink in: EXDEV\nsymbolic link: EACCES\npipe: EPERM\nchange: EPERM\n"
          "change by number: ENOSYS\nown: EPERM\ntime: EPERM\nattribute: EPERM\nflags: EPERM\nflags of 32 bits: EPERM\n"
          "flags by number: EPERM\nextended flags: EPERM\nother request: ok\nwatch: EPERM\nmount: EPERM\n"
          "device: EPERM\nreadable: ok\nreadable written: EACCES\nprogram of the system: EACCES\n"
          "own folder: {}\n/dev/null: ok\n/dev/kmsg: EACCES\n",
          abi < kLandlockTruncates ? "EPERM" : "EACCES", abi < 2 ? "EXDEV" : "EACCES",
          abi < kLandlockTruncates ? "EPERM" : "ok"));
  CHECK(read_text_file(outside / "secret").value() == "secret");
  CHECK(read_text_file(readable / "file").value() == "text");
}

TEST_CASE("sandbox: with a device, /proc is readable, but not the memory and environment of other processes") {
  if (!can_confine()) return;
  const test::TemporaryFolder folder;
  SandboxOrder order =
      script(folder.path(), fmt::format("cat /proc/self/comm; cat /proc/{0}/comm; cat /proc/{0}/environ; "
                                        "head -c1 /proc/{0}/mem; echo >/dev/full",
                                        ::getpid()));
  order.devices = {"/dev/full"};
  const Ran ran = run(order);
  CHECK(ran.output == fmt::format("cat\n{}", read_text_file("/proc/self/comm").value()));
  CHECK_THAT(ran.errors, ContainsSubstring("environ: Permission denied") &&
                             ContainsSubstring("mem' for reading: Permission") && ContainsSubstring("echo: I/O error"));
}

TEST_CASE("sandbox: the rules of every ABI up to that of this kernel protect files") {
  if (!can_confine()) return;
  for (int abi = 1; abi <= sandbox_facts().landlock_abi; ++abi) {
    INFO(abi);
    const test::TemporaryFolder folder, outside;
    const fs::path secret = outside / "secret", own = folder / "own";
    REQUIRE(write_text_file(secret, "secret").ok());
    const auto rules = make_landlock_rules({{folder.path(), FileAccess::change}, {folder / "missing"}}, abi);
    REQUIRE(rules.ok());
    const auto filter = make_system_call_filter(abi);
    REQUIRE(filter.ok());
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const bool confined = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && apply_landlock(rules->file()) &&
                            apply_system_call_filter(*filter);
      const bool kept = ::open(secret.c_str(), O_RDONLY) < 0 && ::truncate(secret.c_str(), 0) < 0 &&
                        ::open(own.c_str(), O_CREAT | O_RDWR, 0600) >= 0;
      ::_exit(confined ? (kept ? 0 : 1) : 2);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(read_text_file(secret).value() == "secret");
  }
}

TEST_CASE("sandbox: without machine code a command executes nothing in its folder, and makes no links") {
  if (!can_confine()) return;
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "program", "#!/bin/sh\necho executed\n").ok());
  fs::permissions(folder / "program", fs::perms::owner_all);
  SandboxOrder order = script(folder.path(), "./program");
  CHECK(run(order).end == ProcessEnd{ProcessEnding::exited, 126});
  CHECK_THAT(run(script(folder.path(), "ln -s program link")).errors, ContainsSubstring("Permission denied"));
  order.machine_code = true;
  CHECK(run(order).output == "executed\n");
}

TEST_CASE("sandbox: no network and no socket of another process is reached") {
  if (!can_confine()) return;
  const test::TemporaryFolder folder;
  // Listeners that would accept.
  const auto listen_on = [](int family, const sockaddr* address, socklen_t size) {
    const Descriptor file(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(file.file(), address, size) == 0);
    REQUIRE(::listen(file.file(), 1) == 0);
    return ::dup(file.file());
  };
  sockaddr_in tcp{};
  tcp.sin_family = AF_INET;
  tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const Descriptor server(listen_on(AF_INET, reinterpret_cast<const sockaddr*>(&tcp), sizeof tcp));
  socklen_t size = sizeof tcp;
  REQUIRE(::getsockname(server.file(), reinterpret_cast<sockaddr*>(&tcp), &size) == 0);
  sockaddr_un path{};
  path.sun_family = AF_UNIX;
  (folder / "socket").string().copy(path.sun_path, sizeof path.sun_path - 1);
  const Descriptor local(listen_on(AF_UNIX, reinterpret_cast<const sockaddr*>(&path), sizeof path));
  CHECK(attempts(folder.path(), fmt::format(R"(
attempt("TCP", lambda: socket.create_connection(("127.0.0.1", {})))
attempt("UDP", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("IPv6", lambda: socket.socket(socket.AF_INET6))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("Unix", lambda: socket.socket(socket.AF_UNIX).connect("socket"))
attempt("connect", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].connect("socket"))
attempt("bind", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].bind("bound"))
attempt("pair of another family", lambda: socket.socketpair(socket.AF_INET))
attempt("pair", lambda: socket.socketpair())
attempt("queue", lambda: of_libc("mq_open", b"/queue", os.O_CREAT, 0o600, None))
attempt("shared memory", lambda: of_libc("shmget", 0, 4096, 0o1600))
)",
                                            ntohs(tcp.sin_port))) ==
        "TCP: EPERM\nUDP: EPERM\nIPv6: EPERM\nnetlink: EPERM\nUnix: EPERM\nconnect: EPERM\nbind: EPERM\n"
        "pair of another family: EPERM\npair: ok\nqueue: EPERM\nshared memory: EPERM\n");
}

TEST_CASE("sandbox: no other process is inspected or changed, and no namespace is entered") {
  if (!can_confine()) return;
  const test::TemporaryFolder folder, other_folder;
  // A process of the same user without capabilities, which would protect it.
  const auto other = SandboxedProcess::start(script(other_folder.path(), "echo $$ >started; sleep 1000"));
  REQUIRE(other.ok());
  const pid_t equal = processes_in(other_folder / "started", 1).front();
  CHECK(attempts(folder.path(), fmt::format(R"(
parent = {}
attempt("trace", lambda: of_libc("ptrace", 16, parent, None, None))
attempt("read memory", lambda: of_libc("process_vm_readv", parent, None, 0, None, 0, 0))
attempt("limits", lambda: of_libc("prlimit", parent, 7, None, None))
attempt("own limits", lambda: of_libc("prlimit", 0, 7, None, None))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, parent, 5))
attempt("processors", lambda: os.sched_setaffinity({}, os.sched_getaffinity(0)))
attempt("own processors", lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
attempt("all", lambda: os.kill(-1, signal.SIGURG))
attempt("group", lambda: os.setpgid(0, 0))
attempt("session", lambda: os.setsid())
attempt("unshare", lambda: of_libc("unshare", 0x10000000))
attempt("clone", lambda: call({}, 0x10000000 | 17, 0, 0, 0, 0))
attempt("clone3", lambda: call(435, 0, 0))
attempt("new call", lambda: call(457, 0, 0, 0, 0))
attempt("bpf", lambda: call({}, 0, 0, 0))
attempt("io_uring", lambda: call(425, 1, 0))
attempt("keys", lambda: call({}, 0, 0, 0))
attempt("personality", lambda: of_libc("personality", 0x0040000))
attempt("events", lambda: call({}, 0, 0, -1, -1, 0))
attempt("root", lambda: of_libc("chroot", b"."))
)",
                                            ::getpid(), equal, SYS_clone, SYS_bpf, SYS_keyctl, SYS_perf_event_open)) ==
        "trace: EPERM\nread memory: EPERM\nlimits: EPERM\nown limits: ok\npriority: EPERM\nprocessors: EPERM\n"
        "own processors: ok\nall: EPERM\ngroup: EPERM\n"
        "session: EPERM\nunshare: EPERM\nclone: EPERM\nclone3: ENOSYS\nnew call: ENOSYS\nbpf: EPERM\nio_uring: EPERM\n"
        "keys: EPERM\npersonality: EPERM\nevents: EPERM\nroot: EPERM\n");
}

TEST_CASE("sandbox: a pool of threads still stays on its processors") {
  if (!can_confine()) return;
  const auto filter = make_system_call_filter(1);
  REQUIRE(filter.ok());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !apply_system_call_filter(*filter)) ::_exit(2);
    const auto processors = [] {
      cpu_set_t set;
      CPU_ZERO(&set);
      ::sched_getaffinity(0, sizeof set, &set);
      return CPU_COUNT(&set);
    };
    const int before = processors();
    std::atomic<int> pinned = 0, entered = 0;
    {
      ThreadPool pool(2);
      pool.parallel_for(2, [&](std::int64_t, std::int64_t, int) {
        pinned += processors() == 1;
        for (++entered; entered < 2;) std::this_thread::yield();  // so that both threads do an iteration
      });
    }
    ::_exit(pinned == 2 && processors() == before ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("sandbox: signals reach only the command's own processes") {
  if (!can_confine(kLandlockSignals)) return;
  const test::TemporaryFolder folder;
  CHECK(attempts(folder.path(), fmt::format(R"(
attempt("board", lambda: os.kill({}, 0))
attempt("supervisor", lambda: os.kill(os.getppid(), 0))
child = os.fork() or signal.pause()
attempt("child", lambda: os.kill(child, signal.SIGKILL))
)",
                                            ::getpid())) == "board: EPERM\nsupervisor: EPERM\nchild: ok\n");
}

TEST_CASE("sandbox: a command has no capabilities, also as root") {
  const test::TemporaryFolder folder;
  SandboxOrder order = script(folder.path(), "grep -E '^(Cap|NoNewPrivs)' /proc/self/status");
  order.command = {"/bin/grep", "-E", "^(Cap|NoNewPrivs)", "/proc/self/status"};
  std::string expected;
  for (const char* name : {"Inh", "Prm", "Eff"}) expected += fmt::format("Cap{}:\t0000000000000000\n", name);
  CHECK_THAT(run(order).output, ContainsSubstring(expected) && ContainsSubstring("CapAmb:\t0000000000000000\n") &&
                                    ContainsSubstring("NoNewPrivs:\t1\n"));
}

TEST_CASE("sandbox: an endless command ends at its limit, and its end is reported") {
  const test::TemporaryFolder folder;
  SandboxOrder order = script(folder.path(), "trap '' TERM XCPU; while :; do :; done");
  order.limits.seconds = 0.3;
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = run(order);
  CHECK(ran.end == ProcessEnd{ProcessEnding::timed_out, 0});
  CHECK(std::chrono::steady_clock::now() - begin >= 300ms);
  CHECK(to_string(ran.end) == "it was ended at its limit of time");
}

TEST_CASE("sandbox: an interrupt lets a command end in its own way, and so does its limit with a grace") {
  const test::TemporaryFolder folder;
  const std::string text = "trap 'echo ended; exit 5' INT; echo begun; while :; do sleep 0.01; done";
  auto process = SandboxedProcess::start(script(folder.path(), text));
  REQUIRE(process.ok());
  pollfd begun{process->output.file(), POLLIN, 0};
  REQUIRE(::poll(&begun, 1, 10000) == 1);
  process->interrupt();
  Ran ran = finish(*process);
  CHECK(ran.end == ProcessEnd{ProcessEnding::exited, 5});
  CHECK(ran.output == "begun\nended\n");

  SandboxOrder order = script(folder.path(), text);
  order.limits = {.seconds = 1, .grace_seconds = 30};
  ran = run(order);
  CHECK(ran.end == ProcessEnd{ProcessEnding::timed_out, 0});
  CHECK(ran.output == "begun\nended\n");

  SandboxOrder deaf = script(folder.path(), "trap '' INT; while :; do sleep 0.01; done");
  deaf.limits = {.seconds = 0.2, .grace_seconds = 0.3};
  const auto begin = std::chrono::steady_clock::now();
  CHECK(run(deaf).end == ProcessEnd{ProcessEnding::timed_out, 0});
  CHECK(std::chrono::steady_clock::now() - begin >= 500ms);
}

TEST_CASE("sandbox: a command that a signal ends, or that exceeds its memory or its file, is reported") {
  const test::TemporaryFolder folder;
  CHECK(run(script(folder.path(), "kill -SEGV $$")).end == ProcessEnd{ProcessEnding::crashed, SIGSEGV});
  SandboxOrder file = script(folder.path(), "exec dd if=/dev/zero of=large bs=1k");
  file.limits.file_bytes = 1 << 20;
  CHECK(run(file).end == ProcessEnd{ProcessEnding::crashed, SIGXFSZ});
  CHECK(fs::file_size(folder / "large") == 1 << 20);
#ifndef __SANITIZE_ADDRESS__
  SandboxOrder memory =
      order_of(folder.path(), {kPython, "-c", "list = []\nwhile True: list.append(bytearray(1 << 20))"});
  memory.limits.memory_bytes = std::uint64_t{1} << 29;
  const Ran ran = run(memory);
  CHECK(ran.end == ProcessEnd{ProcessEnding::exited, 1});
  CHECK_THAT(ran.errors, ContainsSubstring("MemoryError"));
#endif
}

TEST_CASE("sandbox: output that nobody reads does not prevent the end") {
  const test::TemporaryFolder folder;
  auto process = SandboxedProcess::start(script(folder.path(), "cat /dev/zero; cat /dev/zero >&2"));
  REQUIRE(process.ok());
  pollfd full{process->output.file(), POLLIN, 0};
  REQUIRE(::poll(&full, 1, 10000) == 1);
  CHECK_FALSE(process->poll());
  process->kill();
  CHECK(process->wait() == ProcessEnd{ProcessEnding::killed, 0});
  CHECK(process->wait() == ProcessEnd{ProcessEnding::killed, 0});  // again
  std::array<char, 1 << 16> rest;
  CHECK(::read(process->output.file(), rest.data(), rest.size()) > 0);
}

TEST_CASE("sandbox: all processes of a command end with it: by itself, at its limit, on request, with its object") {
  if (!can_confine()) return;
  for (const std::string how : {"itself", "limit", "request", "object"}) {
    INFO(how);
    const test::TemporaryFolder folder;
    std::string text = kFamily;
    if (how == "itself")
      text.replace(text.rfind("sleep"), std::string::npos,
                   "while [ $(wc -l <started) -lt 3 ]; do sleep 0.01; done; exit 5");
    SandboxOrder order = script(folder.path(), text);
    if (how == "limit") order.limits.seconds = 3;
    std::vector<pid_t> processes;
    {
      auto process = SandboxedProcess::start(order);
      REQUIRE(process.ok());
      processes = processes_in(folder / "started", 3);
      if (how == "request") process->kill();
      if (how != "object") {
        const ProcessEnd end = process->wait();
        CHECK(end.ending == (how == "itself"  ? ProcessEnding::exited
                             : how == "limit" ? ProcessEnding::timed_out
                                              : ProcessEnding::killed));
      }
    }
    for (const pid_t one : processes) CHECK(has_ended(one));  // now, not eventually
  }
}

TEST_CASE("sandbox: kill -9 of the board ends the command and all its processes") {
  if (!can_confine()) return;
  const test::TemporaryFolder folder;
  const pid_t board = ::fork();
  REQUIRE(board >= 0);
  if (board == 0) {
    const auto process = SandboxedProcess::start(script(folder.path(), kFamily));
    for (;;) ::pause();
  }
  const std::vector<pid_t> processes = processes_in(folder / "started", 3);
  for (const pid_t one : processes) CHECK_FALSE(has_ended(one));
  ::kill(board, SIGKILL);
  ::waitpid(board, nullptr, 0);
  for (const pid_t one : processes) CHECK(eventually([&] { return has_ended(one); }));
}

TEST_CASE("sandbox: the end of its supervisor is the command's end, and is reported") {
  if (!can_confine()) return;
  const test::TemporaryFolder folder;
  auto process = SandboxedProcess::start(script(folder.path(), "echo $PPID >supervisor; " + kFamily));
  REQUIRE(process.ok());
  const std::vector<pid_t> processes = processes_in(folder / "started", 3);
  ::kill(processes_in(folder / "supervisor", 1).front(), SIGKILL);
  CHECK(process->wait() == ProcessEnd{ProcessEnding::lost, 0});
  for (const pid_t one : processes) CHECK(eventually([&] { return has_ended(one); }));
}

TEST_CASE("sandbox: two hundred commands leave no open file and no process") {
  const test::TemporaryFolder folder;
  const std::size_t before = open_files();
  for (int i = 0; i < 200; ++i) {
    SandboxOrder order = script(folder.path(), i % 3 == 1 ? "sleep 100" : "exit 3");
    if (i % 3 == 2) order.command.front() = "/nowhere/sh";
    auto process = SandboxedProcess::start(order);
    REQUIRE(process.ok() == (i % 3 != 2));
    if (i % 3 == 0) REQUIRE(process->wait() == ProcessEnd{ProcessEnding::exited, 3});
  }
  CHECK(open_files() == before);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("sandbox: four threads start commands at once") {
  const test::TemporaryFolder folder;
  std::array<std::vector<std::string>, 4> outputs;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < outputs.size(); ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i) {
          auto process = SandboxedProcess::start(script(folder.path(), fmt::format("echo {} {}; cat", t, i)));
          if (process.ok()) outputs[t].push_back(finish(*process).output);
        }
      });
  }
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    REQUIRE(outputs[t].size() == 25);
    for (int i = 0; i < 25; ++i) CHECK(outputs[t][static_cast<std::size_t>(i)] == fmt::format("{} {}\n", t, i));
  }
}

TEST_CASE("sandbox: an order that cannot start is refused with its reason") {
  const test::TemporaryFolder folder;
  const auto error_of = [](const SandboxOrder& order) {
    const auto process = SandboxedProcess::start(order);
    return process.ok() ? "" : to_string(process.errors());
  };
  CHECK_THAT(error_of(order_of(folder.path(), {"/nowhere/program"})),
             ContainsSubstring("/nowhere/program") && ContainsSubstring("No such file"));
  CHECK_THAT(error_of(order_of(folder / "missing", {kShell})), ContainsSubstring("missing"));
  CHECK_THAT(error_of(order_of("relative", {kShell})), ContainsSubstring("is not absolute"));
  CHECK_THAT(error_of(order_of(folder.path(), {"sh"})), ContainsSubstring("is not absolute"));
}

TEST_CASE("sandbox: machine code is refused where the kernel cannot confine it") {
  CHECK(check_sandbox({.landlock_abi = 1, .seccomp = true}).ok());
  CHECK(check_sandbox({.landlock_abi = 6, .seccomp = true, .root = true}).ok());
  CHECK_THAT(to_string(check_sandbox({.landlock_abi = 0, .seccomp = true}).errors()),
             ContainsSubstring("has no Landlock") && ContainsSubstring("CONFIG_SECURITY_LANDLOCK"));
  CHECK_THAT(to_string(check_sandbox({.landlock_abi = 6, .seccomp = false}).errors()),
             ContainsSubstring("CONFIG_SECCOMP_FILTER"));
  CHECK_THAT(to_string(check_sandbox({.landlock_abi = 5, .seccomp = true, .root = true}).errors()),
             ContainsSubstring("ABI 5 of Landlock, and only 6"));
  CHECK(sandbox_gaps({.landlock_abi = 6, .seccomp = true}).empty());
  CHECK(sandbox_gaps({.landlock_abi = 5, .seccomp = true}).size() == 1);
  CHECK(sandbox_gaps({}).size() == 3);
}

TEST_CASE("a command inherits the files that the order names, and no others") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "device") << "registers";
  const int low = ::open((folder / "device").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(low >= 0);
  const Descriptor given(::fcntl(low, F_DUPFD_CLOEXEC, kFirstInherited));
  const Descriptor kept_back(::fcntl(low, F_DUPFD_CLOEXEC, kFirstInherited));
  ::close(low);
  SandboxOrder order =
      order_of(folder / "job",
               {kPython, "-c",
                fmt::format("import os; print(os.read({}, 99), *os.listdir('/proc/self/fd'), '')", given.file())});
  fs::create_directory(folder / "job");
  order.inherited = {given.file()};
  auto process = SandboxedProcess::start(order);
  REQUIRE((process.ok() ? "" : to_string(process.errors())) == "");
  const Ran ran = finish(*process);
  CHECK(ran.end == ProcessEnd{ProcessEnding::exited, 0});
  CHECK_THAT(ran.output, ContainsSubstring("registers"));
  CHECK_THAT(ran.output, !ContainsSubstring(fmt::format(" {} ", kept_back.file())));
}
