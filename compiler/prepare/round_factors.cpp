#include "compiler/prepare/round_factors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/caching.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/nest.h"
#include "loops/rewrite.h"
#include "loops/threads/fetch.h"

namespace dovetail::prepare {

using namespace loops;

namespace {

// Half of the last place, and the places that a TF32 number has.
constexpr std::uint32_t kHalf = 0x1000, kPlaces = 0xffffe000;

// The dimensions of the factor that loads `from`, those of the depth last. All in order if one is not an iterator.
std::vector<std::size_t> depth_last(const Block& block, const Buffer& from) {
  const LoadExpr* access = nullptr;
  visit_exprs(block.body, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node); n != nullptr && n->buffer == from) access = n;
  });
  std::vector<std::size_t> all, others, depth;
  bool plain = true;
  for (std::size_t d = 0; d < from->shape.size(); ++d) {
    const auto* index = std::get_if<VarRef>(&access->indices[d]->node);
    plain &= index != nullptr || std::holds_alternative<IntImm>(access->indices[d]->node);
    const bool deep = index != nullptr && std::ranges::any_of(block.iterators, [&](const Iterator& iterator) {
                        return iterator.kind == IterKind::reduce && iterator.var == index->var;
                      });
    all.push_back(d);
    (deep ? depth : others).push_back(d);
  }
  others.insert(others.end(), depth.begin(), depth.end());
  return plain ? others : all;
}

}  // namespace

Expr rounded_to_tf32(const Expr& value) {
  const Expr bits = bitcast(DType::uint32, value);
  const Expr rounded = binary(BinaryOp::bit_and, bits + int_imm(kHalf, DType::uint32), int_imm(kPlaces, DType::uint32));
  // Carries out of the significand of a NaN would change its exponent or sign.
  return select(binary(BinaryOp::eq, value, value), bitcast(DType::float32, rounded), value + value);
}

NdArray rounded_to_tf32(const NdArray& values) {
  NdArray rounded = values;
  for (float& value : rounded.data<float>())
    value = std::isnan(value) ? value + value
                              : std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + kHalf) & kPlaces);
  return rounded;
}

std::vector<Buffer> float32_factors(const Program& program, const std::string& main) {
  const auto path = schedule::find_block(program.body, main);
  if (!path) return {};
  const auto product = schedule::require_contraction(*path, "round_factors");
  if (!product.ok()) return {};
  std::vector<Buffer> factors;
  for (const schedule::Contraction::Factor* factor : {&product->left, &product->right}) {
    const auto moved = Moved::of(factor->stored);
    if (!moved || factor->stored->dtype != DType::float32 || moved->load->buffer->dtype != DType::float32 ||
        (moved->condition && !moved->is_zero_otherwise()))
      return {};
    factors.push_back(moved->load->buffer);
  }
  return factors;
}

Program with_rounded(Program program, const std::string& main, const Buffer& from) {
  const schedule::Path path = schedule::find_block(program.body, main).value();
  const std::vector<std::size_t> order = depth_last(*schedule::as_block(path.back()), from);
  const auto ordered = [&](const auto& of_dimensions) {
    auto made = of_dimensions;
    for (std::size_t d = 0; d < order.size(); ++d) made[d] = of_dimensions[order[d]];
    return made;
  };
  const Buffer to = make_buffer(from->name + kRounded, from->dtype, ordered(from->shape));
  std::vector<Iterator> iterators;
  std::vector<Expr> indices;
  for (std::size_t d = 0; d < from->shape.size(); ++d) {
    iterators.push_back({make_var("i" + std::to_string(d)), from->shape[d], IterKind::spatial, nullptr});
    indices.push_back(ref(iterators.back().var));
  }
  const Stmt rounding = schedule::compute_nest(to->name, std::move(iterators), to, ordered(indices),
                                               rounded_to_tf32(load(from, indices)));
  const Stmt top = schedule::top_statement(path);
  const Stmt reading = rewrite_stmt(
      top,
      [&](const Stmt& stmt) {
        const auto* block = std::get_if<Block>(&stmt->node);
        return block != nullptr ? make_stmt(schedule::with_inferred_regions(*block)) : stmt;
      },
      [&](const Expr& e) {
        const auto* access = std::get_if<LoadExpr>(&e->node);
        return access == nullptr || access->buffer != from ? e : load(to, ordered(access->indices));
      });
  program.allocations.push_back(to);
  program.body = schedule::replace(program.body, top, sequence({rounding, reading}));
  return program;
}

}  // namespace dovetail::prepare
