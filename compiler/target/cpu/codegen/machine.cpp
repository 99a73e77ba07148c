#include "compiler/target/cpu/codegen/machine.h"

#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "base/resource_error.h"

namespace dovetail::cpu {

namespace {

// Without this handler LLVM would abort the process. Exceptions may leave LLVM in an invalid state
// (base/out_of_memory.h), so it is not used afterwards.
void report_failures() {
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { end_out_of_memory(); });
  llvm::install_fatal_error_handler([](void*, const char* reason, bool) {
    if (std::string_view(reason).starts_with("IO failure"))
      throw ResourceError({"cannot link the kernels", "", reason, "close other programs, or raise the limits"});
    throw InternalError(fmt::format("LLVM: {}", reason));
  });
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_machine(const Cpu& cpu) {
  static std::once_flag once;
  std::call_once(once, [] {
    report_failures();
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(cpu.triple, error);
  DOVETAIL_CHECK(target != nullptr, fmt::format("LLVM must have the target of {}: {}", cpu.triple, error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // as allowed by the instructions' flags
  options.MCOptions.ABIName = cpu.abi;
  const bool risc_v = cpu.architecture == Architecture::riscv32 || cpu.architecture == Architecture::riscv64;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      cpu.triple, cpu.llvm_cpu, cpu.llvm_features, options, llvm::Reloc::PIC_,
      risc_v ? llvm::CodeModel::Medium : llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions options;
  options.LoopUnrolling = false;  // schedules decide
  options.SLPVectorization = false;
  options.LoopVectorization = true;  // for loops that no schedule vectorized
  // Kernels call no library: fill and copy loops must not become memset and memcpy.
  llvm::TargetLibraryInfoImpl library{machine.getTargetTriple()};
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  llvm::PassBuilder builder(&machine, options);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

std::vector<std::byte> write_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  const bool unsupported = machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  DOVETAIL_CHECK(!unsupported, "LLVM must write object files");
  passes.run(module);
  const auto* begin = reinterpret_cast<const std::byte*>(buffer.data());
  return {begin, begin + buffer.size()};
}

}  // namespace dovetail::cpu
