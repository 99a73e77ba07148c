// Derives tokens from the stream. Each instruction must wait for the latest conflicting instruction of every other
// queue. It needs a token only if earlier waits of its queue do not imply the order. Vector clocks determine what is
// implied.
//
// Why FIFOs match: tokens from p to q are popped in the order of q, and pushed by instructions of increasing index,
// since an instruction waits only for instructions later than those that its queue has already waited for. So the k-th
// pop gets the token of the k-th push. A relay uses a token that a compute instruction in the middle of its queue pops.
// That instruction follows the last one that pops from the same FIFO, and waits for a later instruction than the queue
// has waited for, so the order holds.
//
// Why the program ends: the stream's order is an execution in which every token is available when it is popped. Only
// full FIFOs can block it. If they do, a second pass respects the depth, so that each FIFO has room in the stream's
// order too.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "compiler/target/accel/stream/instruction_cycles.h"
#include "compiler/target/accel/stream/last_accesses.h"
#include "compiler/target/accel/stream/stream.h"
#include "compiler/target/accel/stream/stream_accesses.h"
#include "isa/verify/token_machine.h"

namespace dovetail::accel {

namespace {

using isa::index;
using isa::Queue;
using isa::TokenFifo;

// The cost of a NOP in the compute queue, in addition to waiting: it starts when the pipe is empty.
constexpr std::uint64_t kDrainCycles = 8;

isa::Instruction compute_nop() {
  isa::Load nop;
  nop.memory = isa::Memory::uop;
  return {{}, nop};
}

// Precondition: one of the two is compute.
TokenFifo fifo_between(Queue from, Queue to) {
  DOVETAIL_CHECK(from != to && (from == Queue::compute || to == Queue::compute),
                 "load and store queues do not share a token FIFO");
  if (from == Queue::compute) return to == Queue::load ? TokenFifo::compute_to_load : TokenFifo::compute_to_store;
  return from == Queue::load ? TokenFifo::load_to_compute : TokenFifo::store_to_compute;
}
bool& push_flag(isa::DependencyFlags& flags, TokenFifo fifo) {
  return isa::producer(fifo) < isa::consumer(fifo) ? flags.push_next : flags.push_prev;
}
bool& pop_flag(isa::DependencyFlags& flags, TokenFifo fifo) {
  return isa::producer(fifo) < isa::consumer(fifo) ? flags.pop_prev : flags.pop_next;
}

std::uint64_t cycles_until(std::uint64_t time, std::uint64_t now) { return time > now ? time - now : 0; }

void join(Clock& clock, const Clock& other) {
  for (std::size_t q = 0; q < clock.size(); ++q) clock[q] = std::max(clock[q], other[q]);
}

class Inserter {
 public:
  // `keeps_to_depth`: no FIFO ever holds more than its depth in the stream's order.
  Inserter(const Stream& stream, const isa::HardwareConfig& config, bool keeps_to_depth)
      : stream_(stream),
        config_(config),
        depth_(static_cast<std::size_t>(config.token_queue_depth)),
        keeps_to_depth_(keeps_to_depth),
        find_(config, stream),
        last_(config, stream) {
    statistics_.limited_by_depth = keeps_to_depth;
  }

  void run() {
    made_.reserve(stream_.instructions.size());
    for (const StreamInstruction& item : stream_.instructions) add(item);
    for (std::size_t f = 0; f < tokens_.size(); ++f) statistics_.tokens[f] = tokens_[f].size();
  }

  // Whether all instructions can end with FIFOs of this depth.
  bool ends() const {
    if (!beyond_depth_) return true;
    std::vector<isa::Instruction> program;
    program.reserve(made_.size());
    for (const Made& made : made_) program.push_back(made.item.instruction);
    isa::TokenMachine machine(program, isa::queue_depths(config_));
    return machine.run();
  }

  std::vector<StreamInstruction> take() {
    std::vector<StreamInstruction> result;
    result.reserve(made_.size());
    for (Made& made : made_) result.push_back(std::move(made.item));
    return result;
  }
  TokenStatistics statistics() const { return statistics_; }

 private:
  struct Made {
    StreamInstruction item;
    Queue queue = Queue::compute;
    Clock before = kNothing;           // the instructions that end before it starts
    std::uint64_t start = 0, end = 0;  // estimated
  };
  struct Token {
    int pusher, popper;
  };

  void add(const StreamInstruction& item) {
    const Queue queue = item.instruction.queue();
    const Accesses& accesses = find_.of(item);
    Clock need = last_.conflicts(queue, accesses, known_[index(queue)]);
    int relayed = kNone;
    if (queue == Queue::compute) {
      drop_implied(need);
    } else {
      const Queue other = queue == Queue::load ? Queue::store : Queue::load;
      if (const int far = std::exchange(need[index(other)], kNone); far != kNone) relayed = relay(item, other, far);
      need[index(Queue::compute)] = std::max(need[index(Queue::compute)], relayed);
    }
    const int made = append(item, queue);
    for (const Queue other : isa::kAllQueues)
      if (need[index(other)] > at(made).before[index(other)]) wait(made, need[index(other)]);
    // Its queue may have waited for the relay already, but not for instructions that the relay was made to wait for
    // later.
    if (relayed != kNone) learn(made, relayed);
    schedule(made);
    last_.record(queue, accesses, made);
  }

  // Drops a need if the instruction of another need already waits for it.
  void drop_implied(Clock& need) const {
    int& load = need[index(Queue::load)];
    int& store = need[index(Queue::store)];
    if (load == kNone || store == kNone) return;
    if (at(load).before[index(Queue::store)] >= store) store = kNone;
    else if (at(store).before[index(Queue::load)] >= load) load = kNone;
  }

  // A compute instruction that ends after `far`, an instruction of the queue `other`. A load waits for it instead of a
  // store, and a store instead of a load.
  int relay(const StreamInstruction& item, Queue other, int far) {
    const std::vector<int>& compute = queue_[index(Queue::compute)];
    const auto waiting =
        std::partition_point(compute.begin(), compute.end(), [&](int c) { return at(c).before[index(other)] < far; });
    if (waiting != compute.end()) {
      ++statistics_.relays_by_waiting;
      return *waiting;
    }
    const std::uint64_t far_end = at(far).end;
    if (const std::optional<int> chosen = made_to_wait(item, other, far)) {
      ++statistics_.relays_by_made_to_wait;
      statistics_.relay_wait_cycles += cycles_until(far_end, at(*chosen).start);
      wait(*chosen, far);
      return *chosen;
    }
    ++statistics_.relays_by_nop;
    statistics_.relay_wait_cycles +=
        kDrainCycles + (compute.empty() ? 0 : cycles_until(far_end, at(compute.back()).end));
    const int nop = append({compute_nop(), -1, item.node}, Queue::compute);
    wait(nop, far);
    schedule(nop);
    return nop;
  }

  // The compute instruction that is made to wait for `far` so that `item` can wait for it: the one that delays later
  // instructions least. Candidates are the first instruction that starts after the end of `far`, and the one before it,
  // which must wait for that end. nullopt if there is none, or if a NOP at the end of the queue delays less.
  // Precondition: no compute instruction waits for `far` yet.
  std::optional<int> made_to_wait(const StreamInstruction& item, Queue other, int far) const {
    const std::vector<int>& compute = queue_[index(Queue::compute)];
    const std::vector<Token>& tokens = tokens_[index(fifo_between(other, Queue::compute))];
    const auto first =
        std::upper_bound(compute.begin(), compute.end(), std::max(far, tokens.empty() ? kNone : tokens.back().popper));
    if (first == compute.end()) return std::nullopt;

    const std::uint64_t far_end = at(far).end, compute_end = at(compute.back()).end;
    const std::vector<int>& own = queue_[index(item.instruction.queue())];
    const std::uint64_t own_end = own.empty() ? 0 : at(own.back()).end;
    const std::uint64_t own_cycles = instruction_cycles(config_, stream_, item);
    // The time when the compute instructions so far and `item` are both done.
    const auto done = [&](std::uint64_t token, std::uint64_t compute_waits) {
      return std::max(compute_end + compute_waits, std::max(own_end, token) + own_cycles);
    };
    std::uint64_t least = done(std::max(far_end, compute_end) + kDrainCycles, 0);
    std::optional<int> best;
    const auto in_time = std::partition_point(first, compute.end(), [&](int c) { return at(c).start < far_end; });
    for (auto c = in_time == first ? first : in_time - 1; c != compute.end() && c <= in_time; ++c) {
      const std::uint64_t waits = cycles_until(far_end, at(*c).start);
      const std::uint64_t time = done(at(*c).end + waits, waits);
      if (time > least) continue;
      least = time;
      best = *c;
    }
    return best;
  }

  int append(const StreamInstruction& item, Queue queue) {
    const int made = static_cast<int>(made_.size());
    made_.push_back({item, queue, known_[index(queue)]});
    queue_[index(queue)].push_back(made);
    known_[index(queue)][index(queue)] = made;
    return made;
  }

  // Makes instruction `popper` wait for `pusher`, of a neighbor queue. Precondition: it does not wait for it yet.
  void wait(int popper, int pusher) {
    const TokenFifo fifo = fifo_between(at(pusher).queue, at(popper).queue);
    std::vector<Token>& tokens = tokens_[index(fifo)];
    DOVETAIL_CHECK(tokens.empty() || (tokens.back().pusher < pusher && tokens.back().popper < popper),
                   "tokens of a FIFO are pushed and popped in the same order");
    // If the FIFO is full in the stream's order when this token is pushed, the last instruction that pops from it waits
    // for this token instead of the one that the pusher's queue pushed earlier.
    if (tokens.size() >= depth_ && tokens[tokens.size() - depth_].popper > pusher) {
      beyond_depth_ = true;
      if (keeps_to_depth_) {
        push_flag(at(tokens.back().pusher).item.instruction.flags, fifo) = false;
        push_flag(at(pusher).item.instruction.flags, fifo) = true;
        tokens.back().pusher = pusher;
        learn(tokens.back().popper, pusher);
        return;
      }
    }
    push_flag(at(pusher).item.instruction.flags, fifo) = true;
    pop_flag(at(popper).item.instruction.flags, fifo) = true;
    tokens.push_back({pusher, popper});
    learn(popper, pusher);
  }

  // Records that everything that is done before the end of `pusher` is done before `from` and later instructions of its
  // queue start.
  void learn(int from, int pusher) {
    const Queue queue = at(from).queue;
    Clock done = at(pusher).before;
    done[index(at(pusher).queue)] = pusher;
    std::uint64_t start = at(pusher).end;
    const std::vector<int>& members = queue_[index(queue)];
    for (auto m = std::lower_bound(members.begin(), members.end(), from); m != members.end(); ++m) {
      Made& made = at(*m);
      join(made.before, done);
      if (made.start >= start) continue;
      made.end += start - made.start;
      made.start = start;
      start = made.end;
    }
    join(known_[index(queue)], done);
  }

  // Estimates the start and the end of the last instruction of its queue: after the previous one, and those it waits
  // for.
  void schedule(int last) {
    Made& made = at(last);
    const std::vector<int>& members = queue_[index(made.queue)];
    if (members.size() > 1) made.start = std::max(made.start, at(members[members.size() - 2]).end);
    made.end = made.start + instruction_cycles(config_, stream_, made.item);
  }

  Made& at(int made) { return made_[static_cast<std::size_t>(made)]; }
  const Made& at(int made) const { return made_[static_cast<std::size_t>(made)]; }

  const Stream& stream_;
  const isa::HardwareConfig& config_;
  const std::size_t depth_;
  const bool keeps_to_depth_;
  StreamAccesses find_;
  LastAccesses last_;
  std::vector<Made> made_;
  std::array<Clock, isa::kQueues> known_{kNothing, kNothing,
                                         kNothing};   // instructions done before the next one of each queue starts
  std::array<std::vector<int>, isa::kQueues> queue_;  // members by queue
  std::array<std::vector<Token>, isa::kTokenFifos> tokens_;
  bool beyond_depth_ = false;
  TokenStatistics statistics_;
};

void count_stage_order(const Stream& stream, TokenStatistics& statistics) {
  for (std::size_t i = 1; i < stream.instructions.size(); ++i) {
    const auto from = index(stream.instructions[i - 1].instruction.queue());
    const auto to = index(stream.instructions[i].instruction.queue());
    const std::uint64_t tokens = from > to ? from - to : to - from;  // load and store: through compute
    statistics.stage_order_tokens += tokens;
    statistics.by_node[stream.instructions[i].node].stage_order += tokens;
  }
}

}  // namespace

std::uint64_t TokenStatistics::all_tokens() const {
  return std::accumulate(tokens.begin(), tokens.end(), std::uint64_t{0});
}

TokenStatistics insert_tokens(Stream& stream, const isa::HardwareConfig& config) {
  std::optional<Inserter> inserter;
  for (const bool keeps_to_depth : {false, true}) {
    inserter.emplace(stream, config, keeps_to_depth).run();
    if (inserter->ends()) break;
  }
  TokenStatistics statistics = inserter->statistics();
  count_stage_order(stream, statistics);
  stream.instructions = inserter->take();
  for (const StreamInstruction& item : stream.instructions) {
    const isa::DependencyFlags& flags = item.instruction.flags;
    if (flags.pop_prev || flags.pop_next)
      statistics.by_node[item.node].tokens += (flags.pop_prev ? 1U : 0U) + (flags.pop_next ? 1U : 0U);
  }
  return statistics;
}

}  // namespace dovetail::accel
