// Tokens from the stream: for each instruction, the latest conflicting instruction of every other queue; a token only
// where what the queue has already waited for does not imply the order. Vector clocks say what is implied: clock[q][p]
// is the index of the last instruction of queue p that is known to be done when the next one of queue q starts.
//
// Why FIFOs match: tokens from p to q are pushed by instructions of growing index (a push is needed only beyond
// clock[q][p]) and popped in the order of q, so the k-th pop meets the k-th push.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/target/accel/stream.h"
#include "isa/spec/alu_ops.h"

namespace dovetail::accel {

namespace {

using Clock = std::array<int, 3>;  // per queue: index of the last instruction known to be done, -1 for none

// Half-open ranges of what an instruction touches. On-chip units are elements, DRAM units bytes. Hulls: a wider range
// costs at most a token.
struct TouchedRange {
  int space;  // isa::Memory for SRAM (out and acc8 count as acc), 16 for DRAM
  std::uint64_t begin, end;
  bool write;
};
constexpr int kDram = 16;

std::vector<TouchedRange> ranges_of(const StreamInstruction& item, const Stream& stream,
                                    const isa::HardwareConfig& config) {
  std::vector<TouchedRange> ranges;
  const auto transfer = [&](const isa::Transfer& t, bool store) {
    if (t.x_size == 0) return;
    const isa::Memory sram =
        t.memory == isa::Memory::acc8 || t.memory == isa::Memory::out ? isa::Memory::acc : t.memory;
    const std::uint64_t elements = std::uint64_t{t.y_pad_0 + t.y_size + t.y_pad_1} * (t.x_pad_0 + t.x_size + t.x_pad_1);
    ranges.push_back({static_cast<int>(sram), t.sram_base, t.sram_base + elements, !store});
    if (t.y_size == 0) return;
    const auto bytes = static_cast<std::uint64_t>(config.element_bytes(t.memory));
    ranges.push_back({kDram, t.dram_base * bytes,
                      (t.dram_base + std::uint64_t{t.y_size - 1} * t.x_stride + t.x_size) * bytes, store});
  };
  const auto loop = [&](const isa::UopLoop& l, auto index, std::uint64_t factor_out, std::uint64_t factor_in, int space,
                        bool write, std::uint64_t width = 1) {
    if (l.iter_out == 0 || l.iter_in == 0) return;
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    for (const isa::Uop& uop : stream.kernels[static_cast<std::size_t>(item.kernel)]) {
      low = std::min<std::uint64_t>(low, index(uop));
      high = std::max<std::uint64_t>(high, index(uop));
    }
    ranges.push_back({space, low, high + (l.iter_out - 1) * factor_out + (l.iter_in - 1) * factor_in + width, write});
  };
  const auto dst = [](const isa::Uop& u) { return u.dst; };
  const auto src = [](const isa::Uop& u) { return u.src; };
  const auto wgt = [](const isa::Uop& u) { return u.wgt; };
  const auto& body = item.instruction.body;
  if (const auto* load = std::get_if<isa::Load>(&body)) transfer(*load, false);
  if (const auto* store = std::get_if<isa::Store>(&body)) transfer(*store, true);
  if (const auto* gemm = std::get_if<isa::Gemm>(&body)) {
    loop(*gemm, dst, gemm->dst_factor_out, gemm->dst_factor_in, static_cast<int>(isa::Memory::acc), true);
    if (!gemm->reset) {
      loop(*gemm, src, gemm->src_factor_out, gemm->src_factor_in, static_cast<int>(isa::Memory::inp), false);
      loop(*gemm, wgt, gemm->wgt_factor_out, gemm->wgt_factor_in, static_cast<int>(isa::Memory::wgt), false);
    }
  }
  if (const auto* alu = std::get_if<isa::Alu>(&body)) {
    loop(*alu, dst, alu->dst_factor_out, alu->dst_factor_in, static_cast<int>(isa::Memory::acc), true);
    if (const std::uint32_t elements = isa::spec::source_elements(*alu); elements != 0)
      loop(*alu, src, alu->src_factor_out, alu->src_factor_in, static_cast<int>(isa::Memory::acc), false, elements);
  }
  return ranges;
}

bool conflict(const std::vector<TouchedRange>& a, const std::vector<TouchedRange>& b) {
  for (const TouchedRange& x : a)
    for (const TouchedRange& y : b)
      if (x.space == y.space && (x.write || y.write) && x.begin < y.end && y.begin < x.end) return true;
  return false;
}

constexpr int index_of(isa::Queue queue) { return static_cast<int>(queue); }
constexpr int kLoad = index_of(isa::Queue::load), kCompute = index_of(isa::Queue::compute),
              kStore = index_of(isa::Queue::store);

isa::Instruction compute_nop() {
  isa::Load nop;
  nop.memory = isa::Memory::uop;
  return {{}, nop};
}

class Inserter {
 public:
  Inserter(Stream& stream, const isa::HardwareConfig& config) : stream_(stream), config_(config) {
    for (Clock& clock : clock_) clock.fill(-1);
  }

  void run() {
    for (const StreamInstruction& item : stream_.instructions) add(item);
    stream_.instructions = std::move(out_);
  }

 private:
  void add(const StreamInstruction& item) {
    const int q = index_of(item.instruction.queue());
    std::vector<TouchedRange> ranges = ranges_of(item, stream_, config_);
    Clock need;
    need.fill(-1);
    for (int p = 0; p < 3; ++p)
      if (p != q)
        need[static_cast<std::size_t>(p)] = latest_conflict(ranges, p, clock_[q][static_cast<std::size_t>(p)]);

    // Load and store queues are no neighbours: a compute instruction that already waited for the other one, or a NOP
    // that does, relays the order.
    const int other = q == kLoad ? kStore : kLoad;
    if (q != kCompute && need[static_cast<std::size_t>(other)] >= 0) {
      int relay = earliest_compute_after(other, need[static_cast<std::size_t>(other)]);
      if (relay < 0)
        relay = append({compute_nop(), -1, item.node}, {}, waits_for(other, need[static_cast<std::size_t>(other)]));
      need[kCompute] = std::max(need[kCompute], relay > clock_[q][kCompute] ? relay : -1);
      need[static_cast<std::size_t>(other)] = -1;
    }
    append(item, std::move(ranges), need);
  }

  static Clock waits_for(int queue, int instruction) {
    Clock need;
    need.fill(-1);
    need[static_cast<std::size_t>(queue)] = instruction;
    return need;
  }

  // The last instruction of queue p, beyond `known`, that conflicts; -1 if none.
  int latest_conflict(const std::vector<TouchedRange>& ranges, int p, int known) const {
    const std::vector<int>& members = queue_[static_cast<std::size_t>(p)];
    for (auto it = members.rbegin(); it != members.rend() && *it > known; ++it)
      if (conflict(ranges, ranges_[static_cast<std::size_t>(*it)])) return *it;
    return -1;
  }

  // The first compute instruction that starts after instruction `j` of queue p is done.
  int earliest_compute_after(int p, int j) const {
    const std::vector<int>& members = queue_[kCompute];
    const auto it = std::partition_point(members.begin(), members.end(), [&](int c) {
      return at_[static_cast<std::size_t>(c)][static_cast<std::size_t>(p)] < j;
    });
    return it == members.end() ? -1 : *it;
  }

  // Appends an instruction that starts after need[p] of each neighbour queue p; returns its index.
  int append(StreamInstruction item, std::vector<TouchedRange> ranges, const Clock& need) {
    const int q = index_of(item.instruction.queue());
    Clock& clock = clock_[q];
    for (int p = 0; p < 3; ++p) {
      const int j = need[static_cast<std::size_t>(p)];
      if (p == q || j <= clock[static_cast<std::size_t>(p)]) continue;
      DOVETAIL_CHECK(std::abs(p - q) == 1, "load and store queues share no token FIFO");
      isa::DependencyFlags& pusher = out_[static_cast<std::size_t>(j)].instruction.flags;
      (q > p ? pusher.push_next : pusher.push_prev) = true;
      (q > p ? item.instruction.flags.pop_prev : item.instruction.flags.pop_next) = true;
    }
    for (int p = 0; p < 3; ++p) {
      const int j = need[static_cast<std::size_t>(p)];
      if (p == q || j <= clock[static_cast<std::size_t>(p)]) continue;
      for (std::size_t r = 0; r < 3; ++r) clock[r] = std::max(clock[r], at_[static_cast<std::size_t>(j)][r]);
      clock[static_cast<std::size_t>(p)] = std::max(clock[static_cast<std::size_t>(p)], j);
    }
    const int index = static_cast<int>(out_.size());
    at_.push_back(clock);
    clock[static_cast<std::size_t>(q)] = index;
    out_.push_back(std::move(item));
    ranges_.push_back(std::move(ranges));
    queue_[static_cast<std::size_t>(q)].push_back(index);
    return index;
  }

  Stream& stream_;
  const isa::HardwareConfig& config_;
  std::vector<StreamInstruction> out_;
  std::vector<std::vector<TouchedRange>> ranges_;
  std::vector<Clock> at_;                  // what is known when each instruction starts
  std::array<Clock, 3> clock_;             // what is known at the end of each queue
  std::array<std::vector<int>, 3> queue_;  // members by queue
};

}  // namespace

void insert_tokens(Stream& stream, const isa::HardwareConfig& config) { Inserter(stream, config).run(); }

}  // namespace dovetail::accel
