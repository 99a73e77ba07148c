// Bursts and slots of a transfer (docs/reference/timing.md, section 3), and the requester that fetches them (sections 4
// and 5).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/spec/timing.h"
#include "simulator/trace/trace.h"

namespace dovetail::test::per_cycle {

using namespace isa::spec;
using simulator::Cycle;
using simulator::MemoryCause;
using simulator::MemorySplit;

constexpr Cycle kNever = ~Cycle{0};
constexpr Cycle value(const TimingConstant& constant) { return static_cast<Cycle>(constant.value); }

struct BurstOf {
  std::uint64_t address;
  std::uint32_t beats;
};
struct Slot {
  bool data;        // it needs the oldest beat of the buffer
  bool opens_beat;  // the first slot of a beat
  bool last_of_beat;
};
struct Geometry {
  std::vector<BurstOf> bursts;
  std::vector<Slot> slots;
};

// Adds the bursts and slots of `elements` elements from `address` on.
void add_row(const isa::HardwareConfig& config, std::uint64_t address, std::uint64_t elements,
             std::uint64_t element_bytes, Geometry& geometry);
Geometry geometry_of(const isa::HardwareConfig& config, const isa::Transfer& transfer);

// A requester and its beat buffer.
struct Reader {
  std::deque<BurstOf> left;  // bursts to request
  Cycle active_from = kNever;
  std::int64_t credits = 0, credits_given = 0;  // at the beginning of the cycle, and their change
  std::deque<Cycle> beats;                      // arrival of each beat that has not left
  std::deque<BurstOf> granted;                  // bursts granted and not accepted
  Cycle last_grant = kNever;
  // For each burst, from the requesting one back to the oldest whose beats have not all left: the causes of its delay,
  // and the number of beats left.
  struct Delay {
    MemorySplit parts;
    std::uint32_t beats = 0;
  };
  std::deque<Delay> delays;
  Cycle waited = 0;  // by the unit, for the oldest burst

  bool asks(Cycle c) const { return !left.empty() && c >= active_from && credits >= left.front().beats; }
  bool idle(Cycle c) const { return left.empty() && (last_grant == kNever || last_grant < c); }
  bool usable(Cycle c) const {
    return !beats.empty() && beats.front() != kNever && c >= beats.front() + value(kBeatToSlot);
  }
  void leave() {
    beats.pop_front();
    ++credits_given;
    if (--delays.front().beats == 0) delays.pop_front();
  }
  // The burst that requests, or is to request next, follows those that are granted and not used up.
  Delay& asking() {
    if (asking_is_listed) return delays.back();
    asking_is_listed = true;
    return delays.emplace_back(Delay{{}, left.front().beats});
  }
  bool asking_is_listed = false;
  // The burst at AR, which is the latest granted one.
  Delay& at_address() { return delays[delays.size() - 1 - (asking_is_listed ? 1 : 0)]; }
  void grant(Cycle c) {
    active_from = c + 1;
    last_grant = c;
    credits_given -= left.front().beats;
    asking();
    asking_is_listed = false;
    granted.push_back(left.front());
    left.pop_front();
  }
  void accept(Cycle first_beat) {
    for (Cycle i = 0; i < granted.front().beats; ++i) beats.push_back(first_beat + i);
    granted.pop_front();
  }
  void commit() {
    credits += credits_given;
    credits_given = 0;
  }
};

// Divides the cycles that a unit waited among the causes of its burst's delay (section 11): cycle by cycle, from the
// first part in the order.
MemorySplit divide(Cycle wait, MemorySplit parts);

}  // namespace dovetail::test::per_cycle
