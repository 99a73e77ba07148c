// The files of a sweep's page (explore/sweep/page), as the build has put them into the library.
#pragma once

#include <string_view>

namespace dovetail::explore {

extern const std::string_view kSweepHtml, kSweepStyle, kSweepScript;

}  // namespace dovetail::explore
