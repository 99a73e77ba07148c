// How arrays, programs and counters are printed for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/ndarray.h"
#include "bundle/code/program_summary.h"
#include "simulator/simulator.h"

namespace dovetail::cli {

// How much of what was found a report has.
enum class Amount {
  summary,  // one screen: is it right, how long, what bounds it, what next
  details   // --details: all of it
};

inline constexpr std::string_view kDetailsHelp =
    "print all that was found, where one screen of it is printed else; --json has it too";
inline Amount amount_of(bool details) { return details ? Amount::details : Amount::summary; }

inline constexpr std::size_t kReportColumns = 100;
// Text in lines of so many columns, the first of which begins after `indent`; the others begin with `indent` spaces.
std::string in_columns(std::string_view text, std::size_t indent);
// A line of a report, "latency       0.2 ms", in columns.
std::string entry(std::string_view name, std::string_view text);
// A name for a column of a table.
std::string shortened(const std::string& name);

std::string preview(const NdArray& array);  // the first elements, and "…" where there are more

// The lines "instructions", "micro-ops", "tokens" of a program, each ending with '\n'.
std::string program_text(const bundle::ProgramSummary& summary);
// What a run did: instructions, DRAM bytes, MACs, and events_text(); the same form.
std::string counters_text(const simulator::Counters& counters);
// Accesses of SRAM, beats and DRAM commands (docs/reference/events.md).
std::string events_text(const simulator::Counters& counters);

}  // namespace dovetail::cli
