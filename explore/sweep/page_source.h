// The files of a sweep's page (explore/sweep/page), embedded into the library by the build.
#pragma once

#include <string_view>

namespace dovetail::explore {

extern const std::string_view kSweepHtml, kSweepStyle, kSweepScript;

}  // namespace dovetail::explore
