#include "compiler/target/cuda/sketches/product.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/prepare/copy_factors.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cuda/lower.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"
#include "loops/threads/fetch.h"
#include "loops/threads/pipeline_copies.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

// Smaller products offer no sharing between threads.
constexpr std::int64_t kFewestRows = 2, kFewestColumns = 8, kFewestProducts = 1 << 12;
constexpr std::int64_t kMostAddedSums = 1 << 24;  // added up by a second kernel

// Whether the index is an iterator, or one of a subrange of its values.
bool is_iterator(const Expr& index) {
  if (std::holds_alternative<VarRef>(index->node)) return true;
  const auto* sum = std::get_if<loops::Binary>(&index->node);
  if (sum == nullptr || sum->op != BinaryOp::add || !std::holds_alternative<VarRef>(sum->b->node)) return false;
  const auto* part = std::get_if<loops::Binary>(&sum->a->node);
  return part != nullptr && part->op == BinaryOp::mul && std::holds_alternative<VarRef>(part->a->node) &&
         std::holds_alternative<IntImm>(part->b->node);
}

// Whether the element's index consists of the product's iterators.
bool is_plain(const Expr& factor) {
  const auto* n = std::get_if<LoadExpr>(&factor->node);
  return n != nullptr && std::ranges::all_of(n->indices, [](const Expr& index) {
           return is_iterator(index) || std::holds_alternative<IntImm>(index->node);
         });
}

// The elements of the factor that are neighbors in memory along the depth, or along its rows or columns, from the first
// one of its buffer's last dimension on.
std::int64_t run_of(const Block& block, const LoadExpr& access) {
  std::optional<IterKind> along;
  std::int64_t run = 1;
  for (std::size_t d = access.indices.size(); d-- > 0;) {
    const std::int64_t extent = access.buffer->shape[d];
    if (extent == 1) continue;
    // Of a subrange (is_iterator), the last term is the iterator.
    const auto* sum = is_iterator(access.indices[d]) ? std::get_if<loops::Binary>(&access.indices[d]->node) : nullptr;
    const auto* index = std::get_if<VarRef>(&(sum != nullptr ? sum->b : access.indices[d])->node);
    const auto iterator = std::ranges::find_if(
        block.iterators, [&](const Iterator& one) { return index != nullptr && one.var == index->var; });
    if (iterator == block.iterators.end() || (along && *along != iterator->kind)) break;
    along = iterator->kind;
    run *= iterator->extent;
    if (iterator->extent != extent) break;
  }
  return run;
}

Product::Operand operand_of(const Block& block, const schedule::Contraction::Factor& factor) {
  Product::Operand operand{factor.stored->dtype, is_plain(factor.stored), factor.depth_last, factor.batch.size()};
  const auto moved = Moved::of(factor.stored);
  operand.moved = moved && moved->load->buffer->dtype == factor.stored->dtype;
  operand.aligned = true;
  visit_exprs(prepare::without_constant_iterators(block, factor.stored), [&](const Expr& e) {
    const auto* access = std::get_if<LoadExpr>(&e->node);
    if (access == nullptr) return;
    operand.gathers |= std::ranges::any_of(access->indices, [](const Expr& index) {
      return !is_iterator(index) && !std::holds_alternative<IntImm>(index->node);
    });
    operand.aligned &= run_of(block, *access) * size_bytes(access->buffer->dtype) % kVectorBytes == 0;
  });
  return operand;
}

}  // namespace

std::optional<Product> product_of(const schedule::Context& c, const std::string& name) {
  const auto path = schedule::find_block(c.s.program().body, name);
  if (!path) return std::nullopt;
  const auto product = schedule::require_contraction(*path, "sketch");
  if (!product.ok()) return std::nullopt;
  const Block& block = *schedule::as_block(path->back());
  Product found{name,
                product->extent(block, product->batch),
                product->extent(block, product->rows),
                product->extent(block, product->columns),
                product->extent(block, product->depth),
                operand_of(block, product->left),
                operand_of(block, product->right),
                product->left.type,
                !is_floating(product->left.type) || is_product_sum(block),
                "",
                1,
                0};
  found.results = found.batch * found.rows * found.columns;
  for (const std::size_t i : product->depth) {
    if (block.iterators[i].extent <= found.deep_extent) continue;
    found.deep_loop = std::get<VarRef>(block.iterators[i].binding->node).var->name;
    found.deep_extent = block.iterators[i].extent;
  }
  return found;
}

std::optional<Product> find_product(const schedule::Context& c) {
  for (const std::string& name : c.blocks()) {
    const auto found = product_of(c, name);
    if (found && found->rows >= kFewestRows && found->columns >= kFewestColumns &&
        found->rows * found->columns * found->depth >= kFewestProducts)
      return found;
  }
  return std::nullopt;
}

std::vector<std::int64_t> parts_of_depth(const Product& whole) {
  constexpr std::int64_t kMostParts = 32, kFewestDeep = 16;
  std::vector<std::int64_t> parts{1};
  for (std::int64_t count = 2; whole.free_order && count <= kMostParts; count *= 2)
    if (whole.deep_extent % count == 0 && whole.depth / count >= kFewestDeep && count * whole.results <= kMostAddedSums)
      parts.push_back(count);
  return parts;
}

Product part_of(Product whole, std::int64_t parts) {
  whole.batch *= parts;
  whole.depth /= parts;
  return whole;
}

namespace {

// Distribution of tiles by stream_k: each worker has whole tiles, and the same number of pieces of shared tiles.
struct Workers {
  std::int64_t count, whole, shared,
      of_shared;  // workers; whole tiles per worker; shared tiles; pieces of these per worker
};
Workers workers_of(std::int64_t tiles, std::int64_t of_tile, std::int64_t count) {
  const std::int64_t whole = tiles / count, shared = tiles % count, of_shared = pieces(shared * of_tile, count);
  return {whole > 0 || shared == 0 ? count : pieces(shared * of_tile, of_shared), whole, shared, of_shared};
}

}  // namespace

std::vector<std::int64_t> streams_of(const Product& whole, std::int64_t parts) {
  return whole.free_order && parts == 1 ? std::vector<std::int64_t>{0, 1, 2} : std::vector<std::int64_t>{0};
}

std::optional<Share> share_of(const Product& whole, const Distribution& distribution, std::int64_t rows,
                              std::int64_t columns, std::int64_t depth, std::int64_t stages, std::int64_t processors) {
  // Bytes per cycle of each processor from and to the second-level cache; cycles until the next kernel runs; cycles per
  // part. Fitted on an H200.
  constexpr double kFarBytes = 24, kNextKernel = 6000, kPart = 400;
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const auto pass = [&](std::int64_t elements) {  // writing them in one kernel and reading them in the next
    return 2.0 * number(elements * size_bytes(whole.type)) / (kFarBytes * number(processors)) + kNextKernel;
  };
  const double preparing = whole.prepared_first > 0 ? pass(whole.prepared_first) : 0;
  const auto joining = [&](std::int64_t sums, std::int64_t parts) { return pass(sums) + kPart * number(parts); };
  const std::int64_t tiles = whole.batch * pieces(whole.rows, rows) * pieces(whole.columns, columns);
  if (distribution.stream == 0) {
    const std::int64_t of_depth = pieces(part_of(whole, distribution.parts).depth, depth);
    if (stages > 1 && stages > of_depth) return std::nullopt;
    // Enough whole tiles keep all processors busy.
    if (distribution.parts > 1 && tiles >= 2 * processors) return std::nullopt;
    const double here = std::ceil(number(tiles * distribution.parts) / number(processors));
    const std::int64_t parts = distribution.parts;
    return Share{here * number(of_depth), here, here,
                 preparing + (parts == 1 ? 0 : joining(parts * whole.results, parts))};
  }
  const std::int64_t of_tile = pieces(whole.depth, depth);
  const Workers workers = workers_of(tiles, of_tile, distribution.stream * processors);
  const std::int64_t of_each = workers.whole * of_tile + workers.of_shared;
  // If all workers have whole tiles, nothing is combined. A worker has parts of at most two shared tiles.
  if (of_each < std::max<std::int64_t>(stages, 2) || workers.shared == 0 || workers.of_shared == of_tile ||
      2 * workers.count * rows * columns > kMostAddedSums)
    return std::nullopt;
  // For each piece, a worker computes the tile that it belongs to.
  constexpr double kMoreOfPiece = 1.1;
  const double here = number(pieces(workers.count, processors));
  return Share{here * number(of_each) * kMoreOfPiece, here, here,
               preparing + joining((workers.shared + workers.count) * rows * columns,
                                   pieces(workers.count, workers.shared) + 1)};
}

std::optional<Product> stream_depth(schedule::Context& c, const Product& whole, std::int64_t stream, std::int64_t rows,
                                    std::int64_t columns, std::int64_t depth, std::int64_t processors,
                                    std::span<const std::string> following) {
  Product made = whole;
  made.block = whole.block + ".stream";
  const auto called = [&](std::string_view what) { return fmt::format("{}.{}", made.block, what); };
  c.s.stream_k(whole.block, rows, columns, depth, stream * processors, called("left"), called("right"), called("sums"),
               called("init"), made.block, called("part"), called("result"), called("joined"));
  for (const std::string& block : following) c.attempt("reverse_inline", {block});
  if (!c.s.status().ok()) return std::nullopt;
  // Each worker and piece has one tile of the operands.
  made.left.batch_dimensions = made.right.batch_dimensions = 2;
  return made;
}

std::optional<Product> split_depth(schedule::Context& c, const Product& whole, std::int64_t parts) {
  const std::string part = whole.deep_loop + ".part", name = whole.block + ".parts";
  c.s.split(whole.deep_loop, whole.deep_extent / parts, part, whole.deep_loop + ".rest");
  c.s.rfactor(whole.block, part, name);
  if (!c.s.status().ok()) return std::nullopt;
  // Loops in the order of the iterators, as in a product.
  std::vector<std::string> order;
  for (const Iterator& iterator : c.block(name)->iterators)
    if (const auto* loop = std::get_if<VarRef>(&iterator.binding->node)) order.push_back(loop->var->name);
  if (order != c.own_loops(name)) c.reorder(order);
  return product_of(c, name);
}

std::optional<MatrixMultiply> allowed_instruction(const Gpu& gpu, DType left, DType right, DType sum) {
  const auto mma = find_matrix_multiply(left, right, sum);
  return mma && has_tensor_cores(gpu) && (gpu.tf32 || !mma->rounds_factors()) ? mma : std::nullopt;
}

bool can_fetch(const Product::Operand& operand, std::int64_t elements, std::int64_t threads, std::int64_t stages,
               std::int64_t most_elements) {
  if (elements % threads != 0 || elements > most_elements) return false;
  return stages == 1 || elements / threads * size_bytes(operand.stored) <= PipelineOptions{}.local_bytes;
}

std::int64_t shared_bytes(const Product::Operand& left, std::int64_t rows, const Product::Operand& right,
                          std::int64_t columns, std::int64_t depth, std::int64_t stages) {
  const auto bytes = [&](const Product::Operand& operand, std::int64_t own) {
    const std::int64_t lines = operand.depth_last ? own : depth, elements = operand.depth_last ? depth : own;
    return stages * lines * (elements * size_bytes(operand.stored) + kBankBytes);
  };
  return bytes(left, rows) + bytes(right, columns);
}

std::pair<std::string, std::string> split_loop(schedule::Context& c, const std::string& loop, std::int64_t factor) {
  const std::pair<std::string, std::string> names{loop + "o", loop + "i"};
  c.s.split(loop, factor, names.first, names.second);
  return names;
}

void fetch_together(schedule::Context& c, const std::string& operand, bool plain, std::span<const ThreadAxis> threads,
                    std::int64_t vector_bytes) {
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
  const bool by_bytes = plain || vector_bytes < kVectorBytes;
  std::int64_t vector = by_bytes ? vector_bytes / size_bytes(c.buffer(operand)->dtype) : kVector;
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
