// Determines the causes of the design's waits for memory from its port's signals, cycle by cycle, and from the memory's
// responses, by the rules of docs/reference/timing.md, section 11.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "isa/verify/token_machine.h"
#include "simulator/memory/memory.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// Bit positions in the word that hw/tb/dovetail_probe.sv gathers; readers are 0 fetch, 1 compute, 2 load, units as
// isa::Queue.
namespace port_signal {
inline constexpr int kRequest = 0, kGrant = 3, kPop = 6;  // by reader
inline constexpr int kFetchWanting = 9, kFetchBeat = 10, kFetchSlot = 11;
inline constexpr int kFetchBlocked = 12, kMemory = 15;  // by unit
inline constexpr int kStoreSlot = 18, kWriteReady = 19, kWriteTake = 20, kWriteSent = 21;
inline constexpr int kReadAddress = 30, kWriteAddress = 31;  // AR, AW valid
}  // namespace port_signal

class PortWatch {
 public:
  // `first_index`: of the launch's first instruction.
  void begin(std::size_t instructions, std::size_t first_index);
  // The memory has accepted a burst in this cycle, and attributes its delay as given. Called before cycle().
  void accepted(Direction direction, Cycle cycle, Cycle answer, std::uint32_t beats, const MemorySplit& delay);
  void cycle(Cycle cycle, std::uint32_t signals, const std::uint32_t moved[3]);
  // Precondition: the launch is done.
  MemoryWaits finish(std::uint64_t cycles);

 private:
  struct Delay {
    MemorySplit parts;
    std::uint32_t beats = 0;  // that have not left their buffer
  };
  // A reader's bursts, from the oldest with unused beats to the one being requested.
  struct Reader {
    std::deque<Delay> delays;
    bool asks = false;  // the last of them has not been granted
    Cycle waited = 0;   // cycles waited for the oldest
  };
  struct Way {  // A write burst before its acceptance.
    MemorySplit to_address, memory;
    Cycle first_data = 0;
    bool sends = false;
  };
  void read_port(std::uint32_t signals);
  void read_buffers(std::uint32_t signals, const std::uint32_t moved[3]);
  void fetch(std::uint32_t signals);
  void store(Cycle cycle, std::uint32_t signals, std::uint32_t moved);
  void charge(isa::Queue unit, std::uint32_t instruction, Cycle& wait, const MemorySplit& parts);

  MemoryWaits waits_;
  std::size_t first_index_ = 0;
  std::array<Reader, 3> readers_;
  int at_address_ = -1;  // the reader of the burst in the address register
  std::array<bool, 2> is_accepted_{};
  std::uint32_t accepted_beats_ = 0;
  std::array<MemorySplit, 2> delays_;

  std::deque<Cycle> ready_;  // write bursts available to the writer, each from this cycle on
  Way taken_, sent_;         // the last burst that it took, and the one whose beat was sent last
  Cycle store_waited_ = 0;
};

}  // namespace dovetail::simulator
