// Symbols that LLVM's archives need, and that a wheel's library lacks.
#include <cstdint>
#include <cstdlib>

#include <llvm/Passes/PassPlugin.h>
#include <sys/random.h>

// lld initializes every target of LLVM, for link-time optimization, which the kit does not use. Targets other than X86
// are stubs here; X86's functions, which the archives define, get another name.
#define LLVMInitializeX86TargetInfo unused_target_info
#define LLVMInitializeX86Target unused_target
#define LLVMInitializeX86TargetMC unused_target_mc
#define LLVMInitializeX86AsmPrinter unused_asm_printer
#define LLVMInitializeX86AsmParser unused_asm_parser
extern "C" {
#define LLVM_TARGET(name)                    \
  void LLVMInitialize##name##TargetInfo() {} \
  void LLVMInitialize##name##Target() {}     \
  void LLVMInitialize##name##TargetMC() {}
#include <llvm/Config/Targets.def>
#define LLVM_ASM_PRINTER(name) \
  void LLVMInitialize##name##AsmPrinter() {}
#include <llvm/Config/AsmPrinters.def>
#define LLVM_ASM_PARSER(name) \
  void LLVMInitialize##name##AsmParser() {}
#include <llvm/Config/AsmParsers.def>

// LLVM names temporary files by it; glibc has it from 2.36 on, and a wheel runs with 2.35.
std::uint32_t arc4random() noexcept {
  std::uint32_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) std::abort();
  return bits;
}
}

// Distributions link the polyhedral optimizer into every pipeline of link-time optimization.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "", [](llvm::PassBuilder&) {}};
}
