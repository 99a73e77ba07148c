#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "loops/interpreter.h"
#include "loops/interpreter/bytecode.h"
#include "loops/interpreter/element.h"

namespace dovetail::loops {
namespace {

Diagnostics check_arguments(const CompiledProgram& program, std::span<const NdArray> arguments) {
  Diagnostics errors;
  std::vector<const Parameter*> inputs;
  for (const Parameter& parameter : program.parameters)
    if (parameter.role != ParameterRole::output) inputs.push_back(&parameter);
  const std::string what = "cannot run loop program " + program.name;
  if (inputs.size() != arguments.size()) {
    errors.push_back({what, "", fmt::format("{} arguments given, {} expected", arguments.size(), inputs.size()), "give the inputs and constants in parameter order"});
    return errors;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const BufferNode& buffer = *inputs[i]->buffer;
    const bool widened = program.precision == Precision::wide && is_floating(buffer.dtype) && arguments[i].dtype() == DType::float64;
    if (arguments[i].dtype() != buffer.dtype && !widened)
      errors.push_back({what, buffer.name, fmt::format("argument of type {}, parameter of type {}", name(arguments[i].dtype()), name(buffer.dtype)), "convert the argument"});
    if (arguments[i].shape() != buffer.shape)
      errors.push_back({what, buffer.name, fmt::format("argument of shape {}, parameter of shape {}", to_string(arguments[i].shape()), to_string(buffer.shape)), "reshape the argument"});
  }
  return errors;
}

NdArray widened(const NdArray& array) {
  NdArray result(DType::float64, array.shape());
  const auto values = result.data<double>();
  for (std::int64_t i = 0; i < array.count(); ++i) values[static_cast<std::size_t>(i)] = array.as_double(i);
  return result;
}

// The memory of one run. Inputs are read where they are; everything else is owned.
struct Memory {
  std::vector<NdArray> owned;
  std::vector<std::byte*> buffers;
  std::vector<std::size_t> owner;  // by buffer: its place in `owned`, where it has one
  std::vector<std::vector<std::uint8_t>> defined_storage;
  std::vector<std::uint8_t*> defined;
};

Memory make_memory(const CompiledProgram& program, std::span<const NdArray> arguments) {
  Memory memory;
  const auto& buffers = program.bytecode.buffers;
  memory.owned.reserve(buffers.size());
  memory.defined_storage.reserve(buffers.size());
  std::size_t next_argument = 0;
  for (const BufferInfo& info : buffers) {
    const bool is_input = info.parameter >= 0 && program.parameters[static_cast<std::size_t>(info.parameter)].role != ParameterRole::output;
    const NdArray* argument = is_input ? &arguments[next_argument++] : nullptr;
    memory.owner.push_back(memory.owned.size());
    if (argument != nullptr && argument->dtype() == info.storage) {
      // Programs do not store to their inputs (verified), so the cast is never used to write.
      memory.buffers.push_back(const_cast<std::byte*>(argument->bytes().data()));
    } else {
      memory.owned.push_back(argument != nullptr ? widened(*argument) : NdArray(info.storage, info.buffer->shape));
      memory.buffers.push_back(memory.owned.back().bytes().data());
    }
    memory.defined_storage.emplace_back(info.tracked ? static_cast<std::size_t>(info.count) : 0, std::uint8_t{0});
    memory.defined.push_back(info.tracked ? memory.defined_storage.back().data() : nullptr);
  }
  return memory;
}

// Registers, and where each one's lanes are.
struct Registers {
  std::size_t bytes_each;
  std::vector<std::byte> storage;
  std::vector<void*> where;

  explicit Registers(const Bytecode& code) : bytes_each(static_cast<std::size_t>(code.lanes) * 8), storage(static_cast<std::size_t>(code.registers) * bytes_each) {
    for (int i = 0; i < code.registers; ++i) where.push_back(storage.data() + static_cast<std::size_t>(i) * bytes_each);
    for (const ConstantRegister& constant : code.constants)
      with_element(constant.dtype, [&]<typename E>() {
        using R = typename E::Reg;
        const R value = is_float_element<E> ? static_cast<R>(constant.floating) : static_cast<R>(constant.integer);
        std::fill_n(static_cast<R*>(where[static_cast<std::size_t>(constant.reg)]), code.lanes, value);
      });
  }
};

std::string element_name(const Buffer& buffer, std::int64_t offset) {
  std::vector<std::int64_t> indices(buffer->shape.size());
  for (std::size_t i = indices.size(); i-- > 0; offset /= buffer->shape[i]) indices[i] = offset % buffer->shape[i];
  return fmt::format("{}[{}]", buffer->name, fmt::join(indices, ", "));
}

Diagnostic failure(const CompiledProgram& program, const Frame& frame) {
  const Site& site = program.bytecode.sites[static_cast<std::size_t>(frame.failed->site)];
  const std::string what = "cannot run loop program " + program.name;
  const std::string where = site.block.empty() ? "" : "block " + site.block;
  if (site.dimension >= 0)
    return {what, where, fmt::format("index {} of dimension {} of buffer {} is outside its extent {}", frame.failed_value, site.dimension, site.buffer->name, site.extent),
            "guard the access by a predicate or select, or correct the index"};
  if (site.buffer) return {what, where, fmt::format("{} is read but was never written", element_name(site.buffer, frame.failed_value)), "write it first, or give the block an init"};
  return {what, where, "integer division by 0", "guard the division by a select"};
}

Diagnostics unwritten_outputs(const CompiledProgram& program, const Memory& memory) {
  Diagnostics errors;
  for (std::size_t i = 0; i < program.bytecode.buffers.size(); ++i) {
    const BufferInfo& info = program.bytecode.buffers[i];
    if (info.parameter < 0 || !info.tracked) continue;
    const auto& defined = memory.defined_storage[i];
    const auto missing = std::count(defined.begin(), defined.end(), 0);
    if (missing == 0) continue;
    const auto first = std::find(defined.begin(), defined.end(), 0) - defined.begin();
    errors.push_back({"cannot run loop program " + program.name, info.buffer->name,
                      fmt::format("{} of {} elements of the output were never written, the first is {}", missing, info.count, element_name(info.buffer, first)),
                      "write every element of an output"});
  }
  return errors;
}

}  // namespace

Result<std::vector<NdArray>> run(const CompiledProgram& program, std::span<const NdArray> arguments) {
  if (Diagnostics errors = check_arguments(program, arguments); !errors.empty()) return errors;
  const Bytecode& code = program.bytecode;
  Memory memory = make_memory(program, arguments);
  Registers registers(code);
  std::vector<std::int64_t> affine = code.affine_roots;
  std::vector<std::int64_t> left(code.loops.size());
  Frame frame{.reg = registers.where.data(),
              .storage = registers.storage.data(),
              .register_bytes = registers.bytes_each,
              .affine = affine.data(),
              .left = left.data(),
              .memory = memory.buffers.data(),
              .defined = memory.defined.data(),
              .bytecode = &code};
  for (const Instr* instr = code.code.data(); instr != nullptr;) instr = instr->kernel(instr, frame);
  if (frame.failed != nullptr) return failure(program, frame);
  if (Diagnostics errors = unwritten_outputs(program, memory); !errors.empty()) return errors;

  std::vector<NdArray> outputs;
  for (const Parameter& parameter : program.parameters) {
    if (parameter.role != ParameterRole::output) continue;
    const auto info = std::find_if(code.buffers.begin(), code.buffers.end(), [&](const BufferInfo& candidate) { return candidate.buffer == parameter.buffer; });
    outputs.push_back(std::move(memory.owned[memory.owner[static_cast<std::size_t>(info - code.buffers.begin())]]));
  }
  return outputs;
}

}  // namespace dovetail::loops
