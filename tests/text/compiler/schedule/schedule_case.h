// A loop program and a trace as text: the resulting program, or the reason for a refusal.
#pragma once

#include <string>

#include "compiler/schedule/schedule.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/catch.h"

namespace dovetail::schedule::test {

inline loops::Program parsed(const std::string& text) {
  auto program = loops::parse_program(text, "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  return *std::move(program);
}

// The body that `trace` makes of `program`, printed, or the diagnostic. A refused step must leave program and trace
// unchanged, a replay of the trace must give the same program, and the result must verify.
inline std::string scheduled(const std::string& program_text, const std::string& trace_text,
                             const loops::IntrinsicTable& intrinsics = {}) {
  const loops::Program program = parsed(program_text);
  const auto input = loops::verify(program, intrinsics);
  REQUIRE((input.ok() ? "" : to_string(input.errors())) == "");
  const auto trace = parse_trace(trace_text, "trace");
  REQUIRE((trace.ok() ? "" : to_string(trace.errors())) == "");
  Schedule schedule(program, intrinsics);
  for (const Step& step : *trace) {
    const std::string before = loops::to_string(schedule.program());
    const std::size_t length = schedule.trace().size();
    if (const auto status = schedule.apply(step); !status.ok()) {
      REQUIRE(loops::to_string(schedule.program()) == before);
      REQUIRE(schedule.trace().size() == length);
      return to_string(status.errors());
    }
  }
  const auto verified = loops::verify(schedule.program(), intrinsics);
  REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
  const auto again = parse_trace(to_string(schedule.trace()), "again");
  REQUIRE(again.ok());
  REQUIRE(*again == schedule.trace());
  Schedule replayed(program, intrinsics);
  REQUIRE(replayed.replay(*again).ok());
  REQUIRE(loops::to_string(replayed.program()) == loops::to_string(schedule.program()));
  return loops::to_string(schedule.program());
}

// Compared as programs: `expected` is parsed and printed, so that it may be laid out freely.
inline void check_becomes(const std::string& program, const std::string& trace, const std::string& expected,
                          const loops::IntrinsicTable& intrinsics = {}) {
  CHECK(scheduled(program, trace, intrinsics) == loops::to_string(parsed(expected)));
}

inline void check_refused(const std::string& program, const std::string& trace, const std::string& message,
                          const loops::IntrinsicTable& intrinsics = {}) {
  CHECK_THAT(scheduled(program, trace, intrinsics), Catch::Matchers::ContainsSubstring(message));
}

}  // namespace dovetail::schedule::test
