// The torture test on wrong programs: every engine must report the same fault as isa/verify, at the same instruction,
// and up to there the engines' times are equal.
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

// Properties of a wrong program, for coverage.
struct Observed {
  Judgment judgment;
  isa::spec::ErrorCode code = isa::spec::ErrorCode::none;  // STATUS of the RTL
  bool timed = false;  // deadlock, leftover: engines' times up to there were compared
};

// Returns the engines' error, if any.
std::optional<std::string> torture_wrong(const GeneratedProgram& program, const TortureCase& how,
                                         const Engines& engines = {}, Observed* observed = nullptr);

// A right program in which one part of memory, which only one instruction reads or writes, answers SLVERR: RTL must
// stop there. nullopt: there is no such part.
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
