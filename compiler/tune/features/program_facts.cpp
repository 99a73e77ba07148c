#include "compiler/tune/features/program_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "loops/rewrite.h"
#include "loops/sharing.h"

namespace dovetail::tune {

using namespace loops;

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

std::optional<Operation> operation_of(const Expr& expr) {
  if (std::holds_alternative<Cast>(expr->node)) return Operation::cast;
  if (std::holds_alternative<Select>(expr->node)) return Operation::select;
  if (std::holds_alternative<Call>(expr->node)) return Operation::requantize;
  if (const auto* n = std::get_if<Unary>(&expr->node)) {
    const bool floating = is_floating(n->a->dtype);
    if (n->op == UnaryOp::neg || n->op == UnaryOp::abs || n->op == UnaryOp::sign)
      return floating ? Operation::float_add : Operation::integer_add;
    return floating ? Operation::float_function : Operation::integer_bits;
  }
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr) return std::nullopt;
  const bool floating = is_floating(n->a->dtype);
  switch (n->op) {
    case BinaryOp::add:
    case BinaryOp::sub: return floating ? Operation::float_add : Operation::integer_add;
    case BinaryOp::mul: return floating ? Operation::float_multiply : Operation::integer_multiply;
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::floor_div:
    case BinaryOp::floor_mod: return floating ? Operation::float_divide : Operation::integer_divide;
    case BinaryOp::pow: return Operation::float_function;
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge: return floating ? Operation::float_order : Operation::integer_order;
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: return Operation::integer_bits;
  }
  return std::nullopt;
}

std::optional<double> literal(const Expr& expr) {
  const auto* n = std::get_if<IntImm>(&expr->node);
  return n ? std::optional(static_cast<double>(n->value)) : std::nullopt;
}

class FactsWalk {
 public:
  FactsWalk(const Program& program, const IntrinsicTable& intrinsics) : intrinsics_(intrinsics) {
    for (const Parameter& parameter : program.parameters)
      places_[parameter.buffer.get()] = parameter.role == ParameterRole::input      ? Place::input
                                        : parameter.role == ParameterRole::constant ? Place::constant
                                                                                    : Place::output;
    walk(program.body);
    for (BlockFact& block : facts_.blocks)
      while (block.own < block.loops.size() && facts_.loops[block.loops[block.own]].blocks > 1) ++block.own;
  }
  ProgramFacts&& take() { return std::move(facts_); }

 private:
  Place place_of(const BufferNode& buffer) const {
    if (const auto parameter = places_.find(&buffer); parameter != places_.end()) return parameter->second;
    if (buffer.scope == "global") return Place::temporary;
    return buffer.scope == "register" ? Place::registers : Place::on_chip;
  }

  void walk(const Stmt& stmt) {
    if (!stmt) return;
    if (const auto* loop = std::get_if<For>(&stmt->node)) {
      facts_.loops.push_back({loop, times_});
      around_.push_back(facts_.loops.size() - 1);
      forms_[loop->var.get()] = unit(around_.size() - 1);
      times_ *= static_cast<double>(loop->extent);
      walk(loop->body);
      times_ = facts_.loops[around_.back()].entered;
      around_.pop_back();
    } else if (const auto* condition = std::get_if<If>(&stmt->node)) {
      ++conditions_;
      walk(condition->then_body);
      walk(condition->else_body);
      --conditions_;
    } else if (const auto* all = std::get_if<Sequence>(&stmt->node)) {
      for (const Stmt& each : all->body) walk(each);
    } else if (const auto* block = std::get_if<Block>(&stmt->node)) {
      walk_block(*block);
    } else if (const auto* assignment = std::get_if<Store>(&stmt->node)) {
      for (const StoreTarget& target : assignment->targets) add_store(target);
    } else if (const auto* call = std::get_if<IntrinsicCall>(&stmt->node)) {
      add_call(*call);
    }
  }

  void walk_block(const Block& block) {
    for (const Iterator& iterator : block.iterators) forms_[iterator.var.get()] = form(iterator.binding);
    if (!block_)
      for (const std::size_t loop : around_) ++facts_.loops[loop].blocks;
    const std::size_t index = facts_.blocks.size();
    facts_.blocks.push_back({&block, around_});
    facts_.blocks[index].times = times_;
    facts_.blocks[index].conditional = conditions_ > 0 || block.predicate != nullptr;
    facts_.blocks[index].first_access = facts_.accesses.size();
    const std::optional<std::size_t> outside = std::exchange(block_, index);
    walk(block.body);
    if (block.init) walk_init(block);
    block_ = outside;
    facts_.blocks[index].last_access = facts_.accesses.size();
  }

  // The init part runs only at the first point of the reduction.
  void walk_init(const Block& block) {
    double reductions = 1;
    for (std::size_t position = 0; position < around_.size(); ++position)
      for (const Iterator& iterator : block.iterators)
        if (iterator.kind == IterKind::reduce && forms_[iterator.var.get()].coefficients.size() > position &&
            forms_[iterator.var.get()].coefficients[position] != 0) {
          reductions *= static_cast<double>(facts_.loops[around_[position]].loop->extent);
          break;
        }
    const double all = std::exchange(times_, times_ / reductions);
    const OperationCounts operations = facts_.blocks[*block_].operations;
    walk(block.init);
    facts_.blocks[*block_].operations = operations;  // of the body only
    times_ = all;
  }

  void add_access(const Buffer& buffer, const std::vector<Expr>& indices, bool write, std::vector<std::int64_t> box) {
    AccessFact access{buffer.get(), place_of(*buffer), write, around_, {}, std::move(box), times_};
    for (const Expr& index : indices) access.indices.push_back(form(index));
    access.box.resize(indices.size(), 1);
    facts_.accesses.push_back(std::move(access));
  }

  void add_store(const StoreTarget& target) {
    add_access(target.buffer, target.indices, true, {});
    Seen seen;
    add_value(target.value, seen);
  }

  // Loads and operations of a value, each counted once, however often it is referenced.
  void add_value(const Expr& expr, Seen& seen) {
    if (seen.again(expr)) return;
    if (const auto* access = std::get_if<LoadExpr>(&expr->node)) {
      add_access(access->buffer, access->indices, false, {});
      for (const Expr& index : access->indices)  // a gather loads its index
        visit_exprs(index, [&](const Expr& e) {
          if (const auto* inner = std::get_if<LoadExpr>(&e->node)) add_access(inner->buffer, inner->indices, false, {});
        });
      return;
    }
    if (const auto operation = operation_of(expr); operation && block_)
      facts_.blocks[*block_].operations[static_cast<std::size_t>(*operation)] += 1;
    each_operand(expr, [&](const Expr& operand) { add_value(operand, seen); });
  }

  void add_call(const IntrinsicCall& call) {
    double work = 1;
    if (const Intrinsic* intrinsic = find_intrinsic(intrinsics_, call.intrinsic))
      visit_stmts(intrinsic->semantics.body, [&](const Stmt& stmt) {
        if (const auto* loop = std::get_if<For>(&stmt->node)) work *= static_cast<double>(loop->extent);
      });
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const IntrinsicOperand& operand = call.operands[i];
      add_access(operand.buffer, operand.indices, i == 0, operand.extents);
    }
    if (!block_) return;
    BlockFact& block = facts_.blocks[*block_];
    block.work_of_call = (block.work_of_call * block.calls + work) / (block.calls + 1);
    block.calls += 1;
  }

  // ---- Index forms

  IndexForm none() const { return {std::vector<double>(around_.size(), 0.0), kUnbounded}; }
  IndexForm unit(std::size_t position) const {
    IndexForm result = none();
    result.coefficients.resize(around_.size(), 0.0);
    result.coefficients[position] = 1;
    return result;
  }
  IndexForm form(const Expr& expr) {
    SharedResults<IndexForm> results;
    return form(expr, results);
  }

  IndexForm form(const Expr& expr, SharedResults<IndexForm>& results) {
    return results.of(expr, [&](const Expr& e) -> IndexForm {
      if (const auto* n = std::get_if<VarRef>(&e->node)) {
        const auto known = forms_.find(n->var.get());
        if (known == forms_.end()) return none();
        IndexForm result = known->second;
        result.coefficients.resize(around_.size(), 0.0);
        return result;
      }
      if (const auto* n = std::get_if<Binary>(&e->node)) return binary_form(*n, results);
      if (const auto* n = std::get_if<Unary>(&e->node)) return form(n->a, results);  // distances are unsigned
      if (const auto* n = std::get_if<Cast>(&e->node)) return form(n->a, results);
      IndexForm result = none();
      const bool loads = std::holds_alternative<LoadExpr>(e->node);
      each_operand(e, [&](const Expr& operand) { result = merged(result, form(operand, results)); });
      if (loads)  // no bound on the distance
        for (double& coefficient : result.coefficients) coefficient = coefficient != 0 ? 1 : 0;
      return result;
    });
  }

  IndexForm binary_form(const Binary& n, SharedResults<IndexForm>& results) {
    const IndexForm a = form(n.a, results);
    const auto right = literal(n.b), left = literal(n.a);
    if (n.op == BinaryOp::mul && right) return scaled(a, *right);
    if (n.op == BinaryOp::mul && left) return scaled(form(n.b, results), *left);
    if ((n.op == BinaryOp::floor_div || n.op == BinaryOp::div) && right && *right != 0) return scaled(a, 1 / *right);
    if ((n.op == BinaryOp::floor_mod || n.op == BinaryOp::mod) && right && *right != 0) {
      IndexForm result = a;
      for (double& coefficient : result.coefficients)
        if (std::fmod(coefficient, *right) == 0) coefficient = 0;
      result.at_most = std::min(a.at_most, std::abs(*right));
      return result;
    }
    const IndexForm b = form(n.b, results);
    if (n.op != BinaryOp::add && n.op != BinaryOp::sub) return merged(a, b);
    IndexForm sum = a;
    for (std::size_t i = 0; i < sum.coefficients.size(); ++i)
      sum.coefficients[i] += n.op == BinaryOp::add ? b.coefficients[i] : -b.coefficients[i];
    sum.at_most = depends(b) ? depends(a) ? a.at_most * b.at_most : b.at_most : a.at_most;
    return sum;
  }

  static bool depends(const IndexForm& form) {
    return std::ranges::any_of(form.coefficients, [](double coefficient) { return coefficient != 0; });
  }
  static IndexForm scaled(IndexForm form, double factor) {
    for (double& coefficient : form.coefficients) coefficient *= factor;
    return form;
  }
  // Combines two forms: the result depends on every loop that either of them depends on.
  static IndexForm merged(IndexForm a, const IndexForm& b) {
    for (std::size_t i = 0; i < a.coefficients.size(); ++i)
      if (std::abs(b.coefficients[i]) > std::abs(a.coefficients[i])) a.coefficients[i] = b.coefficients[i];
    a.at_most = kUnbounded;
    return a;
  }

  const IntrinsicTable& intrinsics_;
  ProgramFacts facts_;
  std::unordered_map<const BufferNode*, Place> places_;
  std::unordered_map<const VarNode*, IndexForm> forms_;  // forms of loops and iterators
  std::vector<std::size_t> around_;
  std::optional<std::size_t> block_;
  double times_ = 1;
  int conditions_ = 0;
};

}  // namespace

ProgramFacts program_facts(const Program& program, const IntrinsicTable& intrinsics) {
  if (!program.body) return {};
  return FactsWalk(program, intrinsics).take();
}

double iterations(const ProgramFacts& facts, const std::vector<std::size_t>& loops, std::size_t from, std::size_t to) {
  double product = 1;
  for (std::size_t i = from; i < to; ++i) product *= static_cast<double>(facts.loops[loops[i]].loop->extent);
  return product;
}

double distinct(const ProgramFacts& facts, const AccessFact& access, std::size_t dimension, std::size_t from) {
  const IndexForm& index = access.indices[dimension];
  const auto box = static_cast<double>(access.box[dimension]);
  double span = box, points = box;
  for (std::size_t i = from; i < index.coefficients.size(); ++i) {
    if (index.coefficients[i] == 0) continue;
    const auto extent = static_cast<double>(facts.loops[access.loops[i]].loop->extent);
    span += std::abs(index.coefficients[i]) * (extent - 1);
    points *= extent;
  }
  const auto whole = static_cast<double>(access.buffer->shape[dimension]);
  return std::max(1.0, std::min({std::floor(span), points, index.at_most * box, whole}));
}

double distinct_bytes(const ProgramFacts& facts, const AccessFact& access, std::size_t from) {
  auto bytes = static_cast<double>(size_bytes(access.buffer->dtype));
  for (std::size_t d = 0; d < access.indices.size(); ++d) bytes *= distinct(facts, access, d, from);
  return bytes;
}

double stride(const AccessFact& access, std::size_t position) {
  double elements = 0, step = 1;
  for (std::size_t d = access.indices.size(); d-- > 0;) {
    if (position < access.indices[d].coefficients.size()) elements += step * access.indices[d].coefficients[position];
    step *= static_cast<double>(access.buffer->shape[d]);
  }
  return elements;
}

}  // namespace dovetail::tune
