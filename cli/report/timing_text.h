// Where the cycles of a program went: the trace file, the page, and the report for people and for machines.
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

// The trace file and the page, as far as `arguments` ask for them. `title` is the title of the page; `latency`: of the
// model whose steps the programs are, if they are of one; `energy`: as energy_json() reports it.
Result<void> write_traces(const ClockArguments& arguments, std::string_view title,
                          std::span<const driver::TimedProgram> programs, const driver::System& system,
                          const std::optional<driver::Latency>& latency, const Json& energy);

// Cycles, what each unit did and waited for, bounds, layers and answers to «what if», for people and for machines.
std::string timing_text(const driver::TimedProgram& program, const driver::System& system);
// Utilization, bound and stalls of the program that takes longest, its slowest layers, and the hardware that would gain
// most; nothing where there are no programs.
std::string timing_summary(std::span<const driver::TimedProgram> programs, const driver::System& system);
Json timing_json(const driver::TimedProgram& program, const driver::System& system);

// The table of what each unit did, in per cent of `cycles`.
std::string unit_table(const std::array<std::array<std::uint64_t, simulator::kUnitClassNames.size()>, 3>& classes,
                       std::uint64_t cycles);
// What the waits for memory were for, unit by unit, and what fetch did, in per cent of `cycles`.
std::string wait_table(const std::array<simulator::MemorySplit, 3>& units, const simulator::FetchTime& fetch,
                       std::uint64_t cycles);
// What the compute unit ran: products, ALU, and the loads that nothing hides.
std::string compute_table(const simulator::Profile& profile);
// By source of the trace, where it has more than one: cycles of each unit.
std::string layer_table(const simulator::Trace& trace);
// The same with bounds, and what the busy cycles waited for memory.
std::string layer_table(const simulator::Profile& profile);

}  // namespace dovetail::cli
