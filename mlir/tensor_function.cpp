#include "mlir/tensor_function.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/rewrite.h"
#include "mlir/function_writer.h"

namespace dovetail::mlir {

using namespace loops;

std::string tensor_type(DType dtype, const Shape& shape) {
  std::string text = "tensor<";
  for (const std::int64_t extent : shape) text += fmt::format("{}x", extent);
  return fmt::format("{}{}>", text, memory_type(dtype));
}

namespace {

class TensorFunction {
 public:
  explicit TensorFunction(Meanings& meanings) : module_{.intrinsics = kNone, .options = options_}, writer_(module_) {
    module_.meanings = std::move(meanings);
  }

  std::string write(const Program& program, const std::string& symbol) {
    std::vector<std::string> arguments, types, results;
    for (const Parameter& parameter : program.parameters) {
      const std::string type = tensor_type(parameter.buffer->dtype, parameter.buffer->shape);
      if (parameter.role == ParameterRole::output) {
        types.push_back(type);
        continue;
      }
      const std::string name = writer_.add_tensor(parameter.buffer, type);
      arguments.push_back(fmt::format("{}: {}", name, type));
    }
    for (const TensorBlock& block : tensor_blocks(program).blocks) writer_.write_tensors(block);
    for (const Parameter& parameter : program.parameters)
      if (parameter.role == ParameterRole::output) results.push_back(writer_.tensor(parameter.buffer));
    return writer_.tensor_text(fmt::format("func.func private {}({}) -> ({})", symbol_reference(symbol),
                                           fmt::join(arguments, ", "), fmt::join(types, ", ")),
                               fmt::format("return {} : {}", fmt::join(results, ", "), fmt::join(types, ", ")));
  }

  Meanings take_meanings() { return std::move(module_.meanings); }

 private:
  static inline const IntrinsicTable kNone;
  Options options_;
  ModuleParts module_;
  FunctionWriter writer_;
};

// The names of the dimensions that a load's indices are; nullopt: other indices, or a part of the buffer.
std::optional<std::vector<std::string>> plain_indices(
    const LoadExpr& load, const std::map<const VarNode*, std::pair<std::size_t, std::int64_t>>& dims) {
  std::vector<std::string> names;
  for (std::size_t dim = 0; dim < load.indices.size(); ++dim) {
    const auto* n = std::get_if<VarRef>(&load.indices[dim]->node);
    const auto found = n == nullptr ? dims.end() : dims.find(n->var.get());
    if (found == dims.end() || found->second.second != load.buffer->shape[dim]) return std::nullopt;
    names.push_back(fmt::format("d{}", found->second.first));
  }
  return names;
}

}  // namespace

std::string tensor_function(const Program& program, const std::string& symbol, Meanings& meanings) {
  TensorFunction function(meanings);
  std::string text = function.write(program, symbol);
  meanings = function.take_meanings();
  return text;
}

// ---- The part of the writer that writes tensors

std::string FunctionWriter::add_tensor(const Buffer& buffer, const std::string& type) {
  tensors_ = true;
  declare(buffer, type, true);
  return memories_.at(buffer.get()).name;
}

std::string FunctionWriter::tensor(const Buffer& buffer) const { return memories_.at(buffer.get()).name; }

std::string FunctionWriter::tensor_text(const std::string& header, const std::string& last) const {
  std::string text = "  " + header + " {\n";
  for (const auto& [name, definition] : constants_) text += fmt::format("    {} = {}\n", name, definition);
  return text + lines_.text + "    " + last + "\n  }\n";
}

void FunctionWriter::write_tensors(const TensorBlock& block) {
  std::vector<std::string> outs;
  for (const StoreTarget& target : block.targets) {
    const std::string type = tensor_type(target.buffer->dtype, target.buffer->shape);
    outs.push_back(result());
    lines_.line(fmt::format("{} = tensor.empty() : {}", outs.back(), type));
  }
  if (!block.reduce.empty()) outs = write_generic(block, block.init, outs, false);
  outs = write_generic(block, block.targets, outs, !block.reduce.empty());
  for (std::size_t i = 0; i < outs.size(); ++i)
    memories_[block.targets[i].buffer.get()] = {
        outs[i], tensor_type(block.targets[i].buffer->dtype, block.targets[i].buffer->shape), true};
}

std::vector<std::string> FunctionWriter::write_generic(const TensorBlock& block, const std::vector<StoreTarget>& stores,
                                                       const std::vector<std::string>& outs, bool reduces) {
  // The dimensions: those of the results, then those that are reduced.
  std::map<const VarNode*, std::pair<std::size_t, std::int64_t>> dims;
  std::vector<std::string> all, results_map, kinds(block.dims.size(), "\"parallel\"");
  const auto add_dim = [&](const Iterator* iterator) {
    if (iterator != nullptr) {
      dims[iterator->var.get()] = {all.size(), iterator->extent};
      bounds_[iterator->var.get()] = {0, iterator->extent - 1};
    }
    all.push_back(fmt::format("d{}", all.size()));
  };
  for (const Iterator* iterator : block.dims) add_dim(iterator);
  results_map = all;
  std::vector<std::string> reduced;
  Shape reduced_shape;
  if (reduces)
    for (const Iterator* iterator : block.reduce) {
      add_dim(iterator);
      reduced.push_back(all.back());
      reduced_shape.push_back(iterator->extent);
      kinds.emplace_back("\"reduction\"");
    }
  const auto map = [&](const std::vector<std::string>& results) {
    return fmt::format("affine_map<({}) -> ({})>", fmt::join(all, ", "), fmt::join(results, ", "));
  };

  std::vector<std::string> maps, ins, in_types, out_types, arguments;
  const Scope scope(*this);
  loaded_.clear();
  const auto add_argument = [&](DType dtype) {
    const std::string name = result();
    arguments.push_back(fmt::format("{}: {}", name, memory_type(dtype)));
    return name;
  };
  const auto add_input = [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    const bool own = load != nullptr && std::ranges::any_of(block.targets, [&](const StoreTarget& target) {
                       return target.buffer == load->buffer;
                     });
    if (load == nullptr || own) return;
    const auto names = plain_indices(*load, dims);
    if (!names || std::ranges::any_of(loaded_, [&](const auto& each) { return structurally_equal(each.first, e); }))
      return;
    const Memory& memory = memories_.at(load->buffer.get());
    ins.push_back(memory.name);
    in_types.push_back(memory.type);
    maps.push_back(map(*names));
    loaded_.emplace_back(e, add_argument(load->buffer->dtype));
  };
  for (const StoreTarget& target : stores) visit_exprs(target.value, add_input);
  if (reduces) {  // an operand without values, for the extents of the reduced dimensions
    const std::string shape = result(), type = tensor_type(DType::int8, reduced_shape);
    lines_.line(fmt::format("{} = tensor.empty() : {}", shape, type));
    ins.push_back(shape);
    in_types.push_back(type);
    maps.push_back(map(reduced));
    add_argument(DType::int8);
  }
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const StoreTarget& target = stores[i];
    maps.push_back(map(results_map));
    out_types.push_back(tensor_type(target.buffer->dtype, target.buffer->shape));
    const std::string argument = add_argument(target.buffer->dtype);
    if (reduces) loaded_.emplace_back(load(target.buffer, target.indices), argument);
  }
  const std::string name = result();
  lines_.open(fmt::format(
      "{}{} = linalg.generic {{indexing_maps = [{}], iterator_types = [{}]}} {}outs({} : {})", name,
      stores.size() > 1 ? fmt::format(":{}", stores.size()) : "", fmt::join(maps, ", "), fmt::join(kinds, ", "),
      ins.empty() ? "" : fmt::format("ins({} : {}) ", fmt::join(ins, ", "), fmt::join(in_types, ", ")),
      fmt::join(outs, ", "), fmt::join(out_types, ", ")));
  lines_.line(fmt::format("^bb0({}):", fmt::join(arguments, ", ")));
  for (std::size_t dim = 0; dim < all.size(); ++dim) {
    const Iterator* iterator = dim < block.dims.size() ? block.dims[dim] : block.reduce[dim - block.dims.size()];
    if (iterator == nullptr) continue;
    const std::string index = result();
    lines_.line(fmt::format("{} = linalg.index {} : index", index, dim));
    vars_[iterator->var.get()] = {index, false};
  }
  std::vector<std::string> yielded, yielded_types;
  for (const StoreTarget& target : stores) {
    std::string computed = value(target.value);
    if (target.buffer->dtype == DType::boolean)
      computed = emit(fmt::format("arith.extui {}", computed), "", "i1 to i8");
    yielded.push_back(computed);
    yielded_types.emplace_back(memory_type(target.buffer->dtype));
  }
  lines_.line(fmt::format("linalg.yield {} : {}", fmt::join(yielded, ", "), fmt::join(yielded_types, ", ")));
  lines_.close(stores.size() > 1 ? fmt::format("}} -> ({})", fmt::join(out_types, ", "))
                                 : fmt::format("}} -> {}", out_types.front()));
  if (stores.size() == 1) return {name};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stores.size(); ++i) names.push_back(fmt::format("{}#{}", name, i));
  return names;
}

// A load within linalg.generic: an argument of its body, or an element of a tensor.
std::string FunctionWriter::compute_element(const Expr& expr, const LoadExpr& n) {
  std::string name;
  for (const auto& [load, argument] : loaded_)
    if (structurally_equal(load, expr)) name = argument;
  if (name.empty()) {
    std::vector<std::string> indices;
    for (const Expr& index : n.indices) indices.push_back(index_value(index));
    const Memory& memory = memories_.at(n.buffer.get());
    name = result();
    lines_.line(
        fmt::format("{} = tensor.extract {}[{}] : {}", name, memory.name, fmt::join(indices, ", "), memory.type));
  }
  if (expr->dtype != DType::boolean) return name;
  return emit(fmt::format("arith.cmpi ne, {}, {}", name, constant(int_imm(0, DType::int8))), "", "i8");
}

}  // namespace dovetail::mlir
