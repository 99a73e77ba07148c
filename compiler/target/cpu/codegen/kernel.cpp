#include "compiler/target/cpu/codegen/kernel.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "bundle/code/kernel_signature.h"
#include "compiler/target/cpu/codegen/archive.h"
#include "compiler/target/cpu/codegen/emitter.h"
#include "compiler/target/cpu/codegen/machine.h"
#include "compiler/target/cpu/codegen/sum_bounds.h"
#include "compiler/target/cpu/codegen/tile_registers.h"
#include "compiler/target/cpu/codegen/transpose_loads.h"
#include "loops/core/compact.h"
#include "loops/core/dissolve_blocks.h"
#include "loops/core/hoist_conditions.h"
#include "loops/core/peel.h"
#include "loops/core/rebase_loops.h"
#include "loops/core/trim_loops.h"
#include "loops/core/unroll.h"
#include "loops/print.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kStatementBytes = 16;  // approximate code size
constexpr std::int64_t kLongNest = 256;       // number of stores that amortizes a branch

struct Lowered {
  CoreProgram core;
  std::vector<std::string> notes;
};

Lowered lower_to_core(const Program& program, const IntrinsicTable& intrinsics, const Cpu& cpu) {
  const std::int64_t most_statements = cpu.l1_code_bytes / kStatementBytes;  // per loop nest
  Lowered result;
  result.core = dissolve_blocks(program, intrinsics, CallForm::kept);
  result.core = hoist_conditions(compact_buffers(std::move(result.core), {std::max(cpu.vector_bytes, 1)}));
  result.core = transpose_loads(peel_tails(result.core, {most_statements, kLongNest}));
  Unrolled unrolled = unroll_loops(result.core, {most_statements});
  result.core = trim_loops(rebase_loops(std::move(unrolled.program)));
  for (const std::string& loop : unrolled.kept)
    result.notes.push_back(fmt::format("loop {} is not unrolled: the code would grow too large", loop));
  return result;
}

struct Built {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::vector<std::string> failures, notes;
  Workspace workspace;
  TileRegisters tiles;
};

// Lets the runtime check the arguments with which it calls the kernel.
void emit_signature(llvm::Module& module, const std::string& symbol, const Program& program, const Workspace& workspace,
                    const Cpu& cpu) {
  bundle::KernelSignature signature{
      static_cast<std::uint64_t>(workspace.shared_bytes), static_cast<std::uint64_t>(workspace.local_bytes), {}};
  for (const Parameter& parameter : program.parameters) {
    const BufferNode& buffer = *parameter.buffer;
    signature.operands.push_back(
        {buffer.dtype,
         static_cast<std::uint64_t>(element_count(buffer.shape)) * static_cast<std::uint64_t>(size_bytes(buffer.dtype)),
         parameter.role == ParameterRole::output});
  }
  const auto words = bundle::signature_words(signature, cpu.name);
  llvm::Constant* const value = llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef(words));
  new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                           symbol + std::string(bundle::kSignatureSuffix));
}

Result<Built> build(const Program& program, const IntrinsicTable& intrinsics, const std::string& symbol,
                    const Cpu& cpu) {
  Built result;
  Lowered lowered = lower_to_core(program, intrinsics, cpu);
  result.workspace = plan_workspace(lowered.core, cpu.stack_bytes);
  DOVETAIL_ASSIGN(result.tiles, plan_tile_registers(lowered.core, cpu));
  result.context = std::make_unique<llvm::LLVMContext>();
  result.module = std::make_unique<llvm::Module>(symbol, *result.context);
  result.machine = make_machine(cpu);
  result.module->setTargetTriple(cpu.triple);
  result.module->setDataLayout(result.machine->createDataLayout());
  Emitter emitter(*result.module, cpu, lowered.core, program.parameters, result.workspace, result.tiles,
                  sum_bounds(program));
  emitter.emit_kernel(symbol);
  if (!cpu.is_exported) emit_signature(*result.module, symbol, program, result.workspace, cpu);
  result.failures = std::move(emitter.failures);
  result.notes = std::move(lowered.notes);
  result.notes.insert(result.notes.end(), emitter.notes.begin(), emitter.notes.end());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  DOVETAIL_CHECK(!llvm::verifyModule(*result.module, &stream),
                 fmt::format("LLVM IR of {} is malformed: {}\n{}", symbol, stream.str(), to_string(program)));
  return result;
}

// "register" buffers that remain in memory: SSA needs constant indices.
void note_register_buffers(const Program& program, Built& built) {
  std::set<std::string> names;
  for (const Buffer& buffer : program.allocations)
    if (buffer->scope == "register") names.insert(buffer->name);
  for (const llvm::Function& function : *built.module)
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block)
        if (llvm::isa<llvm::AllocaInst>(instruction))
          for (const std::string& name : names)
            if (instruction.getName().starts_with(name))
              built.notes.push_back(
                  fmt::format("register buffer {} stays in memory: unroll or vectorize the loops that index it", name));
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return stream.str();
}

}  // namespace

Result<KernelObject> compile_kernel(const Program& program, const IntrinsicTable& intrinsics, const std::string& symbol,
                                    const Cpu& cpu) {
  DOVETAIL_TRY(check_loops(program, kLoopSupport));
  DOVETAIL_ASSIGN(Built built, build(program, intrinsics, symbol, cpu));
  optimize(*built.module, *built.machine);
  note_register_buffers(program, built);

  KernelObject result;
  result.object = write_object(*built.module, *built.machine);
  result.code_bytes = read_object(result.object).code_bytes;
  result.shared_bytes = built.workspace.shared_bytes;
  result.local_bytes = built.workspace.local_bytes;
  result.stack_bytes = built.workspace.stack_bytes;
  result.failures = std::move(built.failures);
  result.notes = std::move(built.notes);
  return result;
}

Result<std::string> kernel_ir(const Program& program, const IntrinsicTable& intrinsics, const std::string& symbol,
                              const Cpu& cpu) {
  DOVETAIL_TRY(check_loops(program, kLoopSupport));
  DOVETAIL_ASSIGN(Built built, build(program, intrinsics, symbol, cpu));
  std::string text = "; as emitted\n" + text_of(*built.module);
  optimize(*built.module, *built.machine);
  return text + "\n; after LLVM's passes\n" + text_of(*built.module);
}

}  // namespace dovetail::cpu
