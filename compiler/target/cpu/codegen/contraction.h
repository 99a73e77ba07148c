// Where LLVM may round a * b + c once, and add products up in another order.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace dovetail::cpu {

// The float operations that the builder makes while a Contraction lives may be contracted with one another, never with
// those that were made outside; sums `in_any_order` may be taken apart as well, as LLVM's vectorizer does.
class Contraction {
 public:
  explicit Contraction(llvm::IRBuilderBase& builder, bool in_any_order = false) : guard_(builder) {
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    flags.setAllowReassoc(in_any_order);
    builder.setFastMathFlags(flags);
  }

 private:
  llvm::IRBuilderBase::FastMathFlagGuard guard_;
};

}  // namespace dovetail::cpu
