#include "compiler/target/cpu/extend_product.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char *kPad = "pad", *kShifted = "shifted", *kResult = "result";

// The iterator or loop variable that the expression consists of; null for any other expression.
const VarNode* plain(const Expr& expr) {
  const auto* n = std::get_if<VarRef>(&expr->node);
  return n == nullptr ? nullptr : n->var.get();
}

const Block* find(const Program& program, const std::string& name) {
  const auto path = schedule::find_block(program.body, name);
  return path ? schedule::as_block(path->back()) : nullptr;
}

class Extension {
 public:
  Extension(const Program& program, const Block& main, const Extents& extents)
      : program_(program), main_(main), extents_(extents) {}

  std::optional<ExtendedProduct> extend() {
    if (!extend_iterators() || !grow_buffers()) return std::nullopt;
    ExtendedProduct result{program_, {}};
    for (const auto& [old, buffer] : grown_) {
      for (Parameter& parameter : result.program.parameters)
        if (parameter.buffer.get() == old && parameter.buffer != result_)
          parameter.buffer = buffer, result.constants[buffer->name] = buffer->shape;
      for (Buffer& allocation : result.program.allocations)
        if (allocation.get() == old) allocation = buffer;
    }
    result.program.body =
        rewrite_stmt(replace_buffers(program_.body, grown_), [&](const Stmt& stmt) { return extended(stmt); });
    if (copied_) {
      result.program.allocations.push_back(copy_);
      result.program.body = sequence({pad_nest(), result.program.body});
    }
    if (result_) {
      const Buffer sums = grown_.at(result_.get());
      result.program.allocations.push_back(sums);
      result.program.body = sequence(
          {result.program.body, nest(kResult, result_, [&](const std::vector<Expr>& at) { return load(sums, at); })});
    }
    return result;
  }

 private:
  bool extend_iterators() {
    for (std::size_t i = 0; i < main_.iterators.size(); ++i) {
      const Iterator& iterator = main_.iterators[i];
      bounds_[iterator.var.get()] = {0, extent_of(i) - 1};
      if (extent_of(i) == iterator.extent) continue;
      const VarNode* loop = plain(iterator.binding);
      if (loop == nullptr || extent_of(i) < iterator.extent) return false;
      loops_[loop] = extent_of(i);
      if (iterator.kind == IterKind::reduce) summed_.push_back(iterator.var);
    }
    return true;
  }

  std::int64_t extent_of(std::size_t iterator) const {
    const auto it = extents_.find(iterator);
    return it == extents_.end() ? main_.iterators[iterator].extent : it->second;
  }

  bool grow_buffers() {
    bool bounded = true;
    std::map<Buffer, Shape> shapes;
    const std::set<Buffer> factors = bare_factors();
    const auto touch = [&](const Buffer& buffer, const std::vector<Expr>& indices) {
      Shape& shape = shapes.emplace(buffer, buffer->shape).first->second;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        const auto range = bound(indices[d], bounds_);
        bounded = bounded && range;
        if (range) shape[d] = std::max(shape[d], range->max + 1);
        if (is_constant(buffer) && factors.contains(buffer))
          std::erase_if(summed_, [&](const Var& var) { return schedule::mentions(indices[d], var); });
      }
    };
    const StoreTarget& target = std::get<Store>(main_.body->node).targets[0];
    touch(target.buffer, target.indices);
    visit_exprs(main_.body, [&](const Expr& e) {
      if (const auto* n = std::get_if<LoadExpr>(&e->node)) touch(n->buffer, n->indices);
    });
    for (const auto& [buffer, shape] : shapes)
      if (shape != buffer->shape && !grow(buffer, shape, buffer == target.buffer)) return false;
    return bounded && summed_.empty();
  }

  // Buffers whose elements, possibly converted, are factors of the summed products: if such an element is zero, so is
  // the product. An element from which a zero point is subtracted does not qualify.
  std::set<Buffer> bare_factors() const {
    const auto* sum = std::get_if<Binary>(&std::get<Store>(main_.body->node).targets[0].value->node);
    const auto* product = sum != nullptr && sum->op == BinaryOp::add ? std::get_if<Binary>(&sum->b->node) : nullptr;
    std::set<Buffer> factors;
    if (product == nullptr || product->op != BinaryOp::mul) return factors;
    for (const Expr& factor : {product->a, product->b}) {
      const auto* converted = std::get_if<Cast>(&factor->node);
      const auto* load = std::get_if<LoadExpr>(&(converted != nullptr ? converted->a : factor)->node);
      if (load != nullptr) factors.insert(load->buffer);
    }
    return factors;
  }

  bool grow(const Buffer& buffer, const Shape& shape, bool is_result) {
    const bool parameter =
        std::ranges::any_of(program_.parameters, [&](const Parameter& p) { return p.buffer == buffer; });
    if (is_result && parameter) {
      if (find(program_, kResult) != nullptr) return false;
      result_ = buffer;
      grown_[buffer.get()] = make_buffer("sums", buffer->dtype, shape);
      return true;
    }
    const Block* pad = find(program_, kPad);
    const Block* padded = nullptr;
    for (const Block* block : {pad, find(program_, kShifted)})
      if (block != nullptr && block->writes.front().buffer == buffer) padded = block;
    if (!is_result && padded == nullptr && !is_constant(buffer)) {
      if (pad != nullptr) return false;
      copied_ = buffer;
      copy_ = make_buffer(kPad, buffer->dtype, shape);
      return true;
    }
    grown_[buffer.get()] = make_buffer(buffer->name, buffer->dtype, shape, buffer->scope);
    return padded == nullptr || extend_pad(*padded, shape);
  }

  bool is_constant(const Buffer& buffer) const {
    return std::ranges::any_of(program_.parameters, [&](const Parameter& p) {
      return p.buffer == buffer && p.role == ParameterRole::constant;
    });
  }

  // The block writes each element with separate iterators.
  bool extend_pad(const Block& pad, const Shape& shape) {
    const StoreTarget& target = std::get<Store>(pad.body->node).targets[0];
    padding_ = pad.name;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == target.buffer->shape[d]) continue;
      const VarNode* iterator = plain(target.indices[d]);
      const auto at = std::ranges::find_if(pad.iterators, [&](const Iterator& i) { return i.var.get() == iterator; });
      const VarNode* loop = at == pad.iterators.end() ? nullptr : plain(at->binding);
      if (loop == nullptr) return false;
      loops_[loop] = shape[d];
      pad_extents_[static_cast<std::size_t>(at - pad.iterators.begin())] = shape[d];
    }
    return true;
  }

  Stmt extended(const Stmt& stmt) const {
    if (const auto* loop = std::get_if<For>(&stmt->node); loop != nullptr && loops_.contains(loop->var.get())) {
      For longer = *loop;
      longer.extent = loops_.at(loop->var.get());
      return make_stmt(std::move(longer));
    }
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr) return stmt;
    if (block->name == main_.name) return extended_main(*block);
    return block->name == padding_ ? extended_pad(*block) : stmt;
  }

  Stmt extended_main(Block block) const {
    for (std::size_t i = 0; i < block.iterators.size(); ++i) block.iterators[i].extent = extent_of(i);
    if (copied_)
      block.body = rewrite_stmt(block.body, {}, [&](const Expr& e) -> Expr {
        const auto* n = std::get_if<LoadExpr>(&e->node);
        return n != nullptr && n->buffer == copied_ ? load(copy_, n->indices) : e;
      });
    return make_stmt(schedule::with_inferred_regions(std::move(block)));
  }

  Stmt extended_pad(Block block) const {
    const StoreTarget target = std::get<Store>(block.body->node).targets[0];
    Expr value = target.value;
    for (const auto& [position, extent] : pad_extents_) {
      Iterator& iterator = block.iterators[position];
      value = select(binary(BinaryOp::lt, ref(iterator.var), int_imm(iterator.extent)), value,
                     int_imm(0, target.buffer->dtype));
      iterator.extent = extent;
    }
    block.body = store(target.buffer, target.indices, value);
    return make_stmt(schedule::with_inferred_regions(std::move(block)));
  }

  Stmt pad_nest() const {
    return nest(kPad, copy_, [&](const std::vector<Expr>& at) {
      Expr value = load(copied_, at);
      for (std::size_t d = 0; d < at.size(); ++d)
        if (copy_->shape[d] != copied_->shape[d])
          value = select(binary(BinaryOp::lt, at[d], int_imm(copied_->shape[d])), value, int_imm(0, copy_->dtype));
      return value;
    });
  }

  // Writes each element of the buffer.
  static Stmt nest(const std::string& name, const Buffer& to,
                   const std::function<Expr(const std::vector<Expr>&)>& value) {
    constexpr std::array<const char*, 4> kImage{"n", "c", "y", "x"};  // the names that the operator's padding uses
    Block block;
    block.name = name;
    std::vector<Expr> at;
    std::vector<Var> loops;
    const std::size_t rank = to->shape.size();
    for (std::size_t d = 0; d < rank; ++d) {
      const std::string axis = rank == kImage.size() ? kImage[d] : fmt::format("{}", d);
      loops.push_back(make_var(fmt::format("{}.{}", name, axis)));
      const Var iterator = make_var(fmt::format("i{}", d));
      block.iterators.push_back({iterator, to->shape[d], IterKind::spatial, ref(loops.back())});
      at.push_back(ref(iterator));
    }
    block.body = store(to, at, value(at));
    Stmt stmt = make_stmt(schedule::with_inferred_regions(std::move(block)));
    for (std::size_t d = rank; d-- > 0;)
      stmt = make_stmt(For{loops[d], to->shape[d], ForKind::serial, "", {}, std::move(stmt)});
    return stmt;
  }

  const Program& program_;
  const Block& main_;
  const Extents& extents_;
  Bounds bounds_;                                 // of the block's iterators, after extension
  std::map<const VarNode*, std::int64_t> loops_;  // new extents
  std::vector<Var> summed_;  // extended reduction iterators not yet found in the index of a bare constant
  BufferMap grown_;
  std::string padding_;  // the block whose result grows, by pad_extents_
  Extents pad_extents_;
  Buffer copied_, copy_;  // copied by a new block
  Buffer result_;         // of the program, to which a new block copies the sums
};

}  // namespace

std::optional<ExtendedProduct> extend_product(const Program& program, const std::string& main, const Extents& extents) {
  const Block* block = find(program, main);
  if (block == nullptr || !std::holds_alternative<Store>(block->body->node)) return std::nullopt;
  return Extension(program, *block, extents).extend();
}

}  // namespace dovetail::cpu
