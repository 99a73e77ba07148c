// Where LLVM may fuse a * b + c into one rounding, and reassociate sums of products.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace dovetail::cpu {

// Float operations created during the lifetime of a Contraction may be contracted with one another, but not with
// operations created outside; with `in_any_order`, sums may also be reassociated, as LLVM's vectorizer does.
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
