// The compute unit (docs/reference/timing.md, section 9). Loads and other serial instructions run alone in it; GEMM and
// ALU instructions of one kind are pipelined through its stages. Within an instruction stage R never pauses, so an
// instruction's times follow from the number and cost of its steps, waits for results included.
#pragma once

#include <cstdint>

#include "isa/verify/command_queues.h"
#include "simulator/cycle/alu_steps.h"
#include "simulator/cycle/board.h"
#include "simulator/cycle/load.h"
#include "simulator/cycle/read_port.h"
#include "simulator/cycle/window.h"

namespace dovetail::simulator {

class ComputeUnit {
 public:
  explicit ComputeUnit(Board& board) : board_(board) {}

  void clear();
  ReadPort& port() { return port_; }
  void advance();
  void finish(Cycle cycles);

 private:
  using Kind = isa::ComputeKind;
  struct Interval {
    Cycle begin = 0, end = 0;  // end exclusive
  };

  bool start();
  void begin_serial(const isa::Instruction& instruction, Cycle start);
  void begin_steps(const isa::Instruction& instruction, Kind kind, Cycle start);
  bool drain();
  bool end();
  void count_pushes(Cycle known);

  Board& board_;
  ReadPort port_;

  struct InFlight {
    Started started;
    Cycle complete = kUnknown;
  };
  Window<InFlight> in_flight_;  // started, and not ended
  Window<Cycle> ends_;          // of the most recent instructions; as many as may be in flight
  Kind kind_ = Kind::serial;    // kind of the instruction started last
  Drain drain_;                 // of a serial load that is not complete

  // The pipeline of steps, after the last one that entered.
  Cycle front_free_ = 0;  // the cycle in which the last step leaves U
  Cycle read_free_ = 0;   // the first cycle in which R is free after it
  Cycle last_begin_ = 0;  // the last step's first cycle in R
  LongResults long_results_;

  // Cycle classes. A wait to push counts only in cycles in which R is idle; both sequences are stored until those
  // cycles are known.
  Window<Interval> reads_, pushes_;
  Cycle counted_ = 0, pushes_counted_ = 0;
};

}  // namespace dovetail::simulator
