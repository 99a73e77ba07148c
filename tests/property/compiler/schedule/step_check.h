// Checks every step: an accepted one leaves a program that verifies and computes the same values, with independent
// iterations in any order; a refused one changes nothing and gives a reason.
#pragma once

#include <cstring>
#include <exception>
#include <string>

#include "compiler/schedule/index_map.h"
#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/schedule.h"
#include "loops/interpreter.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/property/compiler/schedule/any_order.h"

namespace dovetail::schedule::test {

struct Case {
  loops::Program program;
  std::vector<NdArray> arguments;
};

inline bool same_values(const NdArray& a, const NdArray& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const auto bytes = a.bytes(), other = b.bytes();
  return std::memcmp(bytes.data(), other.data(), bytes.size()) == 0;
}

class CheckedSchedule {
 public:
  CheckedSchedule(Case start, const loops::IntrinsicTable& intrinsics)
      : schedule_(std::move(start.program), intrinsics),
        arguments_(std::move(start.arguments)),
        intrinsics_(intrinsics) {
    const auto values = loops::evaluate(schedule_.program(), arguments_);
    // A random program may fail on its own: division by zero, an unwritten element, an index that is not proven.
    usable_ = values.ok() && loops::verify(schedule_.program(), intrinsics_).ok();
    if (usable_) expected_ = *values;
    // A random program need not keep the promises of its loops.
    keeps_kinds_ = !first_broken_kind(schedule_.program(), intrinsics_);
  }

  bool usable() const { return usable_; }
  const loops::Program& program() const { return schedule_.program(); }
  const std::vector<Step>& trace() const { return schedule_.trace(); }

  enum class Outcome { accepted, refused, failed };
  // failure() describes a failure.
  Outcome apply(const Step& step) {
    try {
      return checked(step);
    } catch (const std::exception& error) {
      return fail(std::string("exception: ") + error.what());
    }
  }
  const std::string& failure() const { return failure_; }

 private:
  Outcome fail(std::string text) {
    failure_ = std::move(text);
    return Outcome::failed;
  }

  Outcome checked(const Step& step) {
    const loops::Program before = schedule_.program();
    const std::size_t length = schedule_.trace().size();
    if (const auto status = schedule_.apply(step); !status.ok()) {
      if (before.body != schedule_.program().body || length != schedule_.trace().size())
        return fail("a refused step changed the schedule");
      for (const Diagnostic& error : status.errors())
        if (error.what.empty() || error.why.empty()) return fail("a refusal without reason");
      return Outcome::refused;
    }
    const loops::Program& after = schedule_.program();
    if (const auto verified = loops::verify(after, intrinsics_); !verified.ok())
      return fail(to_string(verified.errors()) + "\nafter:\n" + loops::to_string(after));
    if (step.primitive == "transform_layout") pack_parameter(before, step);
    if (std::string why = differs(after); !why.empty()) return fail(why + "\nafter:\n" + loops::to_string(after));
    if (keeps_kinds_) {
      const loops::Program reversed = any_order(after, intrinsics_);
      if (reversed.body != after.body)
        if (std::string why = differs(reversed); !why.empty())
          return fail(why + "\nin another order:\n" + loops::to_string(reversed));
    }
    return Outcome::accepted;
  }

  // Describes the difference from the expected values; empty: none.
  std::string differs(const loops::Program& program) const {
    const auto actual = loops::evaluate(program, arguments_, intrinsics_);
    if (!actual.ok()) return to_string(actual.errors());
    for (std::size_t o = 0; o < expected_.size(); ++o)
      if (o >= actual->size() || !same_values((*actual)[o], expected_[o]))
        return "output " + std::to_string(o) + " differs";
    return "";
  }

  void pack_parameter(const loops::Program& before, const Step& step) {
    const auto map = parse_index_map(step.arguments[1], find_buffer(before, step.arguments[0])->shape);
    std::size_t argument = 0, output = 0;
    for (const loops::Parameter& parameter : before.parameters) {
      NdArray& array = parameter.role == loops::ParameterRole::output ? expected_[output++] : arguments_[argument++];
      if (parameter.buffer->name == step.arguments[0]) array = pack(array, *map);
    }
  }

  Schedule schedule_;
  std::vector<NdArray> arguments_, expected_;
  const loops::IntrinsicTable& intrinsics_;
  bool usable_ = false, keeps_kinds_ = false;
  std::string failure_;
};

// The first failure along a trace; empty: none.
inline std::string failure_of(const Case& start, std::span<const Step> trace, const loops::IntrinsicTable& intrinsics) {
  CheckedSchedule schedule(start, intrinsics);
  if (!schedule.usable()) return "";
  for (const Step& step : trace)
    if (schedule.apply(step) == CheckedSchedule::Outcome::failed) return schedule.failure();
  return "";
}

}  // namespace dovetail::schedule::test
