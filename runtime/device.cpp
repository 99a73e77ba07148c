#include "runtime/device.h"

#include "base/check.h"

namespace dovetail::runtime {

Result<void> DeviceMemory::copy_in(std::uint64_t, std::span<const std::byte>) {
  DOVETAIL_CHECK(false, "a memory that the host cannot reach says how to copy to it");
  return {};
}
Result<void> DeviceMemory::copy_out(std::uint64_t, std::span<std::byte>) {
  DOVETAIL_CHECK(false, "a memory that the host cannot reach says how to copy from it");
  return {};
}

}  // namespace dovetail::runtime
