// The torture test: random legal programs on every engine. The functional simulator has every DRAM byte right,
// isa/semantics every defined SRAM element of the RTL, and the engines with a clock have the same issue, start, end and
// stall cause of every instruction; under random memories, random power-up contents and, on RTL every fourth time,
// any slave that AXI4 allows in the place of the memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/trace/trace.h"
#include "tests/generator/generator.h"
#include "tests/torture/case.h"
#include "tests/torture/engines.h"

namespace dovetail::test {

// What is wrong, or nothing. `trace` receives the cycle simulator's, launch by launch, which the others' are equal to;
// where RTL has a slave in the place of the memory, it has its own times.
std::optional<std::string> torture(const GeneratedProgram& program, const TortureCase& how, const Engines& engines = {},
                                   std::vector<simulator::LaunchTrace>* trace = nullptr);

// A failure's program made small, as long as it is legal and fails.
GeneratedProgram minimized(const GeneratedProgram& program, const TortureCase& how, const Engines& engines = {});
// What is wrong with it, and its assembly.
std::string explain(const GeneratedProgram& program, const TortureCase& how, const Engines& engines = {});

}  // namespace dovetail::test
