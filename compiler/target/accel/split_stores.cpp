#include "compiler/target/accel/split_stores.h"

#include <algorithm>
#include <utility>

#include "compiler/target/accel/instruction_cycles.h"
#include "isa/verify/accesses.h"

namespace dovetail::accel {

namespace {

using isa::Queue;

// A piece costs the store queue a response of the memory more, so a shorter one gains nothing.
constexpr std::uint64_t kShortestPiece = 128;

// A store's rows, or the elements of its single row.
std::uint32_t units_of(const isa::Store& store) { return store.y_size > 1 ? store.y_size : store.x_size; }

// How many units of `store`, from the first one on, hold all that `load` reads of it; 0: it reads nothing of it.
std::uint32_t units_read(const isa::HardwareConfig& config, const isa::Instruction& store,
                         const isa::Instruction& load) {
  const isa::DramAccess written = isa::dram_access(config, store), read = isa::dram_access(config, load);
  if (written.empty() || read.empty()) return 0;
  const isa::Extent hull = written.hull();
  const bool rows = written.rows > 1;
  const std::uint64_t unit = rows ? written.stride_bytes : written.row_bytes / std::get<isa::Store>(store.body).x_size;
  std::uint64_t units = 0;
  for (std::uint64_t y = 0; y < read.rows; ++y) {
    const isa::Extent row = read.row(y);
    if (row.end <= hull.begin || hull.end <= row.begin) continue;
    const std::uint64_t last = (std::min(row.end, hull.end) - 1 - hull.begin) / unit;
    if (!rows || row.begin < written.row(last).end) units = std::max(units, last + 1);
  }
  return static_cast<std::uint32_t>(units);
}

}  // namespace

std::size_t split_stores(Stream& stream, const isa::HardwareConfig& config) {
  const std::vector<StreamInstruction>& items = stream.instructions;
  std::vector<StreamInstruction> result;
  result.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto* store = std::get_if<isa::Store>(&items[i].instruction.body);
    const std::uint64_t cycles = store ? instruction_cycles(config, stream, items[i]) : 0;
    std::uint64_t units = 0;
    std::uint64_t computed = 0;  // as long as the store: by then nothing waits for it
    for (std::size_t next = i + 1; cycles >= 2 * kShortestPiece && next < items.size() && computed < cycles; ++next) {
      const isa::Instruction& other = items[next].instruction;
      if (other.queue() == Queue::compute) computed += instruction_cycles(config, stream, items[next]);
      if (!std::holds_alternative<isa::Load>(other.body)) continue;
      if (units = units_read(config, items[i].instruction, other); units > 0) break;
    }
    const std::uint64_t all = store ? units_of(*store) : 0;
    if (units > 0) units = std::max(units, (all * kShortestPiece + cycles - 1) / cycles);
    if (units == 0 || 2 * units > all) {
      result.push_back(items[i]);
      continue;
    }
    // Later pieces have the time of those before them, and are as long as these together.
    for (std::uint64_t from = 0, to = units; from < all; from = std::exchange(to, std::min(all, 2 * to))) {
      const auto begin = static_cast<std::uint32_t>(from), size = static_cast<std::uint32_t>(to - from);
      isa::Store piece = *store;
      const bool rows = store->y_size > 1;
      (rows ? piece.y_size : piece.x_size) = size;
      piece.sram_base += rows ? begin * store->x_size : begin;
      piece.dram_base += rows ? std::uint64_t{begin} * store->x_stride : begin;
      result.push_back(items[i]);
      result.back().instruction.body = piece;
    }
  }
  const std::size_t more = result.size() - items.size();
  stream.instructions = std::move(result);
  return more;
}

}  // namespace dovetail::accel
