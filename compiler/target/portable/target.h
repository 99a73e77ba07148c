// The CPU without machine code, for programs that leave the kit: fused kernels whose loops suit one scalar core with a
// few registers. They are loop programs on the host, which the interpreter runs and `dovetail export` prints as C.
#pragma once

#include <functional>
#include <memory>

#include "compiler/assemble/program_compiler.h"
#include "compiler/target/target.h"

namespace dovetail::portable {

// Its name is that of target cpu, which it replaces. `compiler`: makes the steps of its programs; null: the host
// interprets them.
using MakeProgramCompiler = std::function<std::unique_ptr<ProgramCompiler>()>;
TargetPointer make_target(MakeProgramCompiler compiler = nullptr);

}  // namespace dovetail::portable
