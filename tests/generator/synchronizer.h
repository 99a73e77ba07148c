// Turns a serially correct sequence of instructions into a decoupled one: for each instruction it finds the latest
// earlier instructions of the other queues that it conflicts with, and orders it after them by tokens where that order
// is not implied already. Queues that are not neighbors (load, store) are ordered through a NOP of the compute queue
// that relays the token.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/token_machine.h"
#include "tests/generator/random.h"
#include "tests/generator/touches.h"

namespace dovetail::test {

// An instruction that only moves tokens.
isa::Instruction nop(isa::Queue queue);

class Synchronizer {
 public:
  // `dram`: the byte range of the image. `extra_percent`: how often an instruction gets a token that it does not need.
  Synchronizer(const isa::HardwareConfig& config, isa::Extent dram, unsigned extra_percent, std::uint64_t seed);

  // Appends the NOPs that the instruction's tokens need, then the instruction. Its own flags are ignored.
  void append(isa::Instruction instruction, const Touches& touches);
  // Appends NOPs of `from` and as many of `to`, each of which pops a token of the former; as many as the FIFO holds run
  // ahead.
  void append_token_run(isa::Queue from, isa::Queue to, std::size_t count);
  void end_launch();

  std::size_t size() const { return program_.size(); }
  std::vector<isa::Instruction> take_program() { return std::move(program_); }
  std::vector<isa::Launch> take_launches() { return std::move(launches_); }

 private:
  using Clock = std::array<std::uint32_t, isa::kQueues>;  // 1-based positions in each queue, counted over all launches
  struct Edge {
    std::size_t push, pop;  // indices of instructions
  };

  Clock requirements(isa::Queue queue, const Touches& touches) const;
  void record(isa::Queue queue, const Touches& touches);
  // Appends the instruction; it pops a token for each queue in which `after` demands more than is already implied.
  void place(isa::Instruction instruction, Clock after);
  void place_nop(isa::Queue queue, Clock after);
  // Returns a token from the instruction at `position` of `from`, or a later one, to the next instruction of `to`; the
  // push flag is set here.
  std::size_t connect(isa::Queue from, isa::Queue to, std::uint32_t position);
  bool has_room(isa::TokenFifo fifo, std::size_t push) const;
  void add_extra_tokens(isa::Queue queue, Clock& after);

  const isa::HardwareConfig& config_;
  isa::Extent dram_;
  unsigned extra_percent_;
  unsigned later_percent_ = 30;  // how often an instruction later than the first possible one pushes
  Random random_;

  std::vector<isa::Instruction> program_;
  std::vector<isa::Launch> launches_;
  std::size_t launch_begin_ = 0;

  std::array<std::vector<std::size_t>, isa::kQueues> order_;  // instructions of each queue
  std::vector<Clock> clocks_;                                 // what is complete before each instruction
  std::array<Clock, isa::kQueues> now_{};                  // what is complete before the next instruction of each queue
  std::array<std::vector<Edge>, isa::kTokenFifos> edges_;  // tokens of this launch, ascending in both members

  // The last position that touched each element or byte; one entry for each queue that may touch it.
  struct Last {
    std::uint32_t load = 0, compute = 0, store = 0;
    std::uint32_t& of(isa::Queue queue) {
      return queue == isa::Queue::load ? load : queue == isa::Queue::compute ? compute : store;
    }
    std::uint32_t of(isa::Queue queue) const { return const_cast<Last*>(this)->of(queue); }
  };
  struct Place {
    Last read, write;
  };
  std::array<std::vector<Place>, kSharedMemories> sram_;
  std::vector<Place> bytes_;
};

}  // namespace dovetail::test
