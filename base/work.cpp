#include "base/work.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace dovetail {

Result<void> Work::expect(std::string_view what, WorkEstimate estimate) {
  {
    const std::lock_guard lock(mutex_);
    WorkEstimate sum = expected_;
    sum += estimate;
    if (most_steps_ && sum.steps > *most_steps_)
      return Diagnostic{"the work exceeds its limit", std::string(what),
                        fmt::format("{:.6g} steps > limit of {:.6g} steps", static_cast<double>(sum.steps),
                                    static_cast<double>(*most_steps_)),
                        "raise the limit, or run less"};
    expected_ = sum;
  }
  if (announce_) announce_(what, estimate);
  return {};
}

void Work::stop(std::string why, std::string hint) {
  const std::lock_guard lock(mutex_);
  if (stopped()) return;
  why_ = std::move(why);
  hint_ = std::move(hint);
  stopped_.store(true, std::memory_order_release);
}

Diagnostic Work::stopped_at(std::string where) const {
  DOVETAIL_CHECK(stopped(), "the work must have been stopped");
  const std::lock_guard lock(mutex_);
  return {"the work was stopped", std::move(where),
          expected_.steps == 0 ? why_
                               : fmt::format("{}, {:.3g} of {:.3g} steps done", why_, static_cast<double>(done()),
                                             static_cast<double>(expected_.steps)),
          hint_};
}

WorkEstimate Work::expected() const {
  const std::lock_guard lock(mutex_);
  return expected_;
}

}  // namespace dovetail
