#include "compiler/target/cuda/sketches/product.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/contraction.h"
#include "compiler/schedule/nest.h"
#include "loops/product_sum.h"
#include "loops/threads/pipeline_copies.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

// Below, threads have nothing to share.
constexpr std::int64_t kFewestRows = 2, kFewestColumns = 8, kFewestProducts = 1 << 12;
constexpr std::int64_t kVectorBytes = 16;

// An element whose place is that of the product's iterators.
bool is_plain(const Expr& factor) {
  const auto* n = std::get_if<LoadExpr>(&factor->node);
  return n != nullptr && std::ranges::all_of(n->indices, [](const Expr& index) {
           return std::holds_alternative<VarRef>(index->node) || std::holds_alternative<IntImm>(index->node);
         });
}

Product::Operand operand_of(const schedule::Contraction::Factor& factor) {
  return {factor.stored->dtype, is_plain(factor.stored), factor.depth_last, factor.batch.size()};
}

}  // namespace

std::optional<Product> find_product(const schedule::Context& c) {
  for (const std::string& name : c.blocks()) {
    const auto path = schedule::find_block(c.s.program().body, name);
    const auto product = schedule::require_contraction(*path, "sketch");
    if (!product.ok()) continue;
    const Block& block = *schedule::as_block(path->back());
    const Product found{name,
                        product->extent(block, product->batch),
                        product->extent(block, product->rows),
                        product->extent(block, product->columns),
                        product->extent(block, product->depth),
                        operand_of(product->left),
                        operand_of(product->right),
                        product->left.type,
                        !is_floating(product->left.type) || is_product_sum(block)};
    if (found.rows >= kFewestRows && found.columns >= kFewestColumns &&
        found.rows * found.columns * found.depth >= kFewestProducts)
      return found;
  }
  return std::nullopt;
}

bool can_fetch(const Product::Operand& operand, std::int64_t elements, std::int64_t threads, std::int64_t stages) {
  constexpr std::int64_t kMostElements = 4096;
  if (elements % threads != 0 || elements > kMostElements) return false;
  return stages == 1 || elements / threads * size_bytes(operand.stored) <= PipelineOptions{}.local_bytes;
}

std::pair<std::string, std::string> split_loop(schedule::Context& c, const std::string& loop, std::int64_t factor) {
  const std::pair<std::string, std::string> names{loop + "o", loop + "i"};
  c.s.split(loop, factor, names.first, names.second);
  return names;
}

void fetch_together(schedule::Context& c, const std::string& operand, bool plain, std::span<const ThreadAxis> threads) {
  std::vector<std::string> loops = c.own_loops(operand);
  if (loops.empty()) return;
  std::string all = loops.front();
  for (std::size_t i = 1; i < loops.size(); ++i) {
    const std::string fused = fmt::format("{}.all{}", operand, i);
    c.s.fuse(all, loops[i], fused);
    all = fused;
  }
  std::int64_t together = 1;
  for (const ThreadAxis& axis : threads) together *= axis.extent;
  std::int64_t vector = plain ? kVectorBytes / size_bytes(c.buffer(operand)->dtype) : kVector;
  while (vector > 1 && c.extent(all) % (vector * together) != 0) vector /= 2;
  auto [rest, within] = split_loop(c, all, vector);
  std::vector<std::string> order;
  for (const ThreadAxis& axis : threads) {
    const auto [outer, own] = split_loop(c, rest, axis.extent);
    order.insert(order.begin(), own);
    rest = outer;
  }
  const std::vector<std::string> bound = order;
  order.insert(order.end(), {rest, within});
  c.reorder(order);
  for (std::size_t i = 0; i < bound.size(); ++i) c.s.bind(bound[i], std::string(threads[bound.size() - 1 - i].axis));
  c.unroll(rest);
  c.unroll(within);
}

}  // namespace dovetail::cuda
