#include "mlir/function_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"
#include "loops/simplify.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

std::optional<ForKind> kind_named(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(ForKind::thread); ++i)
    if (name(static_cast<ForKind>(i)) == text) return static_cast<ForKind>(i);
  return std::nullopt;
}

// Bare names of values are worth keeping; mlir-opt prints %arg0 and %0.
std::string name_of_value(const std::string& value, std::string_view fallback) {
  const bool letter = !value.empty() && !(value.front() >= '0' && value.front() <= '9');
  return letter ? value : std::string(fallback) + value;
}

// Blocks that are marked, in the operation.
bool holds_blocks(const Operation& op) {
  if (op.find("dovetail.block") != nullptr) return true;
  for (const SyntaxRegion& region : op.regions)
    for (const Operation& inner : region.body)
      if (holds_blocks(inner)) return true;
  return false;
}

bool ignored(std::string_view name) {
  return name == "memref.dealloc" || name == "scf.reduce" || name == "func.return" || name.ends_with(".yield");
}

}  // namespace

std::string FunctionReader::unique_name(std::string wish, std::set<std::string>& taken) {
  std::string candidate = wish;
  for (int number = 1; !taken.insert(candidate).second; ++number) candidate = fmt::format("{}.{}", wish, number);
  return candidate;
}

std::string FunctionReader::own_name(const Operation& op, std::string_view fallback,
                                     std::set<std::string>& taken) const {
  const auto given = op.text("dovetail.name");
  return unique_name(given ? std::string(*given) : std::string(fallback), taken);
}

Annotations FunctionReader::annotations_of(const Operation& op) const {
  Annotations result;
  if (const Attribute* given = op.find("dovetail.annotations"))
    for (const auto& [key, entry] : given->entries) result[key] = entry.text;
  return result;
}

void FunctionReader::note_written(const Operation& op) {
  const auto note = [&](std::size_t operand) {
    if (operand < op.operands.size()) written_.insert(op.operands[operand].name);
  };
  if (op.name == "affine.store" || op.name == "memref.store" || op.name == "affine.vector_store") note(1);
  if (op.name == "memref.reinterpret_cast") note(0);
  if (op.name == "linalg.generic")
    if (const Attribute* sizes = op.find("operandSegmentSizes"); sizes != nullptr && sizes->elements.size() == 2)
      for (auto i = static_cast<std::size_t>(std::max<std::int64_t>(sizes->elements[0].integer, 0));
           i < op.operands.size(); ++i)
        note(i);
  for (const SyntaxRegion& region : op.regions)
    for (const Operation& inner : region.body) note_written(inner);
}

void FunctionReader::declare(const std::string& name, const Position& at, const Type& type,
                             const Attributes& attributes, std::string_view fallback, bool allocated) {
  if (type.kind != Type::Kind::memref || !type.plain || type.index_elements ||
      std::ranges::any_of(type.shape, [](std::int64_t extent) { return extent < 0; }))
    fail(at, fmt::format("{} is not a memref of a static shape without a layout", type.text),
         "only such memrefs are read: give the shape, and numbers as memrefs of one element");
  const auto text = [&](std::string_view key) -> std::optional<std::string> {
    const auto found = attributes.find(std::string(key));
    if (found == attributes.end() || found->second.kind != Attribute::Kind::string) return std::nullopt;
    return found->second.text;
  };
  DType dtype = type.dtype;
  if (const auto named = text("dovetail.type")) {
    const auto given = dtype_from_name(*named);
    if (!given || size_bytes(*given) != size_bytes(dtype) || is_floating(*given) != is_floating(dtype))
      fail(at, fmt::format("dovetail.type = \"{}\" is not a type of {} bytes", *named, size_bytes(dtype)),
           "correct it");
    dtype = *given;
  }
  const std::string wish = text("dovetail.name").value_or(name_of_value(name, fallback));
  const Buffer buffer =
      make_buffer(unique_name(wish, buffer_names_), dtype, type.shape, text("dovetail.scope").value_or("global"));
  buffers_.push_back(buffer);
  if (written_.contains(name)) written_buffers_.insert(buffer.get());
  values_[name].push_back({.buffer = buffer});
  names_.back().push_back(name);
  if (allocated) {
    program_.allocations.push_back(buffer);
    return;
  }
  ParameterRole role = written_.contains(name) ? ParameterRole::output : ParameterRole::input;
  if (const auto given = text("dovetail.role"))
    role = *given == "output"     ? ParameterRole::output
           : *given == "constant" ? ParameterRole::constant
                                  : ParameterRole::input;
  program_.parameters.push_back({buffer, role});
}

void FunctionReader::arguments(const Operation& function) {
  const SyntaxRegion& region = function.regions.front();
  const Attribute* attributes = function.find("arg_attrs");
  for (std::size_t i = 0; i < region.arguments.size(); ++i) {
    const auto& [operand, type] = region.arguments[i];
    const bool has = attributes != nullptr && i < attributes->elements.size();
    declare(operand.name, operand.at, type, has ? attributes->elements[i].entries : Attributes{}, "arg", false);
  }
}

std::optional<Program> FunctionReader::read(const Operation& function) {
  try {
    const auto given = function.text("dovetail.program");
    const Attribute* symbol = function.find("sym_name");
    program_.name = given ? std::string(*given) : symbol == nullptr ? "main" : symbol->text;
    if (!function.result_types.empty())
      fail(function.at, "the function returns values", "write its results to memrefs that are arguments");
    note_written(function);
    names_.emplace_back();
    arguments(function);
    program_.body = joined_statements(statements(function.regions.front().body));
  } catch (const Stop&) {
    return std::nullopt;
  }
  return program_;
}

// As the parser of loop programs: a single statement is its own body.
Stmt FunctionReader::joined_statements(std::vector<Stmt> statements) {
  const bool alone = statements.size() == 1 && !std::holds_alternative<Sequence>(statements.front()->node);
  return alone ? statements.front() : make_stmt(Sequence{std::move(statements)});
}

Stmt FunctionReader::body_of(const SyntaxRegion& region) {
  const Names names(*this);
  return joined_statements(statements(region.body));
}

std::vector<Stmt> FunctionReader::statements(const std::vector<Operation>& body, std::size_t from) {
  std::vector<Stmt> result;
  for (std::size_t at = from; at < body.size(); ++at) statement(body, at, result);
  return result;
}

// The statement of one operation; a store may take those that follow it.
void FunctionReader::statement(const std::vector<Operation>& body, std::size_t& at, std::vector<Stmt>& result) {
  const Operation& op = body[at];
  const std::string_view name = op.name;
  if (ignored(name)) return;
  if (name == "affine.for" || name == "scf.for" || name == "affine.parallel" || name == "scf.parallel") {
    result.push_back(loop(op));
  } else if ((name == "affine.if" || name == "scf.if") && op.results.empty()) {
    branch(op, result);
  } else if (name == "scf.execute_region" && op.results.empty() && op.regions.size() == 1) {
    if (op.find("dovetail.block") != nullptr) {
      result.push_back(block(op));
    } else {
      const Names names(*this);
      std::vector<Stmt> inner = statements(op.regions.front().body);
      if (op.find("dovetail.sequence") != nullptr) result.push_back(make_stmt(Sequence{std::move(inner)}));
      else result.insert(result.end(), inner.begin(), inner.end());
    }
  } else if (name == "affine.store" || name == "memref.store" || name == "affine.vector_store") {
    result.push_back(store(body, at));
  } else if (name == "func.call" && op.results.empty()) {
    result.push_back(call(op));
  } else if (name == "linalg.generic") {
    result.push_back(generic(op));
  } else if (name == "memref.alloc" || name == "memref.alloca") {
    if (op.results.size() != 1 || op.result_types.size() != 1 || !op.operands.empty())
      fail(op.at, "the allocation is not of one static shape", "give it a static shape");
    if (!loops_.empty()) fail(op.at, "the allocation is in a loop", "move it to the beginning of the function");
    declare(op.results.front(), op.at, op.result_types.front(), op.attributes, "alloc", true);
  } else if (!define(op)) {
    fail(op.at, fmt::format("{} has no counterpart in loop programs", op.name),
         "docs/howto/mlir.md lists the operations that are read");
  }
}

// ---- Loops

FunctionReader::Bounds FunctionReader::bounds_of(const Operation& op, const Expr& lower, const Expr& upper,
                                                 std::int64_t step) {
  const Linear distance = linear_form(simplify(loops::cast(DType::int64, upper) - loops::cast(DType::int64, lower)));
  if (!distance.terms.empty())
    fail(op.at, "the number of iterations is not a constant", "give the loop constant bounds, and a condition inside");
  if (step <= 0) fail(op.at, fmt::format("the step is {}", step), "steps are at least 1");
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (distance.constant > kMost || step > kMost)
    fail(op.at, fmt::format("the loop has more than {} iterations", kMost), "correct its bounds");
  const std::int64_t extent = distance.constant <= 0 ? 0 : (distance.constant - 1) / step + 1;
  return {loops::cast(DType::int64, lower), extent, step};
}

Stmt FunctionReader::loop(const Operation& op) {
  if (op.regions.size() != 1 || !op.results.empty())
    fail(op.at, fmt::format("{} carries values from iteration to iteration", op.name), "keep them in a memref");
  const std::size_t count = op.regions.front().arguments.size();
  std::vector<Bounds> bounds;
  if (op.name == "affine.for") {
    const Attribute *lower = op.find("lowerBoundMap"), *upper = op.find("upperBoundMap"), *step = op.find("step"),
                    *segments = op.find("operandSegmentSizes");
    if (lower == nullptr || upper == nullptr || lower->map.results.size() != 1 || upper->map.results.size() != 1 ||
        count != 1)
      fail(op.at, "the loop has no bounds, or a minimum or maximum as one", "give the loop constant bounds");
    const std::size_t first_upper =
        segments != nullptr && !segments->elements.empty()
            ? static_cast<std::size_t>(std::clamp<std::int64_t>(segments->elements[0].integer, 0, 1 << 20))
            : lower->map.dims + lower->map.symbols;
    if (lower->map.dims + lower->map.symbols > first_upper ||
        first_upper + upper->map.dims + upper->map.symbols > op.operands.size())
      fail(op.at, "the bounds have too few operands", "give one for each dimension");
    bounds.push_back(bounds_of(op, applied(op, lower->map.results[0], 0),
                               applied(op, upper->map.results[0], first_upper), step == nullptr ? 1 : step->integer));
  } else if (op.name == "affine.parallel") {
    const Attribute *lower = op.find("lowerBoundsMap"), *upper = op.find("upperBoundsMap"), *steps = op.find("steps");
    if (lower == nullptr || upper == nullptr || steps == nullptr || lower->map.results.size() != count ||
        upper->map.results.size() != count || steps->elements.size() != count || !op.operands.empty() ||
        lower->map.dims + lower->map.symbols + upper->map.dims + upper->map.symbols != 0)
      fail(op.at, "the bounds are not one constant for each variable", "give constant bounds");
    for (std::size_t i = 0; i < count; ++i)
      bounds.push_back(bounds_of(op, to_loops(lower->map.results[i], {}), to_loops(upper->map.results[i], {}),
                                 steps->elements[i].integer));
  } else {
    if (op.operands.size() != 3 * count || count == 0)
      fail(op.at, "the loop has no bounds for each variable", "give lower bounds, upper bounds and steps");
    for (std::size_t i = 0; i < count; ++i) {
      const Expr step = simplify(index(op, 2 * count + i));
      const auto* number = std::get_if<IntImm>(&step->node);
      if (number == nullptr) fail(op.at, "the step is not a constant", "give it as arith.constant");
      bounds.push_back(bounds_of(op, index(op, i), index(op, count + i), number->value));
    }
  }
  return nest(op, bounds, 0);
}

Stmt FunctionReader::nest(const Operation& op, const std::vector<Bounds>& bounds, std::size_t level) {
  const SyntaxRegion& region = op.regions.front();
  if (level == bounds.size()) return joined_statements(statements(region.body));
  const Names names(*this);
  const Operand& operand = region.arguments[level].first;
  For loop;
  const auto type = op.text("dovetail.type");
  const DType dtype = type ? dtype_from_name(*type).value_or(DType::int64) : DType::int64;
  if (!is_integer(dtype)) fail(op.at, "the loop's variable is not an integer", "correct dovetail.type");
  loop.var = make_var(own_name(op, name_of_value(operand.name, "i"), loop_names_), dtype);
  const auto [lower, extent, step] = bounds[level];
  loop.extent = extent;
  if (const auto kind = op.text("dovetail.kind")) loop.kind = kind_named(*kind).value_or(ForKind::serial);
  else if (op.name.ends_with(".parallel") && !in_parallel_) loop.kind = ForKind::parallel;  // they cannot be nested
  if (const auto axis = op.text("dovetail.axis")) loop.thread_axis = *axis;
  loop.annotations = annotations_of(op);
  const bool lanes = loop.kind == ForKind::vectorized && step > 1 && extent == 1 && op.name == "affine.for";
  Expr value = ref(loop.var);
  if (lanes) loop.extent = step;
  else if (step != 1) value = loops::cast(DType::int64, value) * step;
  if (!std::holds_alternative<IntImm>(lower->node) || std::get<IntImm>(lower->node).value != 0)
    value = lower + loops::cast(DType::int64, value);
  values_[operand.name].push_back({.expr = value});
  names_.back().push_back(operand.name);
  visible_.push_back(loop.var);
  loops_.push_back({loop.var, loop.extent});
  loop_ids_.push_back(++loop_count_);
  const bool was_parallel = std::exchange(in_parallel_, in_parallel_ || loop.kind == ForKind::parallel);
  if (lanes) in_lanes_ = true;
  loop.body = nest(op, bounds, level + 1);
  if (lanes) in_lanes_ = false;
  in_parallel_ = was_parallel;
  loop_ids_.pop_back();
  loops_.pop_back();
  return make_stmt(std::move(loop));
}

// ---- Conditions

Expr FunctionReader::condition_of(const Operation& op) {
  if (op.name == "scf.if") {
    const Expr condition = expr(op, 0);
    if (condition->dtype != DType::boolean) fail(op.at, "the condition is not i1", "compare it with 0");
    check_current(op, condition);
    return condition;
  }
  const Attribute* set = op.find("condition");
  if (set == nullptr || set->kind != Attribute::Kind::set || set->set.dims + set->set.symbols != op.operands.size())
    fail(op.at, "the condition is not a set over its operands", "write affine_set<...>(operands)");
  const Expr actual = to_loops(set->set, map_operands(op, 0, op.operands.size()));
  const Attribute* text = op.find("dovetail.condition");
  return exact(text == nullptr ? nullptr : &text->text, actual);
}

// Outside blocks, a condition on loops alone becomes that of the blocks around the stores in it.
void FunctionReader::branch(const Operation& op, std::vector<Stmt>& result) {
  if (op.regions.empty()) fail(op.at, "the condition has no body", "write { ... }");
  const Expr condition = condition_of(op);
  const bool has_else = op.regions.size() > 1 && !op.regions[1].body.empty();
  if (!in_block_ && !holds_load(condition) && !holds_blocks(op)) {
    const auto side = [&](const SyntaxRegion& region, const Expr& holds) {
      const Names names(*this);
      conditions_.push_back(holds);
      for (Stmt& stmt : statements(region.body)) result.push_back(std::move(stmt));
      conditions_.pop_back();
    };
    side(op.regions[0], condition);
    if (has_else) side(op.regions[1], unary(UnaryOp::logical_not, condition));
    return;
  }
  If branch;
  branch.condition = condition;
  branch.then_body = body_of(op.regions.front());
  if (has_else) branch.else_body = body_of(op.regions[1]);
  result.push_back(make_stmt(std::move(branch)));
}

}  // namespace dovetail::mlir
