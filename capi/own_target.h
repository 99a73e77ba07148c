// The runtime's half of a caller's own target: a device that runs its steps.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capi/include/dovetail.h"
#include "runtime/device.h"

namespace dovetail::capi {

// A caller's table, copied.
struct OwnTarget {
  dvt_target table{};
  std::string name;
  std::vector<std::string> patterns;
  std::mutex mutex;  // held during each call of a function of the table
};
using OwnTargets = std::vector<std::shared_ptr<OwnTarget>>;

// Errors: a null pointer, a short struct, a name that is empty, occurs twice or belongs to the kit.
Result<OwnTargets> own_targets_of(const dvt_target* const* given, std::size_t count, std::string_view argument);

// Error: the target has no runtime's half.
Result<std::shared_ptr<runtime::Device>> make_device(const std::shared_ptr<OwnTarget>& target);

}  // namespace dovetail::capi
