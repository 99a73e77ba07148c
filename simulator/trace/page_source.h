// The page's files (simulator/trace/page), embedded into the library by the build.
#pragma once

#include <string_view>

namespace dovetail::simulator {

extern const std::string_view kPageHtml, kPageStyle, kPageScript;

}  // namespace dovetail::simulator
