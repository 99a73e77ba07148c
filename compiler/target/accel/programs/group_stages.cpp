#include "compiler/target/accel/programs/group_stages.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/programs/normalization.h"

namespace dovetail::accel {

using namespace loops;

namespace {

struct Item {
  Stmt stmt;
  StageKind kind = StageKind::transfer;
  std::vector<std::size_t> after;  // items that must come before
  bool taken = false;
};

// The items, each with those that must come before it.
std::vector<Item> items_of(const Sequence& sequence) {
  std::vector<Item> items;
  std::map<const BufferNode*, std::size_t> writer, reader;  // the last reader so far
  for (const Stmt& stmt : sequence.body) {
    const Block* block = schedule::only_block(stmt);
    if (block == nullptr) return {};
    Item item{stmt, stage_kind(*block), {}};
    std::set<const BufferNode*> read;
    for (const Region& region : block->reads) read.insert(region.buffer.get());
    for (const BufferNode* buffer : read) {
      const auto made = writer.find(buffer);
      if (made == writer.end() || made->second == items.size()) continue;
      item.after.push_back(made->second);
      // A stage that works in place must follow earlier readers of its buffer. Loaded buffers are not changed.
      if (items[made->second].kind == StageKind::transfer) continue;
      const auto [last, added] = reader.try_emplace(buffer, items.size());
      if (!added) item.after.push_back(std::exchange(last->second, items.size()));
    }
    for (const Region& region : block->writes) writer[region.buffer.get()] = items.size();
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

StageKind stage_kind(const Block& block) {
  const auto* store = std::get_if<Store>(&block.body->node);
  if (store == nullptr || store->targets.size() != 1 || store->targets[0].buffer->dtype != DType::int32)
    return StageKind::transfer;
  if (block.name == "epilogue") return StageKind::gemm;  // of its products
  const Expr& value = store->targets[0].value;
  const auto* binary = std::get_if<Binary>(&value->node);
  if (is_of_lanes(block.name)) return StageKind::alu_long;
  if (block.init) {
    if (binary == nullptr || binary->op != BinaryOp::add) return StageKind::alu;
    const auto* product = std::get_if<Binary>(&binary->b->node);
    if (product == nullptr) return StageKind::alu;  // a sum of elements of ACC, and else of squares or products
    return std::holds_alternative<LoadExpr>(product->a->node) ? StageKind::alu_long : StageKind::gemm;
  }
  if (binary != nullptr) return binary->op == BinaryOp::mul ? StageKind::alu_long : StageKind::alu;
  if (std::holds_alternative<IntImm>(value->node)) return StageKind::gemm;
  if (const auto* entry = std::get_if<Cast>(&value->node); entry && size_bytes(entry->a->dtype) == 2)
    return StageKind::alu_long;  // of a table
  if (const auto* call = std::get_if<Call>(&value->node))
    return call->function == Function::requantize ? StageKind::alu_long : StageKind::alu;
  return std::holds_alternative<Select>(value->node) ? StageKind::alu : StageKind::transfer;
}

Program group_stages(Program program) {
  const auto* sequence = std::get_if<Sequence>(&program.body->node);
  if (sequence == nullptr) return program;
  std::vector<Item> items = items_of(*sequence);
  std::vector<Stmt> ordered;
  StageKind kind = StageKind::gemm;  // the previous tile ends with an ALU stage
  while (ordered.size() < items.size()) {
    const auto ready = [&](const Item& item) {
      return !item.taken && std::ranges::all_of(item.after, [&](std::size_t i) { return items[i].taken; });
    };
    auto next = std::ranges::find_if(items, [&](const Item& item) {
      return ready(item) && (item.kind == kind || item.kind == StageKind::transfer);
    });
    if (next == items.end()) next = std::ranges::find_if(items, ready);
    if (next->kind != StageKind::transfer) kind = next->kind;
    next->taken = true;
    ordered.push_back(next->stmt);
  }
  if (!ordered.empty()) program.body = loops::sequence(std::move(ordered));
  return program;
}

}  // namespace dovetail::accel
