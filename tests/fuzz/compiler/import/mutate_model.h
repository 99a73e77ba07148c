// Random changes of ONNX models that keep them readable: a value, a name, an operator or a shape is changed, nodes and
// tensors are removed, repeated, moved and taken from another model. One in eight changes bytes without regard to the
// format.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace dovetail::test {

// Makes one to four changes. `other` supplies pieces; it may be the model itself. The result has at most `max_bytes`,
// or is `model` unchanged.
std::vector<std::byte> mutate_model(std::span<const std::byte> model, std::span<const std::byte> other,
                                    std::mt19937_64& random, std::size_t max_bytes = std::size_t{1} << 20);

}  // namespace dovetail::test
