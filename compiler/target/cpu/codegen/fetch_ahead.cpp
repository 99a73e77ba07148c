// Asks for cache lines before they are used, where the processor would not do so in time by itself
// (Cpu::bytes_ahead): large constants that a loop walks along, so many bytes further on; of rows that lie side by side
// and that a loop goes through together, the rows behind them, which the next tile has; and before a sum what is read
// once the sum is complete.
#include <algorithm>
#include <vector>

#include <llvm/IR/Intrinsics.h>

#include "compiler/target/cpu/codegen/emitter.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kLargeBytes = 128 << 10;  // of a buffer that no first level holds
constexpr std::int64_t kPageBytes = 4 << 10;
constexpr std::size_t kFewRows = 4;
constexpr std::int64_t kLongLoop = 32;  // iterations

bool is_large(const BufferNode& buffer) {
  return element_count(buffer.shape) * size_bytes(buffer.dtype) >= kLargeBytes;
}

const Parameter* parameter_of(const BufferNode& buffer, const std::vector<Parameter>& parameters) {
  const auto it = std::ranges::find_if(parameters, [&](const Parameter& p) { return p.buffer.get() == &buffer; });
  return it == parameters.end() ? nullptr : &*it;
}

// Iterations of the serial loops that are nested at the top of `core`.
std::int64_t steps_of_serial(const Core& core) {
  const auto* loop = std::get_if<CoreLoop>(&core->node);
  return loop == nullptr || loop->kind != ForKind::serial ? 1 : loop->extent * steps_of_serial(loop->body);
}

}  // namespace

void Emitter::note_line(const Buffer& buffer, const Place& place, std::int64_t bytes) {
  const std::int64_t step_bytes = place.step * size_bytes(buffer->dtype);
  if (cpu_.bytes_ahead() == 0 || mask_ != nullptr || step_bytes <= 0 || step_bytes > kPageBytes ||
      bytes < cpu_.cache_line_bytes || frame_.branches != frame_.serial.back().branches || !is_large(*buffer))
    return;
  const Parameter* parameter = parameter_of(*buffer, parameters_);
  if (parameter == nullptr || parameter->role != ParameterRole::constant) return;
  std::vector<Walk>& lines = frame_.serial.back().lines;
  const bool known = std::ranges::any_of(
      lines, [&](const Walk& line) { return line.buffer == buffer.get() && line.constant == place.constant; });
  if (!known) lines.push_back({buffer.get(), place.constant, place.step, place.pointer});
}

void Emitter::note_row(const Buffer& buffer, const Place& place) {
  if (cpu_.bytes_ahead() == 0 || mask_ != nullptr || place.step <= 0 ||
      frame_.branches != frame_.serial.back().branches || !is_large(*buffer))
    return;
  frame_.serial.back().rows.push_back({buffer.get(), place.constant, place.step, place.pointer});
}

void Emitter::fetch(llvm::Value* pointer, llvm::Value* bytes_further) {
  constexpr std::uint32_t kToRead = 0, kIntoFirstLevel = 3, kData = 1;
  builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                           {builder_.CreateGEP(builder_.getInt8Ty(), pointer, bytes_further),
                            builder_.getInt32(kToRead), builder_.getInt32(kIntoFirstLevel), builder_.getInt32(kData)});
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
    // All rows behind are fetched when the loop ends: as many of their bytes in an iteration as it reads itself.
    const std::int64_t count = static_cast<std::int64_t>(all.size()), bytes = size_bytes(all.front().buffer->dtype);
    const std::int64_t more = (count - 1) * all.front().step * bytes;
    fetch(all.front().pointer,
          builder_.CreateAdd(number(count * length * bytes), builder_.CreateMul(iteration, number(more))));
  }
}

// Vectors of the model's tensors that are read without a condition. Those of other kernels' results lie in the second
// level or further, and nothing walks along them in order: a tile has pieces of many rows.
void Emitter::fetch_reads_of(const Core& core) {
  if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& part : sequence->body) fetch_reads_of(part);
  } else if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    if (loop->kind != ForKind::vectorized || lane_var_ != nullptr) return;
    lane_var_ = loop->var.get();
    lanes_ = static_cast<unsigned>(loop->extent);
    fetch_reads_of(loop->body);
    lane_var_ = nullptr;
    lanes_ = 0;
  } else if (const auto* store = std::get_if<CoreStore>(&core->node); store != nullptr && lane_var_ != nullptr) {
    for (const StoreTarget& target : store->targets)
      visit_exprs(target.value, [&](const Expr& expr) {
        const auto* load = std::get_if<LoadExpr>(&expr->node);
        if (load == nullptr || !is_large(*load->buffer) || std::ranges::any_of(load->indices, holds_load)) return;
        const Parameter* parameter = parameter_of(*load->buffer, parameters_);
        if (parameter == nullptr || parameter->role != ParameterRole::input) return;
        const Place place = place_of(load->buffer, load->indices);
        if (place.stride == 1) fetch(place.pointer, builder_.getInt64(0));
      });
  }
}

void Emitter::fetch_before_sum(const CoreSequence& n, std::size_t at) {
  if (cpu_.bytes_ahead() == 0 || mask_ != nullptr || lane_var_ != nullptr || steps_of_serial(n.body[at]) < kLongLoop)
    return;
  for (std::size_t behind = at + 1; behind < n.body.size() && steps_of_serial(n.body[behind]) < kLongLoop; ++behind)
    fetch_reads_of(n.body[behind]);
}

}  // namespace dovetail::cpu
