// Work that may take long: how many steps lie ahead, how many are done, and whether it is to stop. One Work is shared
// by those who do it, each through a WorkMeter of its own, and by whoever watches. docs/reference/trust-and-limits.md
// says what a step is.
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

// What is known of work before it starts. Sums saturate.
struct WorkEstimate {
  std::uint64_t steps = 0;
  double seconds = 0;  // to within a factor of a few

  WorkEstimate& operator+=(const WorkEstimate& other) {
    steps = saturating_sum(steps, other.steps);
    seconds += other.seconds;
    return *this;
  }
};

class Work {
 public:
  // Called with what is expected, before it starts.
  using Announce = std::function<void(std::string_view what, const WorkEstimate& estimate)>;

  explicit Work(std::optional<std::uint64_t> most_steps = std::nullopt, Announce announce = nullptr)
      : most_steps_(most_steps), announce_(std::move(announce)) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Before it starts: this much lies ahead, on top of what was expected. Error: the sum exceeds the limit of steps;
  // then nothing of it may start. `what` names it.
  Result<void> expect(std::string_view what, WorkEstimate estimate);
  void count(std::uint64_t steps) { done_.fetch_add(steps, std::memory_order_relaxed); }

  // Those who work end as soon as they look. The first reason stays.
  void stop(std::string why, std::string hint);
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // What ends the work then. Precondition: stopped().
  Diagnostic stopped_at(std::string where) const;

  WorkEstimate expected() const;
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  std::optional<std::uint64_t> most_steps_;
  Announce announce_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;  // of what follows
  WorkEstimate expected_;
  std::string why_, hint_;
};

// Of one thread. It looks at the shared state once in kGrain steps, so that it may be asked in the innermost loops.
class WorkMeter {
 public:
  // A few milliseconds of any engine's steps.
  static constexpr std::uint64_t kGrain = std::uint64_t{1} << 20;

  explicit WorkMeter(Work* work = nullptr) : work_(work) {}  // null: endless, and nobody watches
  WorkMeter(const WorkMeter&) = delete;
  WorkMeter& operator=(const WorkMeter&) = delete;
  ~WorkMeter() { look(); }

  // So many steps are done. False: stop.
  bool advance(std::uint64_t steps) {
    counted_ += steps;
    return counted_ < kGrain || look();
  }
  // As much effort, which is no step of the work: looking for what an error is to name, say.
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
