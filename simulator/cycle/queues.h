// The times at which queues and token FIFOs can be entered and left. Each has one producer and one consumer, both in
// order, so its state consists of two sequences of times: docs/reference/timing.md, sections 1, 6 and 7. `kUnknown`
// means a time that depends on a pending event; it is later than every known time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "isa/spec/timing.h"
#include "simulator/cycle/window.h"
#include "simulator/memory/memory.h"

namespace dovetail::simulator {

inline constexpr Cycle kUnknown = std::numeric_limits<Cycle>::max();
constexpr Cycle cycles_of(const isa::spec::TimingConstant& constant) { return static_cast<Cycle>(constant.value); }
constexpr Cycle after(Cycle time, std::int64_t cycles) {
  return time == kUnknown ? kUnknown : time + static_cast<Cycle>(cycles);
}

// Entry and exit times of a FIFO of `depth` entries: an entry needs room at the beginning of its cycle.
template <typename Entry>
class BoundedFifo {
 public:
  void clear(std::uint64_t depth) {
    depth_ = depth;
    in_.clear();
    out_.clear();
  }

  // The first cycle in which one more entry may enter.
  Cycle room() const {
    if (in_.end() < depth_) return 0;
    const std::uint64_t must_have_left = in_.end() - depth_;
    return must_have_left < out_.end() ? out_[must_have_left] + 1 : kUnknown;
  }
  void enter(Entry entry) { in_.push(entry); }

  std::uint64_t held() const { return in_.end() - out_.end(); }
  // The oldest entry that has not left; null if it has not entered.
  const Entry* head() const { return out_.end() < in_.end() ? &in_[out_.end()] : nullptr; }
  std::uint64_t left() const { return out_.end(); }
  Cycle last_left() const { return out_.end() == 0 ? kUnknown : out_[out_.end() - 1]; }  // kUnknown: none has left
  void leave(Cycle cycle) {
    out_.push(cycle);
    in_.drop_before(out_.end());
    // Keeps the times that room() may still need, and the last one.
    if (in_.end() >= depth_) out_.drop_before(std::min(in_.end() - depth_, out_.end() - 1));
  }

 private:
  std::uint64_t depth_ = 0;
  Window<Entry> in_;
  Window<Cycle> out_;
};

class TokenFifoTimes : public BoundedFifo<Cycle> {
 public:
  // The first cycle in which the next pop may happen.
  Cycle token() const {
    const Cycle* pushed = head();
    return pushed == nullptr ? kUnknown : *pushed + static_cast<Cycle>(isa::spec::kEndToStart.value);
  }
};

struct Issued {
  std::size_t instruction = 0;  // index in the launch
  Cycle cycle = 0;
};
class CommandQueueTimes : public BoundedFifo<Issued> {
 public:
  // The first cycle in which the instruction is at the head. Precondition: head().
  Cycle head_from() const {
    const Cycle issued = head()->cycle + static_cast<Cycle>(isa::spec::kIssueToStart.value);
    return left() == 0 ? issued : std::max(issued, last_left() + 1);
  }
};

}  // namespace dovetail::simulator
