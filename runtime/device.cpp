#include "runtime/device.h"

#include <algorithm>

#include "base/check.h"

namespace dovetail::runtime {

Result<void> DeviceMemory::copy_in(std::uint64_t, std::span<const std::byte>) {
  DOVETAIL_CHECK(false, "a memory that the host cannot access must implement copies to it");
  return {};
}
Result<void> DeviceMemory::copy_out(std::uint64_t, std::span<std::byte>) {
  DOVETAIL_CHECK(false, "a memory that the host cannot access must implement copies from it");
  return {};
}

bool Device::runs(std::string_view target) const {
  const auto libraries = library_targets();
  return target == name() || std::ranges::find(libraries, target) != libraries.end();
}

}  // namespace dovetail::runtime
