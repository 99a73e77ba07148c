// A timed run as one HTML page that needs nothing but a browser: timeline, where the cycles went, roofline, layers,
// other hardware.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/memory/memory.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// The launches of `programs`, one program after the other, are those of the trace, which has their events.
std::string page_text(std::string_view title, const Trace& trace, const std::vector<TracedProgram>& programs,
                      const MemorySpec& memory);

}  // namespace dovetail::simulator
