// How NAME.c calls the kernels of objects (bundle/code/kernel_abi.h). A program without an accelerator needs none: its
// run function is in an object too.
#pragma once

#include <string>

#include "export/plan.h"

namespace dovetail::exporting {

// The table of functions and workspace that kernels get, and the function that keeps their first failure.
std::string object_services();
// The kernel's declaration.
std::string object_kernel(const PlannedKernel& kernel);
// The table as a variable of the run function; and the statements of a call.
std::string object_variables();
std::string object_call(const Plan& plan, const PlannedKernel& kernel, const KernelCall& call);

}  // namespace dovetail::exporting
