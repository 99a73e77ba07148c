#include "compiler/target/accel/stream/interleave.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "compiler/target/accel/stream/instruction_cycles.h"
#include "compiler/target/accel/stream/last_accesses.h"
#include "compiler/target/accel/stream/stream_accesses.h"

namespace dovetail::accel {

namespace {

using isa::index;
using isa::Queue;

// Estimates: the latency of a typical memory, the overhead of a load and of a store (its bursts and its response) in
// addition to their bytes, and the cycles until the pipe is empty (between kinds of compute instructions and before a
// NOP).
constexpr std::uint64_t kMemoryLatency = 64, kLoadOverhead = 4, kStoreOverhead = 100, kPipe = 8;
// A wait of the compute queue that is too short to switch to the other layer's tile.
constexpr std::uint64_t kShortWait = 64;

std::uint64_t queue_cycles(const isa::HardwareConfig& config, const Stream& stream, const StreamInstruction& item) {
  const std::uint64_t cycles = instruction_cycles(config, stream, item);
  switch (item.instruction.queue()) {
    case Queue::load: return cycles + kLoadOverhead;
    case Queue::store: return cycles + cycles / static_cast<std::uint64_t>(config.burst_beats) + kStoreOverhead;
    case Queue::compute: break;
  }
  return cycles + (std::holds_alternative<isa::Load>(item.instruction.body) ? kMemoryLatency : 0);
}

class Interleaver {
 public:
  Interleaver(const Stream& stream, std::size_t border, const isa::HardwareConfig& config)
      : stream_(stream), config_(config), border_(border), end_(stream.instructions.size(), 0) {
    find_conflicts();
    find_parts();
    find_start();
  }

  std::uint64_t in_sequence() {
    start();
    for (const std::vector<Part>& parts : parts_)
      for (const Part& part : parts) now_ = run(part);
    return cycles();
  }

  Interleaved best() {
    Interleaved best{std::vector<std::size_t>(stream_.instructions.size()), in_sequence()};
    std::iota(best.order.begin(), best.order.end(), 0);
    for (const std::size_t layer : {0, 1}) {
      std::vector<std::size_t> order = merge(layer);
      if (cycles() < best.cycles) best = {std::move(order), cycles()};
    }
    return best;
  }

 private:
  // Instructions that stay together: loads, and the compute and store instructions after them.
  struct Part {
    std::size_t begin, end;
    std::size_t after = 0;  // number of parts of the first layer that must precede it
  };
  struct Time {
    std::array<std::uint64_t, isa::kQueues> idle_from{};
    std::uint64_t waited = 0;  // cycles of the compute queue
    std::size_t kind = 0;      // kind of the last compute instruction
  };
  struct Computed {
    std::uint64_t start, end;
  };

  Queue queue_at(std::size_t i) const { return stream_.instructions[i].instruction.queue(); }

  void find_conflicts() {
    StreamAccesses find(config_, stream_);
    LastAccesses last(config_, stream_), of_first(config_, stream_);
    std::array<std::vector<int>, 4> touched,
        written;  // last accesses of the first layer to elements of INP, WGT, ACC and TAB
    for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc, isa::Memory::tab})
      for (auto* by : {&touched, &written})
        (*by)[place(memory)].assign(static_cast<std::size_t>(config_.depth(memory)), kNone);
    isa::Extent stored{UINT64_MAX, 0};
    for (std::size_t i = 0; i < stream_.instructions.size(); ++i) {
      const Queue queue = queue_at(i);
      const Accesses& accesses = find.of(stream_.instructions[i]);
      before_.push_back(last.conflicts(queue, accesses, kNothing));
      last.record(queue, accesses, static_cast<int>(i));
      cycles_.push_back(queue_cycles(config_, stream_, stream_.instructions[i]));
      const isa::Extent hull = accesses.dram.hull();
      const bool stores = accesses.dram.write && !accesses.dram.empty();
      if (i < border_) {
        of_first.record(queue, accesses, static_cast<int>(i));
        if (stores) stored = {std::min(stored.begin, hull.begin), std::max(stored.end, hull.end)};
      }
      // Queues are in order, so conflicts within a queue are not part of before_. Here they count.
      int needs = i < border_ ? kNone : std::ranges::max(of_first.conflicts(queue, accesses, kNothing));
      for (const isa::SramAccess& access : accesses.sram) {
        const bool writes = access.kind != isa::AccessKind::read;
        for (const isa::Extent& run : access.runs)
          for (std::uint64_t e = run.begin; e < run.end; ++e) {
            int &by = touched[place(access.memory)][e], &writer = written[place(access.memory)][e];
            if (i >= border_) needs = std::max(needs, writes ? by : writer);
            else if (by = static_cast<int>(i); writes) writer = by;
          }
      }
      if (i < border_) continue;
      if (stores && hull.begin < stored.end && stored.begin < hull.end) needs = static_cast<int>(border_) - 1;
      needs_.push_back(needs);
    }
  }
  static std::size_t place(isa::Memory memory) {
    return memory == isa::Memory::inp ? 0 : memory == isa::Memory::wgt ? 1 : memory == isa::Memory::acc ? 2 : 3;
  }

  void find_parts() {
    for (std::size_t i = 0; i < stream_.instructions.size(); ++i) {
      std::vector<Part>& parts = parts_[i < border_ ? 0 : 1];
      const bool begins = parts.empty() || (queue_at(i) == Queue::load && queue_at(i - 1) != Queue::load) ||
                          (queue_at(i) == Queue::compute && queue_at(i - 1) == Queue::store);
      if (begins) parts.push_back({i, i});
      parts.back().end = i + 1;
    }
    std::size_t after = 0;
    for (Part& part : parts_[1]) {
      const int needs = *std::max_element(needs_.begin() + static_cast<std::ptrdiff_t>(part.begin - border_),
                                          needs_.begin() + static_cast<std::ptrdiff_t>(part.end - border_));
      while (after < parts_[0].size() && static_cast<int>(parts_[0][after].begin) <= needs) ++after;
      part.after = after;
    }
  }

  // The first loads overlap with the layers before, as far as there is room.
  void find_start() {
    for (std::size_t i = 0; i < border_; ++i) {
      if (queue_at(i) != Queue::load) continue;
      if (before_[i][index(Queue::compute)] != kNone) break;
      starts_ += cycles_[i];
    }
    starts_ += kMemoryLatency;
  }

  void start() {
    now_ = {};
    now_.idle_from[index(Queue::compute)] = starts_;
    computed_.clear();
  }
  std::uint64_t cycles() const { return now_.idle_from[index(Queue::compute)] - starts_; }

  Time run(const Part& part) {
    Time time = now_;
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const Queue queue = queue_at(i);
      std::uint64_t& idle_from = time.idle_from[index(queue)];
      std::uint64_t start = idle_from;
      for (const Queue other : isa::kAllQueues) {
        const int conflict = before_[i][index(other)];
        if (conflict == kNone) continue;
        const std::uint64_t ready = end_[static_cast<std::size_t>(conflict)];
        start = std::max(start, queue == Queue::load && other == Queue::store ? relayed(ready, time) : ready);
      }
      if (queue == Queue::compute) {
        const std::size_t kind = stream_.instructions[i].instruction.body.index();
        if (kind != time.kind) start = std::max(start, idle_from + kPipe);
        time.kind = kind;
        time.waited += start - idle_from;
      }
      idle_from = end_[i] = start + cycles_[i];
      if (queue == Queue::load) end_[i] += kMemoryLatency;
      if (queue != Queue::compute) continue;
      end_[i] += kPipe;
      computed_.push_back({start, end_[i]});
    }
    return time;
  }
  // The cycles that the compute queue would wait for the part.
  std::uint64_t wait_of(const Part& part) {
    const std::size_t computed = computed_.size();
    const std::uint64_t waited = run(part).waited - now_.waited;
    computed_.resize(computed);
    return waited;
  }

  // A load waits for a store through a compute instruction that starts when the store has ended, or through a NOP
  // (insert_tokens).
  std::uint64_t relayed(std::uint64_t stored, Time& time) {
    const auto relay = std::ranges::partition_point(computed_, [&](const Computed& c) { return c.start < stored; });
    if (relay != computed_.end()) return relay->end;
    std::uint64_t& idle_from = time.idle_from[index(Queue::compute)];
    const std::uint64_t nop = std::max(idle_from, stored) + kPipe;
    time.waited += nop - idle_from;
    computed_.push_back({nop, nop});
    return idle_from = nop;
  }

  // Takes parts of `layer` as soon as the compute queue does not wait for them; until then, parts of the other layer.
  std::vector<std::size_t> merge(std::size_t layer) {
    std::vector<std::size_t> order;
    start();
    std::array<std::span<const Part>, 2> left{parts_[0], parts_[1]};
    const auto may_come = [&](std::size_t l) {
      return !left[l].empty() && (l == 0 || left[1].front().after + left[0].size() <= parts_[0].size());
    };
    while (!left[0].empty() || !left[1].empty()) {
      std::size_t next = may_come(layer) ? layer : 1 - layer;
      if (may_come(0) && may_come(1))
        if (const std::uint64_t own = wait_of(left[layer].front());
            own > kShortWait && own > wait_of(left[1 - layer].front()))
          next = 1 - layer;
      const Part& part = left[next].front();
      now_ = run(part);
      for (std::size_t i = part.begin; i < part.end; ++i) order.push_back(i);
      left[next] = left[next].subspan(1);
    }
    return order;
  }

  const Stream& stream_;
  const isa::HardwareConfig& config_;
  const std::size_t border_;
  std::vector<Clock> before_;
  std::vector<std::uint64_t> cycles_, end_;
  std::vector<int>
      needs_;  // for each instruction of the second layer, the last one of the first layer that must precede it
  std::array<std::vector<Part>, 2> parts_;  // by layer
  std::uint64_t starts_ = 0;                // cycles of the compute queue
  Time now_;
  std::vector<Computed> computed_;
};

}  // namespace

std::uint64_t estimated_cycles(const Stream& stream, const isa::HardwareConfig& config) {
  return Interleaver(stream, stream.instructions.size(), config).in_sequence();
}

LeastCycles least_cycles(const Stream& first, const Stream& second, const isa::HardwareConfig& config) {
  LeastCycles least{};
  std::array<std::uint64_t, isa::kQueues> both{};
  for (const Stream* stream : {&first, &second}) {
    std::array<std::uint64_t, isa::kQueues> own{};
    for (const StreamInstruction& item : stream->instructions)
      own[index(item.instruction.queue())] += queue_cycles(config, *stream, item);
    for (std::size_t q = 0; q < own.size(); ++q) both[q] += own[q];
    least.apart += std::ranges::max(own);
  }
  least.together = std::ranges::max(both);
  return least;
}

Interleaved interleave(const Stream& stream, std::size_t border, const isa::HardwareConfig& config) {
  return Interleaver(stream, border, config).best();
}

}  // namespace dovetail::accel
