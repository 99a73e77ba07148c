// Where LLVM may round a * b + c once.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace dovetail::cpu {

// The float operations that the builder makes while a Contraction lives may be contracted with one another, never with
// those that were made outside.
class Contraction {
 public:
  explicit Contraction(llvm::IRBuilderBase& builder) : guard_(builder) {
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    builder.setFastMathFlags(flags);
  }

 private:
  llvm::IRBuilderBase::FastMathFlagGuard guard_;
};

}  // namespace dovetail::cpu
