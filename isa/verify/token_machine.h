// Instructions as movers of tokens: three in-order queues, four token FIFOs, in-order fetch, finite depths, no data and
// no time.
//
// The rules, which simulators and RTL share: fetch puts instructions into their command queues in program order and
// waits while the queue of the next one is full. The head of a queue leaves it and starts when the queue's unit is idle
// and every token it pops is there. When it is done it pushes all its tokens at once, as soon as every FIFO it pushes
// to has room; until then its unit is busy.
//
// The machine is deterministic in what matters: each FIFO has one producer and one consumer, each in-order, so no move
// ever disables another. Hence every maximal execution makes the same moves, and one greedy execution decides deadlock;
// and the k-th pop of a FIFO takes the k-th push in every execution.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::isa {

enum class TokenFifo : std::uint8_t { load_to_compute, compute_to_load, compute_to_store, store_to_compute };
inline constexpr std::size_t kTokenFifos = 4;
inline constexpr std::size_t kQueues = 3;
constexpr std::size_t index(Queue queue) { return static_cast<std::size_t>(queue); }
constexpr std::size_t index(TokenFifo fifo) { return static_cast<std::size_t>(fifo); }
std::string_view name(Queue queue);
Queue producer(TokenFifo fifo);
Queue consumer(TokenFifo fifo);

// The dependency flags of one instruction, resolved. Flags towards a neighbour that the queue does not have are
// dropped: they are illegal.
struct TokenUse {
  Queue queue = Queue::compute;
  std::uint8_t pops = 0;  // bit index(fifo)
  std::uint8_t pushes = 0;
  bool pops_from(TokenFifo fifo) const { return (pops >> index(fifo) & 1) != 0; }
  bool pushes_to(TokenFifo fifo) const { return (pushes >> index(fifo) & 1) != 0; }
};
TokenUse token_use(const Instruction& instruction);

struct QueueDepths {
  std::size_t commands = std::numeric_limits<std::size_t>::max();
  std::size_t tokens = std::numeric_limits<std::size_t>::max();
};
QueueDepths queue_depths(const HardwareConfig& config);

// Which of the equivalent executions is made.
enum class FetchPolicy : std::uint8_t {
  ahead,       // as many as the command queues hold before anything starts: queues get as full as they can
  one_by_one,  // an instruction starts as soon as it may: program order, wherever that is legal
};

class TokenMachine {
 public:
  TokenMachine(std::span<const Instruction> program, QueueDepths depths);

  // Called when an instruction starts, with the pushers of the tokens it pops. Calls come in an order that every token
  // and queue respects.
  using OnStart = std::function<void(std::size_t instruction, std::span<const std::size_t> pushers)>;

  // Moves until nothing can. True: every instruction is done.
  bool run(const OnStart& on_start = {}, FetchPolicy policy = FetchPolicy::ahead);
  void set_depths(QueueDepths depths) { depths_ = depths; }

  std::size_t size() const { return uses_.size(); }
  const TokenUse& use(std::size_t instruction) const { return uses_[instruction]; }
  // 1-based, within its queue.
  std::size_t position(std::size_t instruction) const { return positions_[instruction]; }
  // The instruction at a 1-based position of a queue.
  std::size_t at(Queue queue, std::size_t position) const { return queues_[index(queue)].order[position - 1]; }

  // State, for reports. A queue's unit is either idle, waiting for its head, or busy with an instruction that cannot
  // push.
  std::optional<std::size_t> pushing(Queue queue) const { return queues_[index(queue)].pushing; }
  std::optional<std::size_t> head(Queue queue) const;  // the oldest fetched instruction that has not started
  std::optional<std::size_t> next_fetch() const;       // the oldest that is not fetched
  std::size_t waiting(Queue queue) const;              // fetched, not started
  std::size_t count(Queue queue) const { return queues_[index(queue)].order.size(); }  // in the whole program
  std::size_t pushed(TokenFifo fifo) const { return fifos_[index(fifo)].pushers.size(); }
  std::size_t popped(TokenFifo fifo) const { return fifos_[index(fifo)].popped; }
  std::size_t pusher(TokenFifo fifo, std::size_t k) const { return fifos_[index(fifo)].pushers[k]; }  // 0-based

  // The most that a queue or FIFO has held so far.
  std::size_t peak_commands(Queue queue) const { return queues_[index(queue)].peak; }
  std::size_t peak_tokens(TokenFifo fifo) const { return fifos_[index(fifo)].peak; }
  // Its unit was idle for lack of instructions while not all were fetched.
  bool ran_dry(Queue queue) const { return queues_[index(queue)].dry; }

 private:
  struct QueueState {
    std::vector<std::uint32_t> order;  // all its instructions
    std::size_t issued = 0, started = 0, peak = 0;
    std::optional<std::size_t> pushing;
    bool dry = false;
  };
  struct FifoState {
    std::vector<std::uint32_t> pushers;
    std::size_t popped = 0, peak = 0;
  };

  bool fetch(FetchPolicy policy);
  bool advance(QueueState& queue, const OnStart& on_start);
  bool push(QueueState& queue);
  bool can_pop(const TokenUse& use) const;

  QueueDepths depths_;
  std::vector<TokenUse> uses_;
  std::vector<std::uint32_t> positions_;
  std::array<QueueState, kQueues> queues_;
  std::array<FifoState, kTokenFifos> fifos_;
  std::size_t next_ = 0;
};

}  // namespace dovetail::isa
