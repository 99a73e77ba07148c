// Kernels call their operands in0, in1, ...; people know tensors by the model's names.
#pragma once

#include "base/diagnostic.h"
#include "bundle/bundle.h"

namespace dovetail::runtime {

// What a step of the bundle reports, with the names of tensors in the place of its kernel's. Of an index outside of a
// tensor also which tensors the indices come from: the integer operands besides the one that is indexed, and the
// model's inputs that these were computed from.
Diagnostics with_operand_names(Diagnostics problems, const bundle::Bundle& bundle, const bundle::Step& step);

}  // namespace dovetail::runtime
