// A callback for the progress of a long computation, for display.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace dovetail {

// For example what = "kernels", 12 of 60. Called by one thread at a time.
using ReportProgress = std::function<void(std::string_view what, std::int64_t done, std::int64_t all)>;

}  // namespace dovetail
