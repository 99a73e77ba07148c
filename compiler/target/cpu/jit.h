// Runs loop programs as machine code in this process, through LLVM's ORC JIT: used by the compiler to evaluate
// constants if compiling pays off, and by tests that compare it with the interpreter. Models run from their bundle's
// shared object instead.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/code/kernel_abi.h"
#include "compiler/passes/pass.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::cpu {

// A kernel in the memory of this process and of processes forked from it.
class LoadedKernel {
 public:
  // `symbol`: the symbol that the object was compiled with. Errors: out of memory; this process may not execute machine
  // code (base/machine_code_permission.h).
  static Result<LoadedKernel> load(KernelObject object, const std::string& symbol);

  bundle::Kernel kernel() const;
  const KernelObject& object() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class JitProgram {
 public:
  // Errors: those of compile_kernel.
  static Result<JitProgram> make(const loops::Program& program, const loops::IntrinsicTable& intrinsics, const Cpu& cpu,
                                 int threads = 1);

  // `arguments`: inputs and constants in parameter order. Returns the outputs. Errors: an index that depends on data
  // out of bounds, division by zero.
  Result<std::vector<NdArray>> run(std::span<const NdArray> arguments) const;
  const std::vector<std::string>& notes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Uses the interpreter for small programs, and where this process may not execute machine code; compiled code for those
// that take longer than compiling. The values are equal.
passes::Evaluate jit_evaluate(const Cpu& cpu);

}  // namespace dovetail::cpu
