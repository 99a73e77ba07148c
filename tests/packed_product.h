// Graphs of a dovetail.packed_gemm whose results are exact in float32, whatever the order of their sums: activations
// are multiples of a half, scales powers of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/ndarray.h"
#include "base/random.h"
#include "compiler/graph/graph.h"

namespace dovetail::test {

struct PackedProduct {
  std::int64_t rows = 1, columns = 1, depth = 1, bits = 4, block = 1;
  bool zero_points = true, followed = true;  // followed by an Add of a bias and a Relu

  static PackedProduct drawn(std::uint64_t seed) {
    SplitMix64 random(seed);
    const auto below = [&](std::uint64_t most) { return static_cast<std::int64_t>(random.next() % most) + 1; };
    PackedProduct product{.rows = below(20), .columns = below(150), .depth = below(200)};
    product.bits = std::int64_t{1} << below(3);
    product.block = below(static_cast<std::uint64_t>(product.depth));
    if (random.next() % 2 == 0) product.block = std::min<std::int64_t>(product.depth, std::int64_t{8} << below(3));
    product.zero_points = random.next() % 2 == 0, product.followed = random.next() % 2 == 0;
    return product;
  }

  std::string text() const {
    const std::int64_t blocks = (depth + block - 1) / block, each = 32 / bits;
    const std::string type = fmt::format("float32[{}, {}]", rows, columns);
    std::string all = fmt::format(
        "graph g(%x: float32[{0}, {1}]) -> (%y)\n  constant %w: int32[{2}, {3}]\n  constant %s: float32[{2}, {4}]\n",
        rows, depth, columns, (blocks * block + each - 1) / each, blocks);
    if (zero_points) all += fmt::format("  constant %z: int8[{}, {}]\n", columns, blocks);
    if (followed) all += fmt::format("  constant %b: float32[{}]\n", columns);
    all += fmt::format("  %{}: {} = dovetail.packed_gemm(%x, %w, %s{}) {{bits={}, block_size={}}}\n",
                       followed ? "p" : "y", type, zero_points ? ", %z" : "", bits, block);
    if (followed) all += fmt::format("  %a: {0} = Add(%p, %b)\n  %y: {0} = Relu(%a)\n", type);
    return all;
  }

  // The elements of an operand of that type.
  NdArray values(const graph::TensorType& type, SplitMix64& random) const {
    NdArray array(type.dtype, type.shape);
    const bool scales = type.dtype == DType::float32 && type.shape.size() == 2 && type.shape[0] == columns &&
                        type.shape != Shape{rows, depth};
    for (std::int64_t i = 0; i < array.count(); ++i) {
      const std::uint64_t drawn = random.next();
      if (type.dtype == DType::int32) array.set_int64(i, static_cast<std::int32_t>(drawn));
      else if (type.dtype == DType::int8) array.set_int64(i, static_cast<std::int64_t>(drawn % 4) - 2);
      else
        array.set_double(
            i, scales ? std::exp2(static_cast<double>(drawn % 3) - 1) : static_cast<double>(drawn % 5) / 2 - 1);
    }
    return array;
  }
};

}  // namespace dovetail::test
