// Tests of file permissions, which do not apply to root.
#pragma once

#include <cstdint>
#include <stdexcept>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dovetail::test {

// While this object exists, permissions apply to root too.
class OrdinaryUser {
 public:
  OrdinaryUser() { set(false); }
  ~OrdinaryUser() { set(true); }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  static void set(bool privileged) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct rights[2] = {};
    if (::syscall(SYS_capget, &header, rights) != 0) throw std::runtime_error("capget failed");
    constexpr std::uint32_t kOverride = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;
    rights[0].effective =
        privileged ? rights[0].effective | (rights[0].permitted & kOverride) : rights[0].effective & ~kOverride;
    if (::syscall(SYS_capset, &header, rights) != 0) throw std::runtime_error("capset failed");
  }
};

}  // namespace dovetail::test
