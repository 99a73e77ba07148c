// The torture test on wrong programs: what isa/verify says is what every engine says, of the same instruction, and up
// to there their times are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "isa/spec/registers.h"
#include "tests/generator/generator.h"
#include "tests/torture/case.h"
#include "tests/torture/engines.h"
#include "tests/torture/verdict.h"

namespace dovetail::test {

// What a wrong program was, for coverage.
struct Observed {
  Judgment judgment;
  isa::spec::ErrorCode code = isa::spec::ErrorCode::none;  // in STATUS of the RTL
  bool timed = false;  // deadlock, leftover: engines' times up to there were compared
};

// What is wrong with the engines, or nothing.
std::optional<std::string> torture_wrong(const GeneratedProgram& program, const TortureCase& how,
                                         const Engines& engines = {}, Observed* observed = nullptr);

// A right program with one part of memory answering SLVERR, which one instruction alone reads or writes: RTL stops
// there. nullopt: no part is of one instruction alone.
struct SlaveError {
  simulator::RtlOptions::BadRange range;
  std::size_t instruction = 0;
};
std::optional<SlaveError> slave_error(const GeneratedProgram& program, std::uint64_t seed);
std::optional<std::string> torture_slave_error(const GeneratedProgram& program, const SlaveError& error,
                                               const TortureCase& how, const Engines& engines = {});

GeneratedProgram minimized_wrong(const GeneratedProgram& program, const TortureCase& how, const Engines& engines = {});
std::string explain_wrong(const GeneratedProgram& program, const TortureCase& how, const Engines& engines = {});

}  // namespace dovetail::test
