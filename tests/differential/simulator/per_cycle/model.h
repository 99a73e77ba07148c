// The model of run_per_cycle: the state of all queues, ports and units, and a function for each that evaluates a cycle.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/token_machine.h"
#include "simulator/memory/memory.h"
#include "simulator/trace/trace.h"
#include "tests/differential/simulator/per_cycle/transfers.h"

namespace dovetail::test::per_cycle {

using isa::Queue;
using simulator::Direction;
using simulator::StallCause;
using simulator::UnitClass;

// A counter whose changes are visible in the next cycle.
struct Counted {
  std::int64_t count = 0, change = 0;
  void commit() {
    count += change;
    change = 0;
  }
};

struct Command {
  std::size_t instruction;
  Cycle issue;
};
struct CommandQueue {
  std::deque<Command> waiting;
  std::optional<Command> entering;
  bool leaving = false;
  Cycle last_start = kNever;
  void commit() {
    if (leaving) waiting.pop_front();
    leaving = false;
    if (entering) waiting.push_back(*entering);
    entering.reset();
  }
};

struct Running {
  std::size_t instruction = 0;
  isa::TokenUse use;
  Cycle start = kNever, complete = kNever, end = kNever;
};

class PerCycle {
 public:
  PerCycle(const isa::HardwareConfig& config, simulator::Memory& memory, std::span<const isa::Instruction> program,
           const isa::DramImage& image, std::vector<isa::Uop>& uops)
      : config_(config), memory_(memory), program_(program), image_(image), uops_(uops), codec_(config) {}

  simulator::LaunchTrace run(std::size_t first_index, std::uint64_t program_address);

 private:
  // The same for every unit.
  bool at_head(Queue queue, Cycle c) const {
    const CommandQueue& commands = queues_[isa::index(queue)];
    if (commands.waiting.empty()) return false;
    return c >= commands.waiting.front().issue + value(kIssueToStart) &&
           (commands.last_start == kNever || c >= commands.last_start + 1);
  }
  std::size_t head(Queue queue) const { return queues_[isa::index(queue)].waiting.front().instruction; }
  bool token_missing(Queue queue, bool previous) const {
    const isa::TokenUse use = isa::token_use(program_[head(queue)]);
    for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo) {
      const bool from_previous =
          fifo == isa::index(isa::TokenFifo::load_to_compute) || fifo == isa::index(isa::TokenFifo::compute_to_store);
      if ((use.pops >> fifo & 1) != 0 && from_previous == previous && tokens_[fifo].count == 0) return true;
    }
    return false;
  }
  bool tokens_there(Queue queue) const { return !token_missing(queue, true) && !token_missing(queue, false); }
  bool has_room(isa::TokenUse use) const {
    for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo)
      if ((use.pushes >> fifo & 1) != 0 && tokens_[fifo].count == config_.token_queue_depth) return false;
    return true;
  }
  Running start(Queue queue, Cycle c);
  void end(Running& running, Cycle c);
  void add(Queue unit, UnitClass what) { ++trace_.classes[isa::index(unit)][static_cast<std::size_t>(what)]; }
  void add_idle(Queue unit, Cycle c) {
    if (!at_head(unit, c)) add(unit, UnitClass::fetch);
    else if (!tokens_there(unit)) add(unit, UnitClass::token);
    else add(unit, UnitClass::hand_over);
  }

  void charge(Queue unit, std::size_t instruction, Cycle& wait, const MemorySplit& parts) {
    const MemorySplit split = divide(wait, parts);
    trace_.waits->units[isa::index(unit)] += split;
    trace_.waits->instructions[instruction] += split;
    wait = 0;
  }

  void addresses(Cycle c);
  void fetch(Cycle c);
  void load(Cycle c);
  void compute(Cycle c);
  void store(Cycle c);
  void writer(Cycle c);
  void commit(Cycle c);
  void expand(const isa::Instruction& instruction, Cycle s, Running& running);

  const isa::HardwareConfig& config_;
  simulator::Memory& memory_;
  std::span<const isa::Instruction> program_;
  isa::DramImage image_;
  std::vector<isa::Uop>& uops_;
  isa::Codec codec_;
  simulator::LaunchTrace trace_;
  std::size_t ended_ = 0;
  Cycle last_end_ = 0, last_event_ = 0;

  std::array<CommandQueue, 3> queues_;
  std::array<Counted, isa::kTokenFifos> tokens_;
  // The resources that the head of each queue waited for in the previous cycle.
  struct Before {
    bool unit = false, drain = false, token_prev = false, token_next = false;
  };
  std::array<Before, 3> before_, now_;

  // Memory port.
  Reader fetch_reader_, compute_reader_, load_reader_;
  Reader* address_ = nullptr;  // the owner of the address register
  Cycle address_valid_ = 0;

  // Fetch.
  std::deque<Slot> fetch_slots_;
  std::size_t next_ = 0;
  std::uint64_t beats_of_next_ = 0;

  // Load.
  struct Loading {
    Running running;
    Geometry geometry;
  };
  std::deque<Loading> load_fifo_;
  std::optional<Loading> drained_;
  std::deque<Slot> load_slots_;
  Cycle take_ = 0, load_last_slot_ = 0;
  bool load_ended_now_ = false;

  // Compute.
  enum class Kind { serial, gemm, alu, alu_long };
  Kind kind_of(const isa::Instruction& instruction) const;
  struct Step {
    Cycle u = 0, b = 0, c = 0;
    bool empty = false;
    std::uint64_t dst = 0, src = 0;
    Cycle r() const { return b + c - 1; }
  };
  struct InRead {
    Cycle begin, end;
    Cycle interlocked;  // the first cycles in R
  };
  std::deque<Running> in_flight_;  // up to and including their end
  std::optional<Step> last_step_;
  std::vector<std::pair<Cycle, std::uint64_t>> long_writes_;  // of kind alu_long: cycle and dst, of the last steps
  Kind last_kind_ = Kind::serial;
  std::deque<InRead> reads_;
  std::deque<Slot> serial_slots_;
  bool serial_ = false;
  Cycle last_compute_end_ = kNever;

  // Store.
  std::optional<Running> stored_;
  std::deque<Slot> fill_slots_;
  std::deque<BurstOf> store_bursts_;  // bursts to be filled
  Counted places_;
  std::uint32_t filled_of_burst_ = 0;
  struct Full {
    BurstOf burst;
    Cycle p;
  };
  // For each burst of the instruction that has been taken: the causes of its latency.
  struct Way {
    std::uint64_t first_beat = 0, beats = 0;  // of the instruction
    MemorySplit to_address, memory;
    Cycle first_data = kNever;
  };
  std::vector<Way> ways_;
  std::uint64_t beats_opened_ = 0;  // of the instruction
  Cycle store_waited_ = 0;
  std::deque<Full> full_;
  std::size_t unanswered_ = 0;
  std::optional<Cycle> aw_from_;
  BurstOf aw_{};
  struct Sending {
    Cycle begin;
    std::uint32_t beats;
  };
  std::deque<Sending> sending_;
  Cycle last_data_ = kNever, response_ = kNever, last_store_end_ = kNever;
};

}  // namespace dovetail::test::per_cycle
