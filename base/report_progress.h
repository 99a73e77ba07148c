// How far one part of long work has come, for whoever shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace dovetail {

// "kernels", 12 of 60. Called by one thread at a time.
using ReportProgress = std::function<void(std::string_view what, std::int64_t done, std::int64_t all)>;

}  // namespace dovetail
