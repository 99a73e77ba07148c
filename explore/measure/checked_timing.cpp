#include "explore/measure/checked_timing.h"

#include <array>
#include <cstring>
#include <variant>

#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::explore {

using tune::Measurement;
using tune::Outcome;

namespace {
constexpr std::size_t kNumberBytes = 2 * sizeof(double);
}

std::vector<std::byte> to_answer(const CheckedTiming& timing) {
  const std::array<double, 2> numbers{timing.seconds, timing.ratio};
  std::vector<std::byte> bytes(kNumberBytes + timing.wrong.size());
  std::memcpy(bytes.data(), numbers.data(), kNumberBytes);
  std::memcpy(bytes.data() + kNumberBytes, timing.wrong.data(), timing.wrong.size());
  return bytes;
}

bool has_timing(const ChildEnd& end) {
  return end.ending == ChildEnding::returned && end.answer.size() >= kNumberBytes;
}

CheckedTiming timing_of(const ChildEnd& end) {
  std::array<double, 2> numbers{};
  std::memcpy(numbers.data(), end.answer.data(), kNumberBytes);
  return {
      numbers[0], numbers[1],
      std::string(reinterpret_cast<const char*>(end.answer.data()) + kNumberBytes, end.answer.size() - kNumberBytes)};
}

Measurement measurement_of(const ChildEnd& end, const ChildLimits& limits, double default_seconds) {
  if (end.ending == ChildEnding::timed_out || end.ending == ChildEnding::stopped)
    return {.outcome = Outcome::timed_out, .why = to_string(end, limits)};
  if (!has_timing(end)) return {.outcome = Outcome::crashed, .why = to_string(end, limits)};
  const CheckedTiming timing = timing_of(end);
  if (!timing.wrong.empty()) return {.outcome = Outcome::wrong, .why = timing.wrong};
  return {.outcome = Outcome::measured, .cost = timing.ratio * default_seconds * 1e9};
}

Tolerance tolerance_of(const loops::Program& program) {
  bool free_sums = false;
  loops::visit_stmts(program.body, [&](const loops::Stmt& stmt) {
    const auto* block = std::get_if<loops::Block>(&stmt->node);
    free_sums |= block != nullptr && loops::is_product_sum(*block) && is_floating(block->writes.front().buffer->dtype);
  });
  return {kMachineCodeTolerance, free_sums ? 1 : 0};
}

}  // namespace dovetail::explore
