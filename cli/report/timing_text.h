// Where a program spends its cycles: the trace file, the page, and the report as text and as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/shell/clock_arguments.h"
#include "driver/latency.h"
#include "driver/system.h"
#include "driver/timed_program.h"
#include "simulator/cycle/bounds.h"

namespace dovetail::cli {

// The text of the trace file. `title`: title of the page; `latency`: latency of the model, if the programs are steps of
// one; `energy`: the value of energy_json().
Result<std::string> trace_file_text(std::string_view title, std::span<const driver::TimedProgram> programs,
                                    const driver::System& system, const std::optional<driver::Latency>& latency,
                                    const Json& energy);
// Writes the trace file and the page, if `arguments` request them.
Result<void> write_traces(const ClockArguments& arguments, std::string_view title,
                          std::span<const driver::TimedProgram> programs, const driver::System& system,
                          const std::optional<driver::Latency>& latency, const Json& energy);

// Cycles, work and waits of each unit, bounds, layers, and the cycles on other hardware.
std::string timing_text(const driver::TimedProgram& program, const driver::System& system);
// Utilization, bound and stalls of the program that takes longest, its slowest layers, and the hardware change that
// gains most; empty without programs.
std::string timing_summary(std::span<const driver::TimedProgram> programs, const driver::System& system);
Json timing_json(const driver::TimedProgram& program, const driver::System& system);

// A table of each unit's work and waits, in percent of `cycles`.
std::string unit_table(const std::array<std::array<std::uint64_t, simulator::kUnitClassNames.size()>, 3>& classes,
                       std::uint64_t cycles);
// A table of each unit's waits for memory by their reason, and of the work of fetch, in percent of `cycles`.
std::string wait_table(const std::array<simulator::MemorySplit, 3>& units, const simulator::FetchTime& fetch,
                       std::uint64_t cycles);
// A table of the compute unit's work: products, ALU, and loads.
std::string compute_table(const simulator::Profile& profile);
// A table of each unit's cycles by layer; empty for a trace with one layer.
std::string layer_table(const simulator::Trace& trace);
// The same table with bounds, and the busy cycles that waited for memory.
std::string layer_table(const simulator::Profile& profile);

}  // namespace dovetail::cli
