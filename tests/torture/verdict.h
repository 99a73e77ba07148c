// What is wrong with a program, by isa/verify and the rules that it shares, and what an engine says of it.
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
  race,         // or a STORE to what is fetched: the result depends on time
  undefined,    // an undefined read
  bad_index,    // beyond a memory on chip, found in the micro-ops
  deadlock,     // or an overflow
  leftover,     // tokens
  illegal,      // by a field
  undecodable,  // by its bits
  bus_error,    // an address where there is no memory
  several,      // which of them comes first is a matter of time
};
inline constexpr std::array<std::string_view, 10> kVerdictNames{"right",     "race",     "undefined", "bad_index",
                                                                "deadlock",  "leftover", "illegal",   "undecodable",
                                                                "bus_error", "several"};
std::string_view name(Verdict verdict);

struct Judgment {
  Verdict verdict = Verdict::right;
  std::optional<std::size_t> instruction = std::nullopt;  // illegal, undecodable, bus_error, deadlock: which
  std::optional<std::size_t> launch = std::nullopt;       // in which it shows; the launches before are right
  bool racing = false;                                    // in addition: values depend on time
  bool uops_unknown = false;                              // and micro-ops, so that times do too
};
Judgment judge(const GeneratedProgram& program);

// Whether an engine that reports `errors` stops for this reason, at this instruction. Tokens: in verify's very words.
// Precondition: the verdict is one that engines stop at.
bool confirms(const Diagnostics& errors, const GeneratedProgram& program, const Judgment& judgment);

}  // namespace dovetail::test
