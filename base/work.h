// Work that may take long: how many steps remain, how many are done, and whether it must stop. One Work is shared by
// the threads that do it, each through its own WorkMeter, and by its observers. docs/reference/trust-and-limits.md
// defines a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/saturating.h"

namespace dovetail {

// An estimate of work before it starts. Sums saturate.
struct WorkEstimate {
  std::uint64_t steps = 0;
  double seconds = 0;  // accurate within a factor of a few

  WorkEstimate& operator+=(const WorkEstimate& other) {
    steps = saturating_sum(steps, other.steps);
    seconds += other.seconds;
    return *this;
  }
};

class Work {
 public:
  // Called with the estimate, before the work starts.
  using Announce = std::function<void(std::string_view what, const WorkEstimate& estimate)>;

  explicit Work(std::optional<std::uint64_t> most_steps = std::nullopt, Announce announce = nullptr)
      : most_steps_(most_steps), announce_(std::move(announce)) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Announces work before it starts, in addition to earlier announcements. Error: the sum exceeds the limit of steps;
  // then the work must not start. `what` names it.
  Result<void> expect(std::string_view what, WorkEstimate estimate);
  void count(std::uint64_t steps) { done_.fetch_add(steps, std::memory_order_relaxed); }

  // Ends the work: each worker stops at its next check. The reason of the first call is reported.
  void stop(std::string why, std::string hint);
  // Lets work continue that must not be lost, as copying what earlier work has made.
  void resume() { stopped_.store(false, std::memory_order_release); }
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // The diagnostic of the stopped work. Precondition: stopped().
  Diagnostic stopped_at(std::string where) const;

  WorkEstimate expected() const;
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  std::optional<std::uint64_t> most_steps_;
  Announce announce_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;  // protects the following members
  WorkEstimate expected_;
  std::string why_, hint_;
};

// The meter of one thread. It checks the shared state once in kGrain steps, so that it may be used in the innermost
// loops.
class WorkMeter {
 public:
  // A few milliseconds on any engine.
  static constexpr std::uint64_t kGrain = std::uint64_t{1} << 20;

  explicit WorkMeter(Work* work = nullptr) : work_(work) {}  // null: unlimited and not observed
  WorkMeter(const WorkMeter&) = delete;
  WorkMeter& operator=(const WorkMeter&) = delete;
  ~WorkMeter() { look(); }

  // Counts steps that are done. False: stop.
  bool advance(std::uint64_t steps) {
    counted_ += steps;
    return counted_ < kGrain || look();
  }
  // Counts effort that is not a step of the work, for example finding what an error message must name.
  bool advance_uncounted(std::uint64_t steps) {
    uncounted_ += steps;
    return uncounted_ < kGrain || look();
  }
  bool stopped() const { return work_ != nullptr && work_->stopped(); }
  Work* work() const { return work_; }

 private:
  bool look() {
    if (work_ != nullptr && counted_ != 0) work_->count(counted_);
    counted_ = uncounted_ = 0;
    return !stopped();
  }

  Work* work_;
  std::uint64_t counted_ = 0, uncounted_ = 0;
};

}  // namespace dovetail
