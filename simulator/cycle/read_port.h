// One of the three requesters with its beat buffer (docs/reference/timing.md, section 4): requests a transfer's bursts
// one after the other while the buffer has room, and stores the granted ones until they are used.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/cycle/bursts.h"
#include "simulator/cycle/queues.h"
#include "simulator/cycle/window.h"
#include "simulator/memory/delay.h"

namespace dovetail::simulator {

class ReadPort {
 public:
  struct Granted {
    Burst burst;
    Cycle first_beat = kUnknown;  // cycle of its R handshake
  };

  // `explain`: record the causes of each burst's delay.
  void clear(std::uint64_t buffer_beats, bool explain);

  // Requests begin at `cycle`. Precondition: idle().
  void request(const Bursts& bursts, Cycle cycle);

  bool idle() const { return !asking_; }  // no requests remain
  // The first idle cycle: the cycle after the last grant, 0 if there was none. Precondition: idle().
  Cycle idle_from() const { return idle_from_; }

  // The first cycle in which it requests the next burst; kUnknown: no requests remain, or the time at which there is
  // room is unknown.
  Cycle asks_from() const { return asks_from_; }
  const Burst& asked() const { return next_; }
  void grant(Cycle cycle);
  void accepted(Cycle first_beat) { granted_[accepted_++].first_beat = first_beat; }

  // Called before accepted(), if delays are explained: since its grant, the burst was refused in `refused` cycles, and
  // the memory attributed the rest of its delay as given.
  bool explains() const { return explain_; }
  void explain(Cycle refused, MemorySplit memory);
  // A burst of another requester was refused in these cycles: they count as waiting while this one requests.
  void note_refused(Cycle begin, Cycle end) {
    if (asks_from_ < end) refused_while_asking_ += end - std::max(begin, asks_from_);
  }
  // The delay of the oldest burst that is not used. Precondition: explains() and arrived().
  const MemorySplit& delay() const { return delays_[used_]; }

  // The oldest burst that is not used, if its beats are scheduled.
  const Granted* arrived() const { return used_ < accepted_ ? &granted_[used_] : nullptr; }
  // The whole burst is used, in slots without a gap that start at `begin`. Precondition: arrived().
  void use(Cycle begin);
  // The same beat by beat, for callers that cannot guarantee that.
  void use_beat(Cycle last_slot);

 private:
  // A run of beats whose times of leaving are known: beat i leaves in begin + slots_through(i) - 1.
  struct Run {
    std::uint64_t first_beat = 0;
    Cycle begin = 0;
    Burst burst;
  };
  void find_room();

  std::uint64_t buffer_beats_ = 0;
  Bursts bursts_;
  Burst next_;
  bool asking_ = false;
  Cycle asks_after_ = 0, asks_from_ = kUnknown, idle_from_ = 0;
  Window<Granted> granted_;
  std::uint64_t accepted_ = 0, used_ = 0;  // number of bursts
  std::uint64_t beats_granted_ = 0, beats_used_ = 0;
  std::uint32_t beats_of_burst_used_ = 0;
  Window<Run> runs_;

  bool explain_ = false;
  Cycle refused_while_asking_ = 0;
  Window<MemorySplit>
      delays_;  // of granted bursts, numbered as in granted_; the memory's part is added with the acceptance
};

}  // namespace dovetail::simulator
