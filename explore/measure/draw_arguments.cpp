#include "explore/measure/draw_arguments.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "base/random.h"
#include "loops/integer.h"
#include "loops/range.h"
#include "loops/rewrite.h"

namespace dovetail::explore {

using namespace loops;

namespace {

// The constraints that the program puts on the values of a parameter's elements.
struct Need {
  bool positive = false;
  bool scale = false;                     // a scale of requantize
  std::optional<std::int64_t> most = {};  // integers from 0 to this
};

class Needs {
 public:
  explicit Needs(const Program& program) {
    visit_exprs(program.body, [&](const Expr& e) { learn(*e); });
    visit_stmts(program.body, [&](const Stmt& stmt) {
      if (const auto* store = std::get_if<Store>(&stmt->node))
        for (const StoreTarget& target : store->targets) learn_indices(target.buffer, target.indices);
    });
  }
  const Need& of(const Buffer& parameter) { return needs_[parameter.get()]; }

 private:
  void learn(const ExprNode& node) {
    if (const auto* load = std::get_if<LoadExpr>(&node.node)) learn_indices(load->buffer, load->indices);
    if (const auto* one = std::get_if<Unary>(&node.node))
      if (one->op == UnaryOp::sqrt || one->op == UnaryOp::rsqrt || one->op == UnaryOp::log)
        each_part(one->a, [](Need& need) { need.positive = true; });
    if (const auto* call = std::get_if<Call>(&node.node); call != nullptr && call->function == Function::requantize)
      each_part(call->arguments[1], [](Need& need) { need.scale = true; });
    if (const auto* two = std::get_if<Binary>(&node.node)) {
      const auto is = [&](auto... ops) { return ((two->op == ops) || ...); };
      if (is(BinaryOp::div, BinaryOp::mod, BinaryOp::floor_div, BinaryOp::floor_mod))
        each_part(two->b, [](Need& need) { need.positive = true; });
      if (is(BinaryOp::pow)) each_part(two->a, [](Need& need) { need.positive = true; });
      if (is(BinaryOp::shl, BinaryOp::shr))
        each_part(two->b, [&](Need& need) { need.most = std::int64_t{8} * size_bytes(node.dtype) - 1; });
    }
  }

  // Visits the constraints of all elements that are summands or factors of `expr`, or of the one element that `expr`
  // is.
  void each_part(const Expr& expr, const std::function<void(Need&)>& visit) {
    if (const auto* load = std::get_if<LoadExpr>(&expr->node)) visit(needs_[load->buffer.get()]);
    if (const auto* cast = std::get_if<Cast>(&expr->node)) each_part(cast->a, visit);
    if (const auto* two = std::get_if<Binary>(&expr->node))
      if (two->op == BinaryOp::add || two->op == BinaryOp::mul || two->op == BinaryOp::min || two->op == BinaryOp::max)
        each_part(two->a, visit), each_part(two->b, visit);
  }

  void learn_indices(const Buffer& buffer, const std::vector<Expr>& indices) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      std::vector<Buffer> read;
      visit_exprs(indices[d], [&](const Expr& e) {
        if (const auto* load = std::get_if<LoadExpr>(&e->node)) read.push_back(load->buffer);
      });
      const std::int64_t last = buffer->shape[d] - 1;
      if (read.empty() || range_of(indices[d], {}).within(0, last)) continue;  // any value of the type is valid
      for (const Buffer& from : read) {
        Need& need = needs_[from.get()];
        need.most = std::min(need.most.value_or(last), last);
      }
    }
  }

  std::map<const BufferNode*, Need> needs_;
};

// The size of the program's int32 sums: their standard deviation for bytes over the full range. nullopt if the program
// has no such sums and no requantize.
std::optional<double> size_of_sums(const Program& program) {
  constexpr double kByte = 74;  // 256 / sqrt(12)
  double terms = 0;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr || !block->init || block->writes.front().buffer->dtype != DType::int32) return;
    double own = 1;
    for (const Iterator& iterator : block->iterators)
      if (iterator.kind == IterKind::reduce) own *= static_cast<double>(iterator.extent);
    terms = std::max(terms, own);
  });
  bool products = false, requantizes = false;
  visit_exprs(program.body, [&](const Expr& e) {
    const auto* two = std::get_if<Binary>(&e->node);
    products |= two != nullptr && two->op == BinaryOp::mul && e->dtype == DType::int32 &&
                !std::holds_alternative<IntImm>(two->a->node) && !std::holds_alternative<IntImm>(two->b->node);
    requantizes |= std::holds_alternative<Call>(e->node);
  });
  if (terms == 0 && !requantizes) return std::nullopt;
  return std::sqrt(std::max(terms, 1.0)) * (products ? kByte * kByte : kByte);
}

class DrawnValues {
 public:
  explicit DrawnValues(std::uint64_t seed) : random_(seed) {}

  double real(double least, double most) {
    return least + (most - least) * static_cast<double>(random_.next() >> 11) * 0x1p-53;
  }
  std::int64_t integer(std::int64_t least, std::int64_t most) {
    const auto range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) + 1;  // 0: 2^64
    const std::uint64_t draw = random_.next();
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + (range == 0 ? draw : draw % range));
  }

 private:
  SplitMix64 random_;
};

}  // namespace

std::vector<NdArray> draw_arguments(const Program& program, std::uint64_t seed) {
  constexpr double kResult = 64;  // a typical result of requantize
  Needs needs(program);
  const std::optional<double> sums = size_of_sums(program);
  DrawnValues drawing(seed);
  std::vector<NdArray> arguments;
  for (const Parameter& parameter : program.parameters) {
    if (parameter.role == ParameterRole::output) continue;
    const DType dtype = parameter.buffer->dtype;
    const Need& need = needs.of(parameter.buffer);
    NdArray& array = arguments.emplace_back(dtype, parameter.buffer->shape);
    if (is_floating(dtype)) {
      for (std::int64_t i = 0; i < array.count(); ++i)
        array.set_double(i, need.scale      ? kResult / *sums * std::exp2(drawing.real(-1, 1))
                            : need.positive ? drawing.real(1.0 / 16, 1)
                                            : drawing.real(-1, 1));
      continue;
    }
    std::int64_t least = type_min(dtype), most = type_max(dtype);
    if (dtype == DType::int32 && sums) least = -std::llround(2 * *sums), most = std::llround(2 * *sums);
    if (need.most) least = 0, most = std::min(most, *need.most);
    if (need.positive) least = std::min<std::int64_t>(1, most);
    for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, drawing.integer(least, most));
  }
  return arguments;
}

}  // namespace dovetail::explore
