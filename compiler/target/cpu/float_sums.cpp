#include "compiler/target/cpu/float_sums.h"

#include <algorithm>

#include "compiler/schedule/nest.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr double kSumStart = 0x1.8p23;
constexpr std::int64_t kSumStartBits = 0x4b400000;

// The product that the block adds to its result, if it is int32 and starts at 0; else null.
const Binary* summed_product(const Block& block) {
  const auto* update = std::get_if<Store>(&block.body->node);
  const auto* start = block.init ? std::get_if<Store>(&block.init->node) : nullptr;
  if (update == nullptr || start == nullptr || update->targets[0].buffer->dtype != DType::int32) return nullptr;
  const auto* zero = std::get_if<IntImm>(&start->targets[0].value->node);
  const auto* add = std::get_if<Binary>(&update->targets[0].value->node);
  if (zero == nullptr || zero->value != 0 || add == nullptr || add->op != BinaryOp::add) return nullptr;
  const auto* sum = std::get_if<LoadExpr>(&add->a->node);
  const auto* product = std::get_if<Binary>(&add->b->node);
  const bool products =
      product != nullptr && product->op == BinaryOp::mul && sum != nullptr && sum->buffer == update->targets[0].buffer;
  return products ? product : nullptr;
}

}  // namespace

std::optional<Program> sum_in_floats(const Program& program, const std::string& main) {
  const auto path = schedule::find_block(program.body, main);
  if (!path) return std::nullopt;
  const Block& block = *schedule::as_block(path->back());
  const Binary* product = summed_product(block);
  if (product == nullptr) return std::nullopt;
  const StoreTarget& target = std::get<Store>(block.body->node).targets[0];
  const Buffer integers = target.buffer;
  if (std::ranges::find(program.allocations, integers) == program.allocations.end()) return std::nullopt;
  const Buffer floats = make_buffer(integers->name, DType::float32, integers->shape, integers->scope);

  Block sums = block;
  sums.annotations[std::string(kSumAnnotation)] = kProductSum;
  sums.init = store(floats, target.indices, float_imm(kSumStart));
  sums.body = store(floats, target.indices,
                    load(floats, target.indices) + cast(DType::float32, product->a) * cast(DType::float32, product->b));
  Program result = program;
  std::ranges::replace(result.allocations, integers, floats);
  const Stmt replaced =
      schedule::replace(program.body, path->back(), make_stmt(schedule::with_inferred_regions(std::move(sums))));
  result.body = rewrite_stmt(
      replaced,
      [&](const Stmt& stmt) {
        const auto* reader = std::get_if<Block>(&stmt->node);
        const bool changed = reader != nullptr && reader->name != main && schedule::reads(stmt, integers.get());
        return changed ? make_stmt(schedule::with_inferred_regions(*reader)) : stmt;
      },
      [&](const Expr& e) -> Expr {
        const auto* n = std::get_if<LoadExpr>(&e->node);
        if (n == nullptr || n->buffer != integers) return e;
        return bitcast(DType::int32, load(floats, n->indices)) - kSumStartBits;
      });
  return result;
}

}  // namespace dovetail::cpu
