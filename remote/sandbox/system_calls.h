// The system calls that a command on a board may not make, as a program for the kernel's seccomp filter. It denies what
// Landlock does not cover: networks, other processes, namespaces, attributes of files, and parts of the kernel that no
// computation needs.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"

namespace dovetail::remote {

// Whether this kernel filters system calls; errno says why not.
bool has_system_call_filter();

// The filter, a sequence of struct sock_filter, for a kernel with this ABI of Landlock (0: none). Error: no memory.
Result<std::vector<std::byte>> make_system_call_filter(int landlock_abi);

// Safe between fork and exec; the process needs PR_SET_NO_NEW_PRIVS. False: errno holds the reason.
bool apply_system_call_filter(const std::vector<std::byte>& filter) noexcept;

}  // namespace dovetail::remote
