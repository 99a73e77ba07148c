// The last accesses to each element of INP, WGT, ACC or TAB. Each of these memories is written by one queue only, so
// recording one writer, and one reader of the other queue, per element is exact: see docs/explanation/verify.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "isa/config.h"
#include "isa/verify/accesses.h"
#include "isa/verify/clock.h"

namespace dovetail::isa {

class SramShadow {
 public:
  // `reader`: the queue other than `writer` that reads the memory; `writer` may read it too. If no other queue reads
  // it, any other queue.
  SramShadow(const HardwareConfig& config, Memory memory, Queue writer, Queue reader);

  Memory memory() const { return memory_; }

  // Precondition: called in an order that the tokens allow. Earlier accesses that are not ordered with this one are
  // added to `conflicts`.
  void access(const SramAccess& access, const Event& event, ConflictList& conflicts);

  // Elements read by an event before any write. Decided at the end of the launch: a write that comes later in this pass
  // may be unordered with the read, and then the pair is reported as a race.
  struct Undefined {
    Queue queue = Queue::compute;
    Position position = 0;
    std::vector<Extent> extents;  // empty: the memory as a whole
  };
  // `ordered(writer position, queue, position)`: the event comes before the writer in every execution.
  using Ordered = std::function<bool(Position, Queue, Position)>;
  std::vector<Undefined> end_launch(const Ordered& ordered);

 private:
  void read(const SramAccess& access, const Event& event, ConflictList& conflicts);
  void write(const SramAccess& access, const Event& event, ConflictList& conflicts);
  void suspect(const Event& event, Extent extent);

  Memory memory_;
  Queue writer_, reader_;
  // Per element; positions in the queues writer_ and reader_.
  std::vector<Position> first_write_, last_write_, last_read_;
  // The same over all elements, for accesses at unknown locations.
  Position any_first_write_ = 0, any_last_write_ = 0, any_last_read_ = 0;
  // Accesses at unknown locations.
  Position may_first_write_ = 0, may_last_write_ = 0, may_last_read_ = 0;
  std::vector<Undefined> suspects_;
};

}  // namespace dovetail::isa
