#include "mlir/function_writer.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/print.h"
#include "loops/rewrite.h"
#include "loops/verify.h"
#include "mlir/regions_text.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

std::string_view role_text(ParameterRole role) {
  switch (role) {
    case ParameterRole::input: return "input";
    case ParameterRole::constant: return "constant";
    case ParameterRole::output: return "output";
  }
  return "";
}

void add_type(const BufferNode& buffer, AttributeList& attributes) {
  if (!is_signed_integer(buffer.dtype) && !is_floating(buffer.dtype))
    attributes.add_text("type", dovetail::name(buffer.dtype));
  if (buffer.scope != "global") attributes.add_text("scope", buffer.scope);
}

}  // namespace

void FunctionWriter::declare(const Buffer& buffer, std::string type, bool dense) {
  memories_[buffer.get()] = {new_name(buffer->name), std::move(type), dense};
}

// The function's text: constants come first, since they are known only after the body.
std::string FunctionWriter::function(const std::string& header, const std::string& footer_lines) {
  std::string text = "  " + header + " {\n";
  for (const auto& [name, definition] : constants_) text += fmt::format("    {} = {}\n", name, definition);
  return text + lines_.text + footer_lines + "    return\n  }\n";
}

std::string FunctionWriter::program(const Program& program) {
  std::vector<std::string> arguments;
  for (const Parameter& parameter : program.parameters) {
    const BufferNode& buffer = *parameter.buffer;
    declare(parameter.buffer, memref_type(buffer.dtype, buffer.shape), true);
    AttributeList attributes;
    attributes.add_text("name", buffer.name);
    attributes.add_text("role", role_text(parameter.role));
    add_type(buffer, attributes);
    if (const auto layout = module_.options.layouts.find(buffer.name); layout != module_.options.layouts.end())
      attributes.add_text("layout", layout->second);
    const Memory& memory = memories_.at(parameter.buffer.get());
    arguments.push_back(fmt::format("{}: {}{}", memory.name, memory.type, attributes.text()));
  }
  std::string frees;
  for (const Buffer& buffer : program.allocations) {
    declare(buffer, memref_type(buffer->dtype, buffer->shape), true);
    const Memory& memory = memories_.at(buffer.get());
    AttributeList attributes;
    attributes.add_text("name", buffer->name);
    add_type(*buffer, attributes);
    lines_.line(fmt::format("{} = memref.alloc(){} : {}", memory.name, attributes.text(), memory.type));
    frees.insert(0, fmt::format("    memref.dealloc {} : {}\n", memory.name, memory.type));
  }
  write_body(program.body);
  return function(fmt::format("func.func {}({}) attributes {{dovetail.program = {}}}", symbol_reference(program.name),
                              fmt::join(arguments, ", "), string_literal(program.name)),
                  frees);
}

// ---- Statements

void FunctionWriter::write(const Stmt& stmt) {
  std::visit([&](const auto& n) { write(n); }, stmt->node);
}

void FunctionWriter::write_body(const Stmt& stmt) {
  if (!stmt) return;
  if (const auto* n = std::get_if<loops::Sequence>(&stmt->node))
    for (const Stmt& inner : n->body) write(inner);
  else write(stmt);
}

void FunctionWriter::write(const For& n) {
  const Scope scope(*this);
  const std::string var = new_name(n.var->name);
  const bool vectors = module_.options.vectors && !lanes_ && is_simple_vector(n);
  const std::int64_t step = vectors ? n.extent : 1;
  AttributeList attributes;
  attributes.add_text("name", n.var->name);
  if (n.var->dtype != DType::int64) attributes.add_text("type", dovetail::name(n.var->dtype));
  if (n.kind != ForKind::serial) attributes.add_text("kind", loops::name(n.kind));
  if (n.kind == ForKind::thread) attributes.add_text("axis", n.thread_axis);
  attributes.add_annotations(n.annotations);
  const bool parallel = n.kind == ForKind::parallel;
  if (uses_affine() && parallel) lines_.open(fmt::format("affine.parallel ({}) = (0) to ({})", var, n.extent));
  else if (uses_affine())
    lines_.open(fmt::format("affine.for {} = 0 to {}{}", var, n.extent, vectors ? fmt::format(" step {}", step) : ""));
  else open_scf_loop(var, n.extent, parallel);
  vars_[n.var.get()] = {var, uses_affine()};
  bounds_[n.var.get()] = {0, std::max<std::int64_t>(n.extent, 1) - 1};
  if (vectors) {
    lanes_ = n.extent;
    lane_vars_ = {n.var.get()};
  }
  write_body(n.body);
  if (vectors) {
    lanes_.reset();
    lane_vars_.clear();
  }
  if (!uses_affine() && parallel) lines_.line("scf.reduce");
  lines_.close("}" + attributes.text());
}

void FunctionWriter::open_scf_loop(const std::string& var, std::int64_t extent, bool parallel) {
  const std::string first = index_constant(0), end = index_constant(extent), step = index_constant(1);
  lines_.open(parallel ? fmt::format("scf.parallel ({}) = ({}) to ({}) step ({})", var, first, end, step)
                       : fmt::format("scf.for {} = {} to {} step {}", var, first, end, step));
}

void FunctionWriter::open_branch(const Expr& condition, AttributeList& attributes) {
  AffineOperands operands;
  const auto constraints = uses_affine() ? to_constraints(condition, operands, affine_vars()) : std::nullopt;
  if (!constraints) return lines_.open("scf.if " + value(condition));
  std::vector<std::string> dims, texts;
  for (std::size_t i = 0; i < operands.vars.size(); ++i) dims.push_back(fmt::format("d{}", i));
  for (const AffineConstraint& constraint : *constraints)
    texts.push_back(fmt::format("{} {} 0", to_text(constraint.expr, dims), constraint.equal ? "==" : ">="));
  attributes.add_text("condition", loops::to_string(condition));
  lines_.open(fmt::format("affine.if affine_set<({}) : ({})>({})", fmt::join(dims, ", "), fmt::join(texts, ", "),
                          fmt::join(names_of(operands.vars), ", ")));
}

void FunctionWriter::write(const If& n) {
  const Scope scope(*this);
  AttributeList attributes;
  open_branch(n.condition, attributes);
  {
    const Scope inner(*this);
    write_body(n.then_body);
  }
  if (n.else_body) {
    lines_.otherwise();
    const Scope inner(*this);
    write_body(n.else_body);
  }
  lines_.close("}" + attributes.text());
}

void FunctionWriter::write(const loops::Sequence& n) {
  lines_.open("scf.execute_region");
  for (const Stmt& inner : n.body) write(inner);
  lines_.line("scf.yield");
  lines_.close("} {dovetail.sequence}");
}

void FunctionWriter::write_iterator(const Iterator& iterator) {
  const Scope scope(*this);
  AttributeList attributes;
  attributes.add_text("iterator", loops::name(iterator.kind));
  attributes.add_text("name", iterator.var->name);
  attributes.add(fmt::format("dovetail.extent = {} : i64", iterator.extent));
  if (iterator.var->dtype != DType::int64) attributes.add_text("type", dovetail::name(iterator.var->dtype));
  const std::string var = new_name(iterator.var->name);
  AffineOperands operands;
  const auto map = uses_affine() ? to_affine(iterator.binding, operands, affine_vars()) : std::nullopt;
  if (map) {
    if (!keeps_form(iterator.binding)) attributes.add_text("binding", loops::to_string(iterator.binding));
    std::vector<std::string> dims;
    for (std::size_t i = 0; i < operands.vars.size(); ++i) dims.push_back(fmt::format("d{}", i));
    lines_.line(fmt::format("{} = affine.apply affine_map<({}) -> ({})>({}){}", var, fmt::join(dims, ", "),
                            to_text(*map, dims), fmt::join(names_of(operands.vars), ", "), attributes.text()));
  } else {
    const std::string binding = value(iterator.binding);
    lines_.line(fmt::format("{} = arith.index_cast {}{} : {} to index", var, binding, attributes.text(),
                            value_type(iterator.binding->dtype)));
  }
  vars_[iterator.var.get()] = {var, map.has_value()};
  bounds_[iterator.var.get()] = {0, std::max<std::int64_t>(iterator.extent, 1) - 1};
  if (moves(iterator.binding)) lane_vars_.insert(iterator.var.get());
}

void FunctionWriter::add_regions(const Block& n, AttributeList& attributes) const {
  const BlockRegions inferred = infer_regions(n, module_.intrinsics);
  const auto add = [&](std::string_view name, const std::vector<Region>& declared,
                       const std::vector<Region>& expected) {
    const std::string text = regions_text(declared);
    if (text != regions_text(expected)) attributes.add_text(name, text);
  };
  add("reads", n.reads, inferred.reads);
  add("writes", n.writes, inferred.writes);
}

void FunctionWriter::write(const Block& n) {
  AttributeList attributes;
  attributes.add_text("block", n.name);
  attributes.add_annotations(n.annotations);
  add_regions(n, attributes);
  lines_.open("scf.execute_region");
  for (const Iterator& iterator : n.iterators) write_iterator(iterator);
  if (n.predicate) {
    const Scope scope(*this);
    AttributeList where;
    where.add("dovetail.where");
    open_branch(n.predicate, where);
    write_guarded(n);
    lines_.close("}" + where.text());
  } else {
    write_guarded(n);
  }
  lines_.line("scf.yield");
  lines_.close("}" + attributes.text());
}

// The init, where all reduce iterators are 0, and the body.
void FunctionWriter::write_guarded(const Block& n) {
  if (n.init) {
    const Scope scope(*this);
    Expr first;
    for (const Iterator& iterator : n.iterators) {
      if (iterator.kind != IterKind::reduce) continue;
      const Expr zero = binary(BinaryOp::eq, ref(iterator.var), int_imm(0, iterator.var->dtype));
      first = first ? logical_and(first, zero) : zero;
    }
    AttributeList attributes, ignored;
    attributes.add("dovetail.init");
    if (first) open_branch(first, ignored);
    else lines_.open("scf.execute_region");
    {
      const Scope inner(*this);
      write_body(n.init);
    }
    if (!first) lines_.line("scf.yield");
    lines_.close("}" + attributes.text());
  }
  const Scope scope(*this);
  write_body(n.body);
}

void FunctionWriter::write(const loops::Store& n) {
  const Scope scope(*this);
  // All values and indices come before the first write.
  std::vector<std::string> values;
  std::vector<Access> places;
  for (const StoreTarget& target : n.targets) {
    std::string result = value(target.value);
    if (target.buffer->dtype == DType::boolean)
      result = emit(fmt::format("arith.extui {}", result), "dovetail.op = \"store\"", "i1 to i8");
    values.push_back(std::move(result));
  }
  for (std::size_t i = 0; i < n.targets.size(); ++i)
    places.push_back(
        access(n.targets[i].buffer, n.targets[i].indices,
               i == 0 && n.targets.size() > 1 ? fmt::format("dovetail.tuple = {} : i64", n.targets.size()) : ""));
  for (std::size_t i = 0; i < n.targets.size(); ++i) {
    const Buffer& buffer = n.targets[i].buffer;
    const Memory& memory = memories_.at(buffer.get());
    lines_.line(fmt::format("{}{} {}, {}[{}]{} : {}{}", places[i].operation_prefix, lanes_ ? "vector_store" : "store",
                            values[i], memory.name, places[i].indices, places[i].attributes, memory.type,
                            lanes_ ? ", " + vector_type(buffer->dtype, *lanes_) : ""));
  }
}

}  // namespace dovetail::mlir
