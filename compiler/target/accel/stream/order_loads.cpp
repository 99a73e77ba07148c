#include "compiler/target/accel/stream/order_loads.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "compiler/target/accel/stream/instruction_cycles.h"
#include "compiler/target/accel/stream/last_accesses.h"
#include "compiler/target/accel/stream/last_touch.h"
#include "compiler/target/accel/stream/stream_accesses.h"

namespace dovetail::accel {

namespace {

using isa::index;
using isa::Queue;

// Estimates: the latency of a typical memory, the overhead of a transfer in addition to its bytes, and the cycles
// between instructions of the compute queue.
constexpr std::uint64_t kLatency = 64, kBetweenTransfers = 4, kBetweenStores = 10, kBetweenComputes = 4;
// The least wait of the compute queue for which loads are moved, and the maximum distance in loads.
constexpr std::uint64_t kLeastWait = 256;
constexpr std::size_t kLookahead = 256;
constexpr std::uint64_t kLongestPiece = 512;
// The least estimated gain as a fraction of all cycles: each piece has costs that the estimate does not include.
constexpr std::uint64_t kLeastGain = 1000;
// Repeated after a gain, since other loads are late then.
constexpr int kMostRounds = 2;

class Orderer {
 public:
  // `find` and `last`: for this stream in any order.
  Orderer(const Stream& stream, const isa::HardwareConfig& config, StreamAccesses& find, LastAccesses& last)
      : stream_(stream), config_(config) {
    find_conflicts(find, last);
    reset();
    find_late();
    ends_ = last_end();
    reset();
  }

  std::vector<StreamInstruction> run() {
    ordered_.reserve(stream_.instructions.size());
    for (std::size_t i = 0; i < stream_.instructions.size(); ++i) {
      if (taken_[i]) continue;
      if (queue_of(i) == Queue::load) {
        while (loads_[next_load_] < i) ++next_load_;
        take_late_ones();
      }
      take(i);
      ordered_.push_back(stream_.instructions[i]);
    }
    return std::move(ordered_);
  }
  std::size_t moved() const { return moved_; }
  // Estimated cycles of the stream as given, and as ordered by run().
  std::uint64_t ends() const { return ends_; }
  std::uint64_t ends_ordered() const { return last_end(); }

  // The stream with late loads cut in pieces that take at most kLongestPiece, for which there is room elsewhere.
  std::vector<StreamInstruction> with_pieces() const {
    std::vector<StreamInstruction> pieces;
    pieces.reserve(stream_.instructions.size());
    std::size_t l = 0;
    for (std::size_t i = 0; i < stream_.instructions.size(); ++i) {
      const bool loads = l < loads_.size() && loads_[l] == i;
      if (loads && late_[l] && cycles_[i] > kLongestPiece) add_pieces(i, pieces);
      else pieces.push_back(stream_.instructions[i]);
      l += loads ? 1 : 0;
    }
    return pieces;
  }
  bool any_late() const { return std::ranges::find(late_, true) != late_.end(); }

 private:
  Queue queue_of(std::size_t i) const { return stream_.instructions[i].instruction.queue(); }

  // Finds for each instruction the latest earlier instruction of each queue that it conflicts with; for a load, also of
  // the load queue itself.
  void find_conflicts(StreamAccesses& find, LastAccesses& last) {
    last.clear();
    std::array<LastTouch, 2> loaded{LastTouch(static_cast<std::size_t>(config_.depth(isa::Memory::inp))),
                                    LastTouch(static_cast<std::size_t>(config_.depth(isa::Memory::wgt)))};
    before_.reserve(stream_.instructions.size());
    cycles_.reserve(stream_.instructions.size());
    for (std::size_t i = 0; i < stream_.instructions.size(); ++i) {
      const Queue queue = queue_of(i);
      const Accesses& accesses = find.of(stream_.instructions[i]);
      Clock before = last.conflicts(queue, accesses, kNothing);
      if (queue == Queue::load) {
        loads_.push_back(i);
        for (const isa::SramAccess& access : accesses.sram) {
          LastTouch& by = loaded[access.memory == isa::Memory::inp ? 0 : 1];
          before[index(queue)] = std::max(before[index(queue)], by.latest(access.runs));
          by.touch(access.runs, static_cast<int>(i));
        }
      }
      before_.push_back(before);
      last.record(queue, accesses, static_cast<int>(i));
      cycles_.push_back(instruction_cycles(config_, stream_, stream_.instructions[i]));
    }
  }

  // The time when all instructions that it conflicts with have ended. Precondition: they were taken.
  std::uint64_t ready(std::size_t i) const {
    std::uint64_t time = 0;
    for (const int other : before_[i])
      if (other != kNone) time = std::max(time, end_[static_cast<std::size_t>(other)]);
    return time;
  }
  bool is_free(std::size_t i) const {
    return std::ranges::all_of(before_[i],
                               [&](int other) { return other == kNone || taken_[static_cast<std::size_t>(other)]; });
  }

  std::uint64_t last_end() const { return *std::ranges::max_element(idle_from_); }

  // Each piece has some rows, or some elements of a single row.
  void add_pieces(std::size_t i, std::vector<StreamInstruction>& pieces) const {
    const auto& load = std::get<isa::Load>(stream_.instructions[i].instruction.body);
    const bool pads = load.y_pad_0 + load.y_pad_1 + load.x_pad_0 + load.x_pad_1 > 0, rows = load.y_size > 1;
    const std::uint32_t whole = rows ? load.y_size : load.x_size;
    const auto of_one = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(whole) * kLongestPiece / cycles_[i]));
    if (pads || of_one >= whole) return pieces.push_back(stream_.instructions[i]);
    for (std::uint32_t from = 0; from < whole; from += of_one) {
      isa::Load piece = load;
      (rows ? piece.y_size : piece.x_size) = std::min(of_one, whole - from);
      piece.sram_base += rows ? from * load.x_size : from;
      piece.dram_base += rows ? from * load.x_stride : from;
      pieces.push_back(stream_.instructions[i]);
      pieces.back().instruction.body = piece;
    }
  }

  void reset() {
    end_.assign(stream_.instructions.size(), 0);
    taken_.assign(stream_.instructions.size(), false);
    idle_from_ = {};
  }

  // In the given order, finds late loads (those that the compute queue waits for, and those that delay these), and the
  // reader of each load.
  void find_late() {
    const std::size_t count = loads_.size(), end = stream_.instructions.size();
    late_.assign(count, false);
    reader_.assign(count, end);
    work_before_.assign(end + 1, 0);
    std::vector<std::size_t> position(end);
    std::vector<bool> follows(count, false);  // the load before delays it, not an instruction that it waits for
    for (std::size_t l = 0; l < count; ++l) position[loads_[l]] = l;
    for (std::size_t i = 0; i < end; ++i) {
      const Queue queue = queue_of(i);
      const std::uint64_t idle_from = idle_from_[index(queue)], may_start = ready(i);
      if (queue == Queue::load) follows[position[i]] = may_start <= idle_from;
      take(i);
      const bool computes = queue == Queue::compute;
      work_before_[i + 1] =
          work_before_[i] + (computes ? idle_from_[index(queue)] - std::max(idle_from, may_start) : 0);
      const int load = before_[i][index(Queue::load)];
      if (queue == Queue::load || load == kNone) continue;
      const std::size_t l = position[static_cast<std::size_t>(load)];
      reader_[l] = std::min(reader_[l], i);
      if (!computes || end_[static_cast<std::size_t>(load)] < may_start) continue;
      if (may_start < idle_from + kLeastWait) continue;
      // Data stored in this region is loaded after a relay of the compute queue, which would wait instead.
      for (std::size_t at = l; !late_[at]; --at) {
        late_[at] = before_[loads_[at]][index(Queue::store)] == kNone;
        if (at == 0 || (!follows[at] && end_[loads_[at - 1]] < idle_from + kLeastWait)) break;
      }
    }
    next_late_.assign(count + 1, UINT64_MAX);
    for (std::size_t l = count; l-- > 0;) next_late_[l] = late_[l] ? l : next_late_[l + 1];
    // Only the last load of an instruction's operands has it as reader.
    for (std::size_t l = count; l-- > 1;) reader_[l - 1] = std::min(reader_[l - 1], reader_[l]);
  }

  // Moves late loads ahead, in their order, as long as they delay nothing: neither the next load, which may have to
  // wait anyway, nor the readers of loads that they overtake.
  void take_late_ones() {
    if (next_late_[next_load_ + 1] >= next_load_ + kLookahead) return;
    const std::size_t i = loads_[next_load_];
    const std::uint64_t& idle_from = idle_from_[index(Queue::load)];
    const std::uint64_t idle = ready(i);  // the load queue is idle until then
    std::uint64_t slack = UINT64_MAX, overtaken = 0;
    for (std::size_t l = next_load_; l < loads_.size() && l < next_load_ + kLookahead; ++l) {
      const std::uint64_t until = std::max(idle, slack);  // the bound only decreases
      if (idle_from >= until) return;
      const std::size_t other = loads_[l];
      if (taken_[other]) continue;
      const std::uint64_t work = cycles_[other] + kBetweenTransfers;
      if (l > next_load_ && late_[l] && is_free(other)) {
        if (idle_from + work > until) return;
        if (std::max(idle_from, ready(other)) + work <= until) {
          take(other);
          ordered_.push_back(stream_.instructions[other]);
          ++moved_;
          continue;
        }
      }
      // The earliest start of its reader, and the latest of the next load for it.
      overtaken += work;
      const std::uint64_t reads = idle_from_[index(Queue::compute)] + work_before_[reader_[l]] - work_before_[i];
      slack = std::min(slack, reads < overtaken + kLatency ? 0 : reads - overtaken - kLatency);
    }
  }

  void take(std::size_t i) {
    const Queue queue = queue_of(i);
    std::uint64_t& idle_from = idle_from_[index(queue)];
    const std::uint64_t start = std::max(idle_from, ready(i)), worked = start + cycles_[i];
    switch (queue) {
      case Queue::load:
        idle_from = worked + kBetweenTransfers;
        end_[i] = worked + kLatency;
        break;
      case Queue::store: idle_from = end_[i] = worked + kLatency + kBetweenStores; break;
      case Queue::compute: {
        const bool loads = std::holds_alternative<isa::Load>(stream_.instructions[i].instruction.body);
        idle_from = end_[i] = worked + (loads ? kLatency : 0) + kBetweenComputes;
        break;
      }
    }
    taken_[i] = true;
  }

  const Stream& stream_;
  const isa::HardwareConfig& config_;
  std::vector<Clock> before_;
  std::vector<std::uint64_t> cycles_, end_;
  std::vector<bool> taken_;
  std::vector<std::size_t> loads_;
  std::vector<bool> late_;                  // by position in loads_
  std::vector<std::size_t> next_late_;      // likewise: this late load, or the first one after it
  std::vector<std::size_t> reader_;         // likewise: the first instruction that may read this load or a later one
  std::vector<std::uint64_t> work_before_;  // cycles of compute instructions before each instruction
  std::size_t next_load_ = 0, moved_ = 0;   // position in loads_
  std::array<std::uint64_t, isa::kQueues> idle_from_{};
  std::uint64_t ends_ = 0;  // in the given order
  std::vector<StreamInstruction> ordered_;
};

// Returns the number of moved loads; 0 if the estimate does not improve.
std::size_t order_once(Stream& stream, const isa::HardwareConfig& config, StreamAccesses& find, LastAccesses& last) {
  std::vector<StreamInstruction> in_order = stream.instructions;
  std::optional<Orderer> orderer(std::in_place, stream, config, find, last);
  if (!orderer->any_late()) return 0;
  const std::uint64_t ends = orderer->ends();
  if (std::vector<StreamInstruction> pieces = orderer->with_pieces(); pieces.size() != in_order.size()) {
    stream.instructions = std::move(pieces);
    orderer.emplace(stream, config, find, last);
  }
  std::vector<StreamInstruction> ordered = orderer->run();
  if (orderer->ends_ordered() + ends / kLeastGain > ends) {
    stream.instructions = std::move(in_order);
    return 0;
  }
  stream.instructions = std::move(ordered);
  return orderer->moved();
}

}  // namespace

std::size_t order_loads(Stream& stream, const isa::HardwareConfig& config) {
  StreamAccesses find(config, stream);
  LastAccesses last(config, stream);
  std::size_t all = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::size_t moved = order_once(stream, config, find, last);
    if (moved == 0) break;
    all += moved;
  }
  return all;
}

}  // namespace dovetail::accel
