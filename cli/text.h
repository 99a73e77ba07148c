// How numbers, arrays and configurations are printed for people.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/ndarray.h"
#include "bundle/code/program_summary.h"
#include "isa/config.h"
#include "simulator/simulator.h"

namespace dovetail::cli {

std::string bytes_text(std::uint64_t bytes);                 // "512 B", "12.5 KiB"
std::string seconds_text(double seconds);                    // "1.24 ms"
std::string type_text(DType dtype, const Shape& shape);      // "int8[1, 16, 8, 8]"
std::string preview(const NdArray& array);                   // the first elements, and "…" where there are more
std::string config_text(const isa::HardwareConfig& config);  // "1x16x16: 1×16×16, UOP 32 KiB, …, no extensions"

std::string extensions_text(const isa::HardwareConfig& config);  // "requant, saturate"; empty for the base ISA

// The lines "instructions", "micro-ops", "tokens" of a program, each ending with '\n'.
std::string program_text(const bundle::ProgramSummary& summary);
// What a run did: instructions, DRAM bytes, MACs, and events_text(); the same form.
std::string counters_text(const simulator::Counters& counters);
// Accesses of SRAM, beats and DRAM commands (docs/reference/events.md).
std::string events_text(const simulator::Counters& counters);

// Pretty, with a line break at its end; text that is no UTF-8 is replaced, since names come from files.
std::string json_text(const Json& json);

}  // namespace dovetail::cli
