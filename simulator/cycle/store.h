// The store unit (docs/reference/timing.md, section 10): fills a write buffer from the shadow of ACC, and writes it out
// burst by burst.
#pragma once

#include <cstdint>

#include "simulator/cycle/board.h"
#include "simulator/cycle/window.h"

namespace dovetail::simulator {

class StoreUnit {
 public:
  explicit StoreUnit(Board& board) : board_(board) {}

  void clear();
  void advance();
  void finish(Cycle cycles);

  // The cycle from which AWVALID is high; kUnknown: no burst is ready.
  Cycle writes_from() const { return writes_from_; }
  const Burst& written() const { return ready_.front().burst; }
  void accepted(Cycle cycle, Cycle response);
  // Called before accepted(), if delays are explained.
  void explain(Cycle refused, const MemorySplit& memory);

 private:
  struct Ready {
    Burst burst;
    Cycle to_writer = 0;
  };
  struct Written {
    std::uint64_t first_beat = 0, beats = 0;  // of the instruction
    Cycle first_cycle = 0;                    // cycle of its W handshake
    MemorySplit before;  // causes of its delay until AW, from its readiness on; if delays are explained
  };
  bool start();
  bool fill();
  bool end();
  void take();

  Board& board_;
  bool active_ = false;
  Started started_;
  Bursts bursts_;
  bool has_burst_ = false;  // burst_ is still to be filled
  Burst burst_;
  std::uint64_t beat_ = 0;          // next beat of burst_ to be filled
  std::uint64_t beats_filled_ = 0;  // of the instruction, before burst_
  Cycle next_slot_ = 0;
  std::uint64_t slots_ = 0;

  Window<Ready> ready_;              // filled, not accepted
  Window<Written> written_;          // accepted
  std::uint64_t beats_written_ = 0;  // of the instruction, accepted
  std::uint64_t unanswered_ = 0;     // bursts that are not accepted
  Cycle writes_from_ = kUnknown;
  Cycle taken_ = 0;      // the cycle in which the writer took the burst that writes_from_ describes
  Cycle last_data_ = 0;  // last W beat
  Cycle last_response_ = 0;
  MemorySplit before_, delay_;  // of the burst accepted last: until its acceptance, and until its response
  bool has_ended_ = false;
  Cycle last_end_ = 0, counted_ = 0;
};

}  // namespace dovetail::simulator
