// The fault of a program, by isa/verify and the rules that it shares, compared with an engine's report.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "tests/generator/generator.h"

namespace dovetail::test {

enum class Verdict : std::uint8_t {
  right,
  race,         // or a STORE to bytes that are fetched: the result depends on time
  undefined,    // an undefined read
  bad_index,    // beyond a memory on chip, found in the micro-ops
  deadlock,     // or an overflow
  leftover,     // tokens are left over
  illegal,      // an illegal field
  undecodable,  // undecodable bits
  bus_error,    // an address where there is no memory
  several,      // more than one fault; time decides which comes first
};
inline constexpr std::array<std::string_view, 10> kVerdictNames{"right",     "race",     "undefined", "bad_index",
                                                                "deadlock",  "leftover", "illegal",   "undecodable",
                                                                "bus_error", "several"};
std::string_view name(Verdict verdict);

struct Judgment {
  Verdict verdict = Verdict::right;
  std::optional<std::size_t> instruction = std::nullopt;  // illegal, undecodable, bus_error, deadlock: the instruction
  std::optional<std::size_t> launch = std::nullopt;       // the launch in which it shows; the launches before are right
  bool racing = false;                                    // in addition: values depend on time
  bool uops_unknown = false;                              // and micro-ops too, so that times depend on time
};
Judgment judge(const GeneratedProgram& program);

// Whether an engine that reports `errors` stops for this reason, at this instruction. For tokens the report must equal
// verify's. Precondition: the verdict is one at which engines stop.
bool confirms(const Diagnostics& errors, const GeneratedProgram& program, const Judgment& judgment);

}  // namespace dovetail::test
