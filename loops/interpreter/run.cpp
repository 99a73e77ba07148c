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
    errors.push_back({what, "",
                      fmt::format("{} arguments were given, {} are expected", arguments.size(), inputs.size()),
                      "give the inputs and constants in parameter order"});
    return errors;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const BufferNode& buffer = *inputs[i]->buffer;
    const bool widened =
        program.precision == Precision::wide && is_floating(buffer.dtype) && arguments[i].dtype() == DType::float64;
    if (arguments[i].dtype() != buffer.dtype && !widened)
      errors.push_back(
          {what, buffer.name,
           fmt::format("the argument has type {}, the parameter {}", name(arguments[i].dtype()), name(buffer.dtype)),
           "convert the argument"});
    if (arguments[i].shape() != buffer.shape)
      errors.push_back({what, buffer.name,
                        fmt::format("the argument has shape {}, the parameter {}",
                                    dovetail::to_string(arguments[i].shape()), dovetail::to_string(buffer.shape)),
                        "reshape the argument"});
  }
  return errors;
}

NdArray widened(const NdArray& array) {
  NdArray result(DType::float64, array.shape());
  const auto values = result.data<double>();
  for (std::int64_t i = 0; i < array.count(); ++i) values[static_cast<std::size_t>(i)] = array.as_double(i);
  return result;
}

// The memory of one run. The caller may own the parameters; this object owns everything else.
struct Memory {
  std::vector<NdArray> owned;
  std::vector<std::byte*> buffers;
  std::vector<std::vector<std::uint8_t>> defined_storage;
  std::vector<std::uint8_t*> defined;
};

// `place(info)` returns the existing memory of a buffer, or null if it must be allocated.
template <typename Place>
Memory make_memory(const CompiledProgram& program, const Place& place) {
  Memory memory;
  const auto& buffers = program.bytecode.buffers;
  memory.owned.reserve(buffers.size());
  memory.defined_storage.reserve(buffers.size());
  for (const BufferInfo& info : buffers) {
    std::byte* there = info.parameter >= 0 ? place(info) : nullptr;
    if (there == nullptr) there = memory.owned.emplace_back(info.storage, info.buffer->shape).bytes().data();
    memory.buffers.push_back(there);
    memory.defined_storage.emplace_back(info.tracked ? static_cast<std::size_t>(info.count) : 0, std::uint8_t{0});
    memory.defined.push_back(info.tracked ? memory.defined_storage.back().data() : nullptr);
  }
  return memory;
}

// Indices of the program's parameters among its arguments or its results.
std::vector<std::size_t> positions(const CompiledProgram& program) {
  std::vector<std::size_t> positions;
  std::size_t arguments = 0, results = 0;
  for (const Parameter& parameter : program.parameters)
    positions.push_back(parameter.role == ParameterRole::output ? results++ : arguments++);
  return positions;
}
bool is_output(const CompiledProgram& program, const BufferInfo& info) {
  return program.parameters[static_cast<std::size_t>(info.parameter)].role == ParameterRole::output;
}

// Registers, and the location of each one's lanes.
struct Registers {
  std::size_t bytes_each;
  std::vector<std::byte> storage;
  std::vector<void*> where;

  explicit Registers(const Bytecode& code)
      : bytes_each(static_cast<std::size_t>(code.lanes) * 8),
        storage(static_cast<std::size_t>(code.registers) * bytes_each) {
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
    return {what, where,
            fmt::format("index {} of dimension {} of buffer {} is outside its extent {}", frame.failed_value,
                        site.dimension, site.buffer->name, site.extent),
            "guard the access by a predicate or select, or correct the index"};
  if (site.buffer)
    return {what, where, fmt::format("{} is read but was never written", element_name(site.buffer, frame.failed_value)),
            "write it first, or give the block an init"};
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
                      fmt::format("{} of {} elements of the output were never written; the first is {}", missing,
                                  info.count, element_name(info.buffer, first)),
                      "write every element of an output"});
  }
  return errors;
}

Result<void> run(const CompiledProgram& program, Memory& memory, Work* work) {
  const Bytecode& code = program.bytecode;
  Registers registers(code);
  std::vector<std::int64_t> affine = code.affine_roots;
  std::vector<std::int64_t> left(code.loops.size());
  WorkMeter meter(work);
  Frame frame{.reg = registers.where.data(),
              .storage = registers.storage.data(),
              .register_bytes = registers.bytes_each,
              .affine = affine.data(),
              .left = left.data(),
              .memory = memory.buffers.data(),
              .defined = memory.defined.data(),
              .bytecode = &code,
              .meter = meter};
  for (const Instr* instr = code.code.data(); instr != nullptr;) instr = instr->kernel(instr, frame);
  if (frame.failed != nullptr) return failure(program, frame);
  if (meter.stopped()) return work->stopped_at("loop program " + program.name);
  return unwritten_outputs(program, memory);
}

}  // namespace

WorkEstimate estimate_work(const CompiledProgram& program) {
  constexpr double kStepsPerSecond = 500e6;
  return {program.bytecode.steps, static_cast<double>(program.bytecode.steps) / kStepsPerSecond};
}

Result<std::vector<NdArray>> run(const CompiledProgram& program, std::span<const NdArray> arguments, Work* work) {
  if (Diagnostics errors = check_arguments(program, arguments); !errors.empty()) return errors;
  const std::vector<std::size_t> position = positions(program);
  std::vector<NdArray> wide(arguments.size()), outputs(program.parameters.size() - arguments.size());
  Memory memory = make_memory(program, [&](const BufferInfo& info) {
    const std::size_t at = position[static_cast<std::size_t>(info.parameter)];
    if (is_output(program, info)) return (outputs[at] = NdArray(info.storage, info.buffer->shape)).bytes().data();
    // Programs do not store to their inputs (verified), so the cast is never used to write.
    if (arguments[at].dtype() == info.storage) return const_cast<std::byte*>(arguments[at].bytes().data());
    return (wide[at] = widened(arguments[at])).bytes().data();
  });
  DOVETAIL_TRY(run(program, memory, work));
  return outputs;
}

Result<void> run(const CompiledProgram& program, std::span<const std::span<const std::byte>> arguments,
                 std::span<const std::span<std::byte>> results, Work* work) {
  DOVETAIL_CHECK(program.precision == Precision::native, "memory of the caller must hold the program's own types");
  DOVETAIL_CHECK(arguments.size() + results.size() == program.parameters.size(),
                 "there must be one span per parameter");
  const std::vector<std::size_t> position = positions(program);
  Memory memory = make_memory(program, [&](const BufferInfo& info) {
    const std::size_t at = position[static_cast<std::size_t>(info.parameter)];
    const bool output = is_output(program, info);
    const std::size_t bytes = static_cast<std::size_t>(info.count * size_bytes(info.storage));
    DOVETAIL_CHECK((output ? results[at].size() : arguments[at].size()) == bytes,
                   "the memory of " + info.buffer->name + " must have the size of its buffer");
    return output ? results[at].data() : const_cast<std::byte*>(arguments[at].data());
  });
  return run(program, memory, work);
}

}  // namespace dovetail::loops
