// LLVM's machine for a processor, its passes and its object files.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/target/cpu/cpu.h"

namespace dovetail::cpu {

std::unique_ptr<llvm::TargetMachine> make_machine(const Cpu& cpu);
// The module has the machine's triple and data layout.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);
// A relocatable ELF.
std::vector<std::byte> write_object(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace dovetail::cpu
