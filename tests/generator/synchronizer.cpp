#include "tests/generator/synchronizer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "isa/verify/token_use.h"

namespace dovetail::test {
namespace {

using isa::index;
using isa::Queue;
using isa::TokenFifo;

TokenFifo fifo_between(Queue from, Queue to) {
  if (from == Queue::load) return TokenFifo::load_to_compute;
  if (from == Queue::store) return TokenFifo::store_to_compute;
  return to == Queue::load ? TokenFifo::compute_to_load : TokenFifo::compute_to_store;
}

bool neighbors(Queue a, Queue b) { return a != b && (a == Queue::compute || b == Queue::compute); }

}  // namespace

isa::Instruction nop(Queue queue) {
  isa::Instruction instruction;
  if (queue == Queue::store) instruction.body = isa::Store{isa::Transfer{.memory = isa::Memory::out}};
  else
    instruction.body = isa::Load{isa::Transfer{.memory = queue == Queue::load ? isa::Memory::inp : isa::Memory::uop}};
  return instruction;
}

Synchronizer::Synchronizer(const isa::HardwareConfig& config, isa::Extent dram, unsigned extra_percent,
                           std::uint64_t seed)
    : config_(config), dram_(dram), extra_percent_(extra_percent), random_(seed) {
  for (std::size_t m = 0; m < kSharedMemories; ++m) sram_[m].resize(static_cast<std::size_t>(config.depth(kShared[m])));
  bytes_.resize(dram.end - dram.begin);
}

void Synchronizer::append(isa::Instruction instruction, const Touches& touches) {
  const Queue queue = instruction.queue();
  Clock after = requirements(queue, touches);
  add_extra_tokens(queue, after);
  place(std::move(instruction), after);
  record(queue, touches);
}

void Synchronizer::end_launch() {
  if (program_.size() == launch_begin_) return;
  launches_.push_back({launch_begin_, program_.size() - launch_begin_});
  launch_begin_ = program_.size();
  Clock all{};
  for (std::size_t q = 0; q < isa::kQueues; ++q) all[q] = static_cast<std::uint32_t>(order_[q].size());
  now_.fill(all);
  for (auto& edges : edges_) edges.clear();
}

Synchronizer::Clock Synchronizer::requirements(Queue queue, const Touches& touches) const {
  Clock after{};
  const auto require = [&](const Place& place, bool write) {
    for (const Queue other : isa::kAllQueues) {
      if (other == queue) continue;
      std::uint32_t& needed = after[index(other)];
      needed = std::max(needed, place.write.of(other));
      if (write) needed = std::max(needed, place.read.of(other));
    }
  };
  for (std::size_t m = 0; m < kSharedMemories; ++m) {
    for (const std::uint32_t e : touches.reads[m]) require(sram_[m][e], false);
    for (const std::uint32_t e : touches.writes[m]) require(sram_[m][e], true);
  }
  for (const isa::Extent& row : touches.dram_reads)
    for (std::uint64_t b = row.begin; b < row.end; ++b) require(bytes_[b - dram_.begin], false);
  for (const isa::Extent& row : touches.dram_writes)
    for (std::uint64_t b = row.begin; b < row.end; ++b) require(bytes_[b - dram_.begin], true);
  return after;
}

void Synchronizer::record(Queue queue, const Touches& touches) {
  const auto position = static_cast<std::uint32_t>(order_[index(queue)].size());
  for (std::size_t m = 0; m < kSharedMemories; ++m) {
    for (const std::uint32_t e : touches.reads[m]) sram_[m][e].read.of(queue) = position;
    for (const std::uint32_t e : touches.writes[m]) sram_[m][e].write.of(queue) = position;
  }
  for (const isa::Extent& row : touches.dram_reads)
    for (std::uint64_t b = row.begin; b < row.end; ++b) bytes_[b - dram_.begin].read.of(queue) = position;
  for (const isa::Extent& row : touches.dram_writes)
    for (std::uint64_t b = row.begin; b < row.end; ++b) bytes_[b - dram_.begin].write.of(queue) = position;
}

void Synchronizer::add_extra_tokens(Queue queue, Clock& after) {
  for (const Queue other : isa::kAllQueues) {
    if (!neighbors(queue, other) || !random_.chance(extra_percent_)) continue;
    const auto done = static_cast<std::uint32_t>(order_[index(other)].size());
    const std::uint32_t known = std::max(now_[index(queue)][index(other)], after[index(other)]);
    if (known < done) after[index(other)] = known + static_cast<std::uint32_t>(random_.between(1, done - known));
  }
}

void Synchronizer::append_token_run(Queue from, Queue to, std::size_t count) {
  const unsigned later_percent = std::exchange(later_percent_, 0);
  const auto ahead = std::min(count, static_cast<std::size_t>(config_.token_queue_depth));
  const auto first = static_cast<std::uint32_t>(order_[index(from)].size()) + 1;
  for (std::size_t i = 0; i < ahead; ++i) place_nop(from, {});
  for (std::size_t i = 0; i < count; ++i) {
    Clock after{};
    after[index(from)] = first + static_cast<std::uint32_t>(i);
    place_nop(to, after);
    if (ahead + i < count) place_nop(from, {});
  }
  later_percent_ = later_percent;
}

void Synchronizer::place_nop(Queue queue, Clock after) { place(nop(queue), after); }

void Synchronizer::place(isa::Instruction instruction, Clock after) {
  const Queue queue = instruction.queue();
  // Queues that are not neighbors first, because their relay is an instruction of the compute queue.
  for (const Queue other : isa::kAllQueues) {
    if (other == queue || neighbors(queue, other) || after[index(other)] <= now_[index(queue)][index(other)]) continue;
    Clock relayed{};
    relayed[index(other)] = after[index(other)];
    place_nop(Queue::compute, relayed);
    after[index(Queue::compute)] = static_cast<std::uint32_t>(order_[index(Queue::compute)].size());
  }
  instruction.flags = {};
  std::vector<TokenFifo> popped;
  Clock& now = now_[index(queue)];
  for (const Queue other : isa::kAllQueues) {
    if (!neighbors(queue, other) || after[index(other)] <= now[index(other)]) continue;
    const std::size_t pusher = connect(other, queue, after[index(other)]);
    popped.push_back(fifo_between(other, queue));
    (other < queue ? instruction.flags.pop_prev : instruction.flags.pop_next) = true;
    for (std::size_t q = 0; q < isa::kQueues; ++q) now[q] = std::max(now[q], clocks_[pusher][q]);
    const auto& order = order_[index(other)];
    const auto position = std::lower_bound(order.begin(), order.end(), pusher) - order.begin() + 1;
    now[index(other)] = std::max(now[index(other)], static_cast<std::uint32_t>(position));
  }
  // All relays and NOPs are placed, so this is the position of the instruction.
  for (const TokenFifo fifo : popped) edges_[index(fifo)].back().pop = program_.size();
  clocks_.push_back(now);
  order_[index(queue)].push_back(program_.size());
  now[index(queue)] = static_cast<std::uint32_t>(order_[index(queue)].size());
  program_.push_back(std::move(instruction));
}

// Whether the FIFO has room for a token that is in flight from `push`, in program order. If it has room when
// instructions run one by one in program order, the program cannot deadlock on its depth, because every execution makes
// the same moves.
bool Synchronizer::has_room(TokenFifo fifo, std::size_t push) const {
  const auto& edges = edges_[index(fifo)];
  std::int64_t in_flight = 0;
  for (auto edge = edges.rbegin(); edge != edges.rend() && edge->pop > push; ++edge) ++in_flight;
  return in_flight < config_.token_queue_depth;
}

std::size_t Synchronizer::connect(Queue from, Queue to, std::uint32_t position) {
  const TokenFifo fifo = fifo_between(from, to);
  auto& order = order_[index(from)];
  // Any later instruction of the queue serves too. `to` already pops all tokens that were pushed before, which would
  // imply the order, so no instruction from `position` on has pushed.
  const std::size_t first = position - 1;
  std::size_t chosen = random_.chance(later_percent_) ? random_.between(first, order.size() - 1) : first;
  while (chosen + 1 < order.size() && !has_room(fifo, order[chosen])) ++chosen;
  if (!has_room(fifo, order[chosen])) {
    place_nop(from, {});
    chosen = order.size() - 1;
  }
  const std::size_t pusher = order[chosen];
  isa::DependencyFlags& flags = program_[pusher].flags;
  bool& push = from < to ? flags.push_next : flags.push_prev;
  DOVETAIL_CHECK(!push, "an instruction pushes twice to one FIFO");
  push = true;
  edges_[index(fifo)].push_back({pusher, SIZE_MAX});  // popped where place() puts the instruction
  return pusher;
}

}  // namespace dovetail::test
