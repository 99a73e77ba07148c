// For products of float32 by units that read TF32 (8 bits of exponent, 11 of the significand with the hidden one) and
// truncate what has more: rounds the factors, each once, to the nearest such number.
#pragma once

#include <string>
#include <vector>

#include "base/ndarray.h"
#include "loops/ir.h"

namespace dovetail::prepare {

// The nearest TF32 number, ties away from zero, as PTX's cvt.rna.tf32: too large values become infinite, NaN stays NaN.
loops::Expr rounded_to_tf32(const loops::Expr& value);
NdArray rounded_to_tf32(const NdArray& values);

// The buffers that contraction `main` reads as its left and right factor; empty if it has no float32 factors, or one is
// more than an element of a buffer, or zero in place of elements outside of it.
std::vector<loops::Buffer> float32_factors(const loops::Program& program, const std::string& main);

}  // namespace dovetail::prepare
