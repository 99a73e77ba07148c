// Calls of intrinsics, and the functions that are called.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/print.h"
#include "mlir/function_writer.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

// Operands of intrinsics have any strides: an operand's axis may move in several dimensions of a buffer.
std::string operand_type(DType dtype, const Shape& shape) {
  std::string text = "memref<", strides;
  for (const std::int64_t extent : shape) {
    text += fmt::format("{}x", extent);
    strides += strides.empty() ? "?" : ", ?";
  }
  return fmt::format("{}{}, strided<[{}], offset: ?>>", text, memory_type(dtype), strides);
}

std::vector<std::int64_t> dense_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t dim = shape.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

}  // namespace

void FunctionWriter::write(const IntrinsicCall& n) {
  const auto fail = [&](std::string why, std::string hint) {
    module_.errors.push_back({"cannot write MLIR", n.intrinsic, std::move(why), std::move(hint)});
  };
  const Intrinsic* intrinsic = find_intrinsic(module_.intrinsics, n.intrinsic);
  if (intrinsic == nullptr) return fail("the intrinsic is unknown", "choose the machine that has it");
  const Scope scope(*this);
  std::vector<std::string> arguments, types;
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    const IntrinsicOperand& operand = n.operands[i];
    const Memory& memory = memories_.at(operand.buffer.get());
    if (!memory.dense) return fail("an intrinsic's meaning calls an intrinsic", "write its meaning as loops");
    const Shape& shape = intrinsic->semantics.parameters[i].buffer->shape;
    const std::vector<std::int64_t> strides = dense_strides(operand.buffer->shape);
    Expr offset = int_imm(0);
    std::vector<std::string> indices, steps;
    for (std::size_t dim = 0; dim < strides.size(); ++dim) {
      offset = offset + cast(DType::int64, operand.indices[dim]) * strides[dim];
      indices.push_back(string_literal(loops::to_string(operand.indices[dim])));
    }
    std::vector<std::int64_t> moves(shape.size(), 0);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      for (std::size_t dim = 0; dim < strides.size(); ++dim) moves[axis] += operand.steps[axis][dim] * strides[dim];
      steps.push_back(fmt::format("[{}]", fmt::join(operand.steps[axis], ", ")));
    }
    // MLIR has no static stride of 0; that of a single element has no effect.
    std::vector<std::string> strides_given, strides_typed;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t stride = moves[axis] == 0 && shape[axis] == 1 ? 1 : moves[axis];
      strides_given.push_back(stride == 0 ? index_constant(0) : std::to_string(stride));
      strides_typed.push_back(stride == 0 ? "?" : std::to_string(stride));
    }
    const std::string place = index_value(simplify(offset)), view = result(), argument = result();
    const std::string type = operand_type(operand.buffer->dtype, shape),
                      view_type = fmt::format("{}strided<[{}], offset: ?>>", type.substr(0, type.find("strided")),
                                              fmt::join(strides_typed, ", "));
    lines_.line(fmt::format(
        "{} = memref.reinterpret_cast {} to offset: [{}], sizes: [{}], strides: [{}] {{dovetail.indices = [{}], "
        "dovetail.steps = [{}]}} : {} to {}",
        view, memory.name, place, fmt::join(shape, ", "), fmt::join(strides_given, ", "), fmt::join(indices, ", "),
        fmt::join(steps, ", "), memory.type, view_type));
    lines_.line(fmt::format("{} = memref.cast {} : {} to {}", argument, view, view_type, type));
    arguments.push_back(argument);
    types.push_back(type);
  }
  for (const Expr& immediate : n.immediates) {
    arguments.push_back(value(immediate));
    types.emplace_back(value_type(immediate->dtype));
  }
  module_.called.insert(n.intrinsic);
  lines_.line(fmt::format("func.call {}({}) {{dovetail.intrinsic = {}}} : ({}) -> ()", symbol_reference(n.intrinsic),
                          fmt::join(arguments, ", "), string_literal(n.intrinsic), fmt::join(types, ", ")));
}

std::string FunctionWriter::intrinsic(const Intrinsic& intrinsic) {
  std::vector<std::string> arguments, names, types;
  const auto add = [&](std::string name, std::string type) {
    arguments.push_back(fmt::format("{}: {}", name, type));
    names.push_back(std::move(name));
    types.push_back(std::move(type));
  };
  for (const Parameter& parameter : intrinsic.semantics.parameters) {
    const BufferNode& buffer = *parameter.buffer;
    declare(parameter.buffer, operand_type(buffer.dtype, buffer.shape), false);
    const Memory& memory = memories_.at(parameter.buffer.get());
    add(memory.name, memory.type);
  }
  for (const Var& immediate : intrinsic.immediates) {
    const std::string given = new_name(immediate->name), index = new_name(immediate->name + ".index");
    add(given, std::string(value_type(immediate->dtype)));
    if (is_integer(immediate->dtype))
      lines_.line(fmt::format("{} = arith.index_cast {} : {} to index", index, given, value_type(immediate->dtype)));
    vars_[immediate.get()] = {index, immediate->dtype == DType::int64};
  }
  std::string frees;
  for (const Buffer& buffer : intrinsic.semantics.allocations) {
    declare(buffer, memref_type(buffer->dtype, buffer->shape), true);
    const Memory& memory = memories_.at(buffer.get());
    lines_.line(fmt::format("{} = memref.alloc() : {}", memory.name, memory.type));
    frees.insert(0, fmt::format("    memref.dealloc {} : {}\n", memory.name, memory.type));
  }
  write_body(intrinsic.semantics.body);
  const std::string meaning = intrinsic.name + ".meaning";
  std::string text = fmt::format(
      "  func.func private {}({}) attributes {{dovetail.intrinsic = {}, dovetail.meaning = {}}} {{\n"
      "    func.call {}({}) : ({}) -> ()\n    return\n  }}\n",
      symbol_reference(intrinsic.name), fmt::join(arguments, ", "), string_literal(intrinsic.name),
      symbol_reference(meaning), symbol_reference(meaning), fmt::join(names, ", "), fmt::join(types, ", "));
  return text + function(fmt::format("func.func private {}({})", symbol_reference(meaning), fmt::join(arguments, ", ")),
                         frees);
}

}  // namespace dovetail::mlir
