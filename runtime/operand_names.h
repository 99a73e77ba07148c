// Maps kernels' operand names in0, in1, ... to the model's tensor names.
#pragma once

#include "base/diagnostic.h"
#include "bundle/bundle.h"

namespace dovetail::runtime {

// A step's error message, with tensor names in place of the kernel's operand names. For an index outside of a tensor
// the message also names the tensors that the indices come from: the integer operands other than the indexed one, and
// the model's inputs from which these were computed.
Diagnostics with_operand_names(Diagnostics problems, const bundle::Bundle& bundle, const bundle::Step& step);

}  // namespace dovetail::runtime
