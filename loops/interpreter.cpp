#include "loops/interpreter.h"

#include "loops/core/dissolve_blocks.h"
#include "loops/core/trim_loops.h"
#include "loops/interpreter/bytecode.h"
#include "loops/interpreter/codegen.h"
#include "loops/interpreter/definedness.h"
#include "loops/verify.h"

namespace dovetail::loops {

Result<std::shared_ptr<const CompiledProgram>> compile(const Program& program, const IntrinsicTable& intrinsics,
                                                       Precision precision) {
  // An index that is not proven in bounds is checked at run time.
  DOVETAIL_TRY(verify(program, intrinsics, UnprovenIndices::allow));
  return compile(program, dissolve_blocks(program, intrinsics), precision);
}

std::shared_ptr<const CompiledProgram> compile(const Program& program, const CoreProgram& core, Precision precision) {
  std::vector<Buffer> outputs;
  for (const Parameter& parameter : program.parameters)
    if (parameter.role == ParameterRole::output) outputs.push_back(parameter.buffer);
  const auto tracked = buffers_to_track(core, outputs);

  auto compiled = std::make_shared<CompiledProgram>();
  compiled->name = program.name;
  compiled->parameters = program.parameters;
  compiled->precision = precision;
  const CoreProgram trimmed = trim_loops(core);
  Codegen codegen(trimmed, precision, compiled->bytecode);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const Buffer& buffer = program.parameters[i].buffer;
    codegen.add_buffer(buffer, static_cast<int>(i), tracked.count(buffer.get()) != 0);
  }
  for (const Buffer& buffer : core.temporary) codegen.add_buffer(buffer, -1, tracked.count(buffer.get()) != 0);
  codegen.generate();
  return compiled;
}

Result<std::vector<NdArray>> evaluate(const Program& program, std::span<const NdArray> arguments,
                                      const IntrinsicTable& intrinsics, Precision precision) {
  DOVETAIL_ASSIGN(const auto compiled, compile(program, intrinsics, precision));
  return run(*compiled, arguments);
}

}  // namespace dovetail::loops
