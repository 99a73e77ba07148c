// The page's files (simulator/trace/page), as the build has put them into the library.
#pragma once

#include <string_view>

namespace dovetail::simulator {

extern const std::string_view kPageHtml, kPageStyle, kPageScript;

}  // namespace dovetail::simulator
