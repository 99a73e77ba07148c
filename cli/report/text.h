// Texts of arrays, programs and counters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/ndarray.h"
#include "bundle/code/program_summary.h"
#include "simulator/simulator.h"

namespace dovetail::cli {

// How detailed a report is.
enum class Amount {
  summary,  // one screen: correctness, latency, bound, next steps
  details   // --details: everything
};

inline constexpr std::string_view kDetailsHelp =
    "print the whole report instead of a summary of one screen; --json has it too";
inline Amount amount_of(bool details) { return details ? Amount::details : Amount::summary; }

inline constexpr std::size_t kReportColumns = 100;
// Breaks text into lines of a report's width. The first line begins after `indent` columns, the others with `indent`
// spaces.
std::string in_columns(std::string_view text, std::size_t indent);
// A line of a report, "latency       0.2 ms", in columns.
std::string entry(std::string_view name, std::string_view text);
// A name for a column of a table.
std::string shortened(const std::string& name);

std::string preview(const NdArray& array);  // the first elements, and "…" if there are more

// The lines "instructions", "micro-ops", "tokens" of a program, each with '\n' at its end.
std::string program_text(const bundle::ProgramSummary& summary);
// The work of a run in the same form: instructions, DRAM bytes, MACs, and events_text().
std::string counters_text(const simulator::Counters& counters);
// Accesses of SRAM, beats and DRAM commands (docs/reference/events.md).
std::string events_text(const simulator::Counters& counters);

}  // namespace dovetail::cli
