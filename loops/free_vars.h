// Variables that a statement uses but does not bind: the immediates of an intrinsic's semantics, or an error.
#pragma once

#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

std::vector<Var> free_vars(const Stmt& stmt);  // in order of first use

}  // namespace dovetail::loops
