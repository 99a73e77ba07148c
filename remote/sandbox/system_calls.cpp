#include "remote/sandbox/system_calls.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory_file.h"
#include "remote/sandbox/landlock.h"

namespace dovetail::remote {

namespace {

// Denied with EPERM, whatever the arguments. Those that an architecture does not have are skipped.
// clang-format off
constexpr auto kDenied = std::to_array<const char*>({
    // Networks, and channels that outlive the command. socketpair alone makes a socket that reaches nobody else.
    "socket", "connect", "bind", "listen", "accept", "accept4",
    "mq_open", "mq_unlink", "shmget", "shmat", "shmctl", "semget", "semctl", "semop", "semtimedop", "msgget", "msgctl",
    "msgsnd", "msgrcv", "ipc",
    // Other processes. All of a command's processes stay in one group, so that its end reaches them.
    "setsid", "setpgid", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "kcmp", "pidfd_getfd", "migrate_pages", "move_pages", "setpriority", "ioprio_set", "sched_setscheduler",
    "sched_setparam", "sched_setattr",
    // Attributes of files, which Landlock does not cover: the user may own files that the command can only read.
    "chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat", "lchown", "chown32", "fchown32", "lchown32",
    "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
    "utime", "utimes", "futimesat", "utimensat", "utimensat_time64", "inotify_init", "inotify_init1", "fanotify_init",
    "name_to_handle_at", "open_by_handle_at", "mknod", "mknodat", "quotactl", "quotactl_fd", "acct",
    // Namespaces and mounts.
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "mount_setattr",
    // The kernel and the machine.
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "add_key",
    "request_key", "keyctl", "init_module", "finit_module", "delete_module", "create_module", "kexec_load",
    "kexec_file_load", "reboot", "swapon", "swapoff", "syslog", "personality", "modify_ldt", "iopl", "ioperm", "vm86",
    "vm86old", "uselib", "lookup_dcookie", "nfsservctl", "vhangup", "sethostname", "setdomainname", "settimeofday",
    "stime", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "memfd_secret",
});
// clang-format on

// Calls with these numbers do not exist, as on an older kernel: what they do is not known here. Since Linux 5.1 the
// numbers of new calls are equal on all architectures.
constexpr int kFirstUnknown = 450, kLastUnknown = 511;

constexpr std::uint64_t kNewNamespaces[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                            CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};

constexpr std::uint64_t kLowBits = 0xffffffff;  // of an argument of 32 bits, as the kernel reads it

// Requests of ioctl that change flags of a file (`chattr`), and their forms of 32-bit programs. FS_IOC_FSSETXATTR has
// one form.
constexpr std::uint64_t kChangingFlags[] = {FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_SETVERSION, FS_IOC32_SETVERSION,
                                            FS_IOC_FSSETXATTR};

class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW), ::seccomp_release) {
    if (context_ == nullptr) return;
    keep(::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    keep(::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));  // a tree, not a list
  }

  void deny(int call, int error, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    if (context_ == nullptr || call == __NR_SCMP_ERROR) return;
    keep(::seccomp_rule_add_array(context_.get(), SCMP_ACT_ERRNO(static_cast<std::uint16_t>(error)), call,
                                  static_cast<unsigned>(arguments.size()), arguments.begin()));
  }
  void deny(const char* call, int error, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    deny(::seccomp_syscall_resolve_name(call), error, arguments);
  }

  Result<std::vector<std::byte>> program() {
    DOVETAIL_ASSIGN(const MemoryFile file, MemoryFile::make("dovetail-filter"));
    if (context_ == nullptr) error_ = ENOMEM;
    if (error_ == 0) keep(::seccomp_export_bpf(context_.get(), file.file()));
    if (error_ != 0)
      return Diagnostic{"cannot confine a command", "", fmt::format("libseccomp: {}", std::strerror(error_)),
                        "end other programs", Cause::resource};
    return file.read();
  }

 private:
  void keep(int result) {
    if (result < 0 && error_ == 0) error_ = -result;
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  int error_ = 0;  // the first
};

}  // namespace

bool has_system_call_filter() {
  std::uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

Result<std::vector<std::byte>> make_system_call_filter(int landlock_abi) {
  Filter filter;
  for (const char* call : kDenied) filter.deny(call, EPERM);
  filter.deny("socketpair", EPERM, {SCMP_A0(SCMP_CMP_NE, AF_UNIX)});
  for (const std::uint64_t flag : kNewNamespaces)
    filter.deny("clone", EPERM, {SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)});
  filter.deny("clone3", ENOSYS);  // its flags are in memory; the C library uses clone instead
  filter.deny("kill", EPERM, {SCMP_A0(SCMP_CMP_MASKED_EQ, kLowBits, kLowBits)});  // −1: all processes of the user
  filter.deny("prlimit64", EPERM, {SCMP_A0(SCMP_CMP_NE, 0)});                     // of another process
  // Of another thread, too, which for the filter looks like another process: a thread sets its own by 0.
  filter.deny("sched_setaffinity", EPERM, {SCMP_A0(SCMP_CMP_NE, 0)});
  for (const std::uint64_t request : kChangingFlags)
    filter.deny("ioctl", EPERM, {SCMP_A1(SCMP_CMP_MASKED_EQ, kLowBits, request)});
  if (landlock_abi < kLandlockTruncates)
    for (const char* call : {"truncate", "truncate64"}) filter.deny(call, EPERM);
  for (int call = kFirstUnknown; call <= kLastUnknown; ++call) filter.deny(call, ENOSYS);
  return filter.program();
}

bool apply_system_call_filter(const std::vector<std::byte>& filter) noexcept {
  sock_fprog program{static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
                     const_cast<sock_filter*>(reinterpret_cast<const sock_filter*>(filter.data()))};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace dovetail::remote
