// Executes a launch on counts alone: no data and no time. CommandQueues decides which instructions may start and end;
// this class decides the order in which they do, and records it.
//
// The machine is deterministic in its result: no move (a start or an end) ever disables another
// (docs/explanation/verify.md). Hence every maximal execution makes the same moves, and one greedy execution decides
// deadlock; and the k-th pop of a FIFO gets the token of the k-th push in every execution.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "isa/instruction.h"
#include "isa/verify/command_queues.h"
#include "isa/verify/token_use.h"

namespace dovetail::isa {

// Selects one of the equivalent executions.
enum class FetchPolicy : std::uint8_t {
  ahead,       // fetches until the command queues are full before anything starts
  one_by_one,  // an instruction starts as soon as it may: program order, wherever that is legal
};

enum class Stage : std::uint8_t { not_fetched, waiting, in_flight, ended };

class TokenMachine {
 public:
  // `launch` outlives the machine.
  TokenMachine(std::span<const Instruction> launch, QueueDepths depths);

  // Called when an instruction starts, with the pushers of the tokens it pops. Calls come in an order that every token
  // and queue respects.
  using OnStart = std::function<void(std::size_t instruction, std::span<const std::size_t> pushers)>;

  // Executes moves until none is possible. True: every instruction has ended.
  bool run(const OnStart& on_start = {}, FetchPolicy policy = FetchPolicy::ahead);
  // Precondition: no depth decreases.
  void set_depths(QueueDepths depths) { queues_.set_depths(depths); }

  std::size_t size() const { return uses_.size(); }
  const TokenUse& use(std::size_t instruction) const { return uses_[instruction]; }
  // 1-based position within its queue.
  std::size_t position(std::size_t instruction) const { return positions_[instruction]; }
  // The instruction at a 1-based position of a queue.
  std::size_t at(Queue queue, std::size_t position) const { return orders_[index(queue)].all[position - 1]; }

  // State, for reports.
  const CommandQueues& queues() const { return queues_; }
  Stage stage(std::size_t instruction) const;
  std::optional<std::size_t> next_fetch() const;                                     // the oldest not yet fetched
  std::size_t count(Queue queue) const { return orders_[index(queue)].all.size(); }  // in the whole launch
  std::size_t pushed(TokenFifo fifo) const { return fifos_[index(fifo)].pushers.size(); }
  std::size_t popped(TokenFifo fifo) const { return fifos_[index(fifo)].popped; }
  std::size_t pusher(TokenFifo fifo, std::size_t k) const { return fifos_[index(fifo)].pushers[k]; }  // 0-based

  // The maximum occupancy of a queue or FIFO so far.
  std::size_t peak_commands(Queue queue) const { return orders_[index(queue)].peak; }
  std::size_t peak_tokens(TokenFifo fifo) const { return fifos_[index(fifo)].peak; }
  // Whether its unit was idle because it had no instruction, while some were not fetched yet.
  bool ran_dry(Queue queue) const { return orders_[index(queue)].dry; }

 private:
  struct Order {
    std::vector<std::uint32_t> all;  // the queue's instructions
    std::size_t ended = 0, peak = 0;
    bool dry = false;
  };
  struct Pushes {
    std::vector<std::uint32_t> pushers;
    std::size_t popped = 0, peak = 0;
  };

  bool fetch(FetchPolicy policy);
  bool advance(Queue queue, const OnStart& on_start);
  bool end(Queue queue);
  void start(Queue queue, std::size_t instruction, const OnStart& on_start);

  std::vector<TokenUse> uses_;
  std::vector<std::uint32_t> positions_;
  CommandQueues queues_;
  std::array<Order, kQueues> orders_;
  std::array<Pushes, kTokenFifos> fifos_;
  std::size_t next_ = 0;
};

}  // namespace dovetail::isa
