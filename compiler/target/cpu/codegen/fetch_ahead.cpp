// Prefetches cache lines that the hardware prefetcher would miss (Cpu::bytes_ahead): large constants that a loop walks
// along, a fixed distance ahead, and for contiguous rows that a loop walks together, the rows after them, which the
// next tile reads.
#include <algorithm>
#include <vector>

#include <llvm/IR/Intrinsics.h>

#include "compiler/target/cpu/codegen/emitter.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kPageBytes = 4 << 10;
constexpr std::size_t kFewRows = 4;

}  // namespace

const Parameter* Emitter::parameter_of(const BufferNode& buffer) const {
  const auto it = std::ranges::find_if(parameters_, [&](const Parameter& p) { return p.buffer.get() == &buffer; });
  return it == parameters_.end() ? nullptr : &*it;
}

void Emitter::note_line(const Buffer& buffer, const Place& place, std::int64_t bytes) {
  const std::int64_t step_bytes = place.step * size_bytes(buffer->dtype);
  if (cpu_.bytes_ahead() == 0 || mask_ != nullptr || step_bytes <= 0 || step_bytes > kPageBytes ||
      bytes < cpu_.cache_line_bytes || frame_.branches != frame_.serial.back().branches ||
      bytes_of(*buffer) < kLargeBytes)
    return;
  const Parameter* parameter = parameter_of(*buffer);
  if (parameter == nullptr || parameter->role != ParameterRole::constant) return;
  std::vector<Walk>& lines = frame_.serial.back().lines;
  const bool known = std::ranges::any_of(
      lines, [&](const Walk& line) { return line.buffer == buffer.get() && line.constant == place.constant; });
  if (!known) lines.push_back({buffer.get(), place.constant, place.step, place.pointer});
}

void Emitter::note_row(const Buffer& buffer, const Place& place) {
  if (cpu_.bytes_ahead() == 0 || mask_ != nullptr || place.step <= 0 ||
      frame_.branches != frame_.serial.back().branches || bytes_of(*buffer) < kLargeBytes)
    return;
  frame_.serial.back().rows.push_back({buffer.get(), place.constant, place.step, place.pointer});
}

void Emitter::fetch(llvm::Value* pointer, llvm::Value* bytes_further, bool to_write) {
  constexpr std::uint32_t kIntoFirstLevel = 3, kData = 1;
  builder_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {pointer->getType()},
      {builder_.CreateGEP(builder_.getInt8Ty(), pointer, bytes_further), builder_.getInt32(to_write ? 1 : 0),
       builder_.getInt32(kIntoFirstLevel), builder_.getInt32(kData)});
}

void Emitter::fetch_ahead(const SerialLoop& loop, llvm::Value* iteration) {
  const auto number = [&](std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); };
  for (const Walk& line : loop.lines) fetch(line.pointer, number(cpu_.bytes_ahead()));

  std::vector<std::vector<Walk>> by_buffer;  // in the order of their first use
  for (const Walk& row : loop.rows) {
    const auto known =
        std::ranges::find_if(by_buffer, [&](const auto& rows) { return rows.front().buffer == row.buffer; });
    if (known != by_buffer.end()) known->push_back(row);
    else by_buffer.push_back({row});
  }
  for (std::vector<Walk>& all : by_buffer) {
    const auto place = [](const Walk& row) { return row.constant; };
    std::ranges::sort(all, {}, place);
    const auto repeated = std::ranges::unique(all, {}, place);
    all.erase(repeated.begin(), repeated.end());
    const std::int64_t length = loop.extent * all.front().step;
    const bool side_by_side = std::ranges::adjacent_find(all, [&](const Walk& a, const Walk& b) {
                                return a.step != b.step || b.constant - a.constant != length;
                              }) == all.end();
    if (all.size() < kFewRows || !side_by_side) continue;
    // All following rows are fetched by the end of the loop: each iteration fetches as many of their bytes as it reads.
    const std::int64_t count = static_cast<std::int64_t>(all.size()), bytes = size_bytes(all.front().buffer->dtype);
    const std::int64_t more = (count - 1) * all.front().step * bytes;
    fetch(all.front().pointer,
          builder_.CreateAdd(number(count * length * bytes), builder_.CreateMul(iteration, number(more))));
  }
}

}  // namespace dovetail::cpu
