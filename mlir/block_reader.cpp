#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "loops/combine.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"
#include "loops/verify.h"
#include "mlir/function_reader.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

std::optional<IterKind> iterator_kind(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(IterKind::ordered); ++i)
    if (name(static_cast<IterKind>(i)) == text) return static_cast<IterKind>(i);
  return std::nullopt;
}

}  // namespace

// ---- Blocks that are marked

Stmt FunctionReader::block(const Operation& op) {
  const Names names(*this);
  Block block;
  block.name = std::string(op.text("dovetail.block").value_or("block"));
  block_names_.insert(block.name);
  block.annotations = annotations_of(op);
  const std::vector<Operation>& body = op.regions.front().body;
  std::size_t at = 0;
  for (; at < body.size(); ++at) {
    if (body[at].find("dovetail.iterator") != nullptr) iterator(body[at], block);
    else if (body[at].find("dovetail.where") != nullptr || !define(body[at])) break;
  }
  const bool outermost = !std::exchange(in_block_, true);
  const auto where = std::find_if(body.begin() + static_cast<std::ptrdiff_t>(at), body.end(),
                                  [](const Operation& each) { return each.find("dovetail.where") != nullptr; });
  if (where != body.end() && where == body.begin() + static_cast<std::ptrdiff_t>(at) && !where->regions.empty()) {
    block.predicate = condition_of(*where);
    const Names inner(*this);
    guarded(where->regions.front().body, 0, block);
    for (auto rest = where + 1; rest != body.end(); ++rest)
      if (!rest->name.ends_with(".yield"))
        fail(rest->at, "an operation after the condition of a block", "move it before the condition, or into it");
  } else {
    guarded(body, at, block);
  }
  if (outermost) in_block_ = false;
  declared_regions(op, block);
  return make_stmt(std::move(block));
}

void FunctionReader::iterator(const Operation& op, Block& block) {
  Iterator result;
  const auto kind = iterator_kind(op.text("dovetail.iterator").value_or(""));
  const Attribute* extent = op.find("dovetail.extent");
  if (!kind || extent == nullptr || extent->kind != Attribute::Kind::integer || op.results.size() != 1)
    fail(op.at, "the iterator has no kind (spatial, reduce, ordered) or no dovetail.extent", "give both");
  result.kind = *kind;
  result.extent = extent->integer;
  const auto type = op.text("dovetail.type");
  const DType dtype = type ? dtype_from_name(*type).value_or(DType::int64) : DType::int64;
  if (!is_integer(dtype)) fail(op.at, "the iterator is not an integer", "correct dovetail.type");
  result.var = make_var(std::string(op.text("dovetail.name").value_or(op.results.front())), dtype);
  if (op.name == "affine.apply") {
    const Attribute* map = op.find("map");
    if (map == nullptr || map->map.results.size() != 1 || map->map.dims + map->map.symbols > op.operands.size())
      fail(op.at, "the operation has no map with one result", "write affine_map<...>");
    const Attribute* text = op.find("dovetail.binding");
    result.binding = exact(text == nullptr ? nullptr : &text->text, applied(op, map->map.results.front(), 0));
  } else if (op.name == "arith.index_cast") {
    result.binding = index(op, 0);
  } else {
    fail(op.at, fmt::format("{} binds an iterator", op.name), "use affine.apply or arith.index_cast");
  }
  if (result.binding->dtype != dtype) result.binding = loops::cast(dtype, result.binding);
  values_[op.results.front()].push_back({.expr = ref(result.var)});
  names_.back().push_back(op.results.front());
  visible_.push_back(result.var);
  block.iterators.push_back(std::move(result));
}

// Whether the operation runs where all reduce iterators are 0.
bool FunctionReader::is_init(const Operation& op, const Block& block) {
  if (op.find("dovetail.init") == nullptr || op.regions.empty()) return false;
  Expr first;
  for (const Iterator& iterator : block.iterators) {
    if (iterator.kind != IterKind::reduce) continue;
    const Expr zero = binary(BinaryOp::eq, ref(iterator.var), int_imm(0, iterator.var->dtype));
    first = first ? logical_and(first, zero) : zero;
  }
  if (op.name == "scf.execute_region") return !first;
  if (!first || (op.name != "scf.if" && op.name != "affine.if") || !op.results.empty()) return false;
  if (op.regions.size() > 1 && !op.regions[1].body.empty()) return false;
  return same_value(first, condition_of(op));
}

void FunctionReader::guarded(const std::vector<Operation>& body, std::size_t from, Block& block) {
  std::size_t at = from;
  while (at < body.size() && body[at].find("dovetail.init") == nullptr && define(body[at])) ++at;
  if (at < body.size() && is_init(body[at], block)) {
    block.init = body_of(body[at].regions.front());
    ++at;
  }
  block.body = joined_statements(statements(body, at));
}

void FunctionReader::declared_regions(const Operation& op, Block& block) {
  BlockRegions inferred = infer_regions(block, intrinsics_);
  block.reads = std::move(inferred.reads);
  block.writes = std::move(inferred.writes);
  VisibleNames names{visible_, buffers_};
  const auto take = [&](std::string_view attribute, std::vector<Region>& regions) {
    const auto text = op.text(attribute);
    if (!text) return;
    if (text->empty()) {
      regions.clear();
    } else if (auto parsed = parse_regions(*text, where_, names); parsed.ok()) {
      regions = *std::move(parsed);
    }
  };
  take("dovetail.reads", block.reads);
  take("dovetail.writes", block.writes);
}

// ---- Stores

StoreTarget FunctionReader::target(const Operation& op) {
  const Buffer buffer = memref(op, 1);
  if (op.name == "affine.vector_store" && !in_lanes_)
    fail(op.at, "a vector is stored outside a loop of kind \"vectorized\"",
         "store elements, or mark the loop by dovetail.kind = \"vectorized\" with its extent as the step");
  std::vector<Expr> indices = indices_of(op, 2, buffer);
  Expr value = expr(op, 0);
  if (value->dtype != buffer->dtype) {
    const bool integers = is_integer(value->dtype) && is_integer(buffer->dtype);
    if (!integers || size_bytes(value->dtype) != size_bytes(buffer->dtype))
      fail(op.at,
           fmt::format("a value of type {} is stored to {} of type {}", name(value->dtype), buffer->name,
                       name(buffer->dtype)),
           "convert the value");
    value = loops::cast(buffer->dtype, value);
  }
  return {buffer, std::move(indices), std::move(value)};
}

Stmt FunctionReader::store(const std::vector<Operation>& body, std::size_t& at) {
  const Operation& first = body[at];
  std::size_t count = 1;
  if (const Attribute* tuple = first.find("dovetail.tuple"); tuple != nullptr && tuple->integer > 1)
    count = static_cast<std::size_t>(std::min<std::int64_t>(tuple->integer, 64));
  Store result;
  for (std::size_t i = 0; i < count; ++i) {
    if (at + i >= body.size() || !body[at + i].name.ends_with("store"))
      fail(first.at, fmt::format("dovetail.tuple announces {} stores, and {} follow", count, i), "correct the number");
    result.targets.push_back(target(body[at + i]));
  }
  at += count - 1;
  for (const StoreTarget& each : result.targets) {
    check_current(first, each.value);
    for (const Expr& index : each.indices) check_current(first, index);
  }
  ++time_;
  for (const StoreTarget& each : result.targets) last_write_[each.buffer.get()] = time_;
  return in_block_ ? make_stmt(std::move(result)) : wrapped(std::move(result));
}

// The kinds of the loops around a store as iterators of a block. Loops that choose the stored element are spatial if
// no element is stored twice by them; the others are reduce loops of an accumulation, and otherwise run in order.
std::vector<IterKind> FunctionReader::kinds_of(const Store& store) const {
  const std::vector<IterKind> in_order(loops_.size(), IterKind::ordered);
  const StoreTarget& target = store.targets.front();
  if (store.targets.size() != 1) return in_order;
  bool elsewhere = false;
  visit_exprs(target.value, [&](const Expr& e) {
    const auto* n = std::get_if<LoadExpr>(&e->node);
    if (n == nullptr || n->buffer != target.buffer) return;
    for (std::size_t i = 0; i < n->indices.size(); ++i)
      elsewhere |= !structurally_equal(n->indices[i], target.indices[i]);
  });
  if (elsewhere) return in_order;
  std::map<const VarNode*, std::int64_t> extents;
  for (const Loop& loop : loops_) extents[loop.var.get()] = loop.extent;
  std::set<const VarNode*> spatial;
  for (const Expr& index : target.indices) {
    if (index->dtype != DType::int64) return in_order;
    std::vector<std::pair<std::int64_t, const VarNode*>> terms;
    for (const LinearTerm& term : linear_form(simplify(index)).terms) {
      const auto* n = std::get_if<VarRef>(&term.atom->node);
      if (n == nullptr || !extents.contains(n->var.get()) || !spatial.insert(n->var.get()).second) return in_order;
      terms.emplace_back(std::abs(term.coefficient), n->var.get());
    }
    std::ranges::sort(terms);
    std::int64_t reach = 0;  // of the smaller terms together
    for (const auto& [step, var] : terms) {
      if (step <= reach) return in_order;
      reach += step * (std::max<std::int64_t>(extents[var], 1) - 1);
    }
  }
  const bool accumulates = combine_of(store.targets).has_value();
  std::vector<IterKind> kinds;
  for (const Loop& loop : loops_)
    kinds.push_back(spatial.contains(loop.var.get()) ? IterKind::spatial
                    : accumulates                    ? IterKind::reduce
                                                     : IterKind::ordered);
  return kinds;
}

// A block around the store, whose iterators are the loops around it.
Stmt FunctionReader::wrapped(Store store) {
  std::vector<IterKind> kinds = kinds_of(store);
  const std::string name = store.targets.front().buffer->name;
  return in_block(std::move(store), loops_, std::move(kinds), name);
}

Stmt FunctionReader::in_block(Store store, const std::vector<Loop>& own, std::vector<IterKind> own_kinds,
                              const std::string& name) {
  Block block;
  block.name = unique_name(name, block_names_);
  VarMap inner;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Loop& loop = own[i];
    const Var var = make_var(fmt::format("{}.{}", block.name, loop.var->name), loop.var->dtype);
    inner[loop.var.get()] = ref(var);
    block.iterators.push_back({var, loop.extent, own_kinds[i], ref(loop.var)});
  }
  block.body = substitute(make_stmt(std::move(store)), inner);
  for (const Expr& condition : conditions_) {
    const Expr own = substitute(condition, inner);
    block.predicate = block.predicate ? logical_and(block.predicate, own) : own;
  }
  BlockRegions regions = infer_regions(block, intrinsics_);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  return make_stmt(std::move(block));
}

// ---- Calls of intrinsics

// The view of a memref that an intrinsic gets, and conversions of its type.
FunctionReader::Value FunctionReader::view(const Operation& op) {
  if (op.operands.empty()) fail(op.at, "the operation has no operand", "give a memref");
  if (op.name == "memref.cast") return find(op.operands[0]);
  IntrinsicOperand operand;
  operand.buffer = memref(op, 0);
  const Attribute *indices = op.find("dovetail.indices"), *steps = op.find("dovetail.steps");
  if (indices == nullptr || steps == nullptr || op.operands.size() < 2 ||
      indices->elements.size() != operand.buffer->shape.size())
    fail(op.at, "the view is not an operand of an intrinsic", "use the memref itself with affine indices");
  Expr offset = int_imm(0);
  std::int64_t stride = 1;
  std::vector<std::int64_t> strides(operand.buffer->shape.size(), 1);
  for (std::size_t dim = strides.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= operand.buffer->shape[dim];
  }
  for (std::size_t dim = 0; dim < strides.size(); ++dim) {
    auto parsed = parse_expression(indices->elements[dim].text, where_, {visible_, buffers_}, DType::int64);
    if (!parsed.ok()) {
      errors_ = parsed.errors();
      throw Stop{};
    }
    operand.indices.push_back(*parsed);
    offset = offset + *parsed * strides[dim];
  }
  if (!same_value(offset, loops::cast(DType::int64, index(op, 1))))
    fail(op.at, "the offset is not that of dovetail.indices", "change both");
  for (const Attribute& axis : steps->elements) {
    operand.steps.emplace_back();
    for (const Attribute& step : axis.elements) operand.steps.back().push_back(step.integer);
  }
  return {.view = std::move(operand)};
}

Stmt FunctionReader::call(const Operation& op) {
  const auto name = op.text("dovetail.intrinsic");
  const Attribute* callee = op.find("callee");
  if (!name)
    fail(op.at,
         fmt::format("@{} is called, and functions are not read into their callers",
                     callee == nullptr ? "?" : callee->text),
         "inline it, for example by mlir-opt --inline");
  if (!in_block_) fail(op.at, "an intrinsic is called outside a block", "call it in a block");
  IntrinsicCall result{std::string(*name), {}, {}};
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Value& value = find(op.operands[i]);
    if (value.view) result.operands.push_back(*value.view);
    else result.immediates.push_back(expr(op, i));
  }
  ++time_;
  for (const IntrinsicOperand& operand : result.operands) last_write_[operand.buffer.get()] = time_;
  return make_stmt(std::move(result));
}

}  // namespace dovetail::mlir
