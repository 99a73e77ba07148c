// Layers given by shape alone, without a model: the values that topologies, workload files and texts are read into, and
// from which build_layers() makes a network.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"

namespace dovetail::shapes {

// A pair of extents: of rows and of columns.
using Pair = std::array<std::int64_t, 2>;

struct Convolution {
  std::int64_t batch = 1, channels = 1;
  Pair image = {1, 1};  // without pads
  std::int64_t filters = 1;
  Pair kernel = {1, 1}, stride = {1, 1}, dilation = {1, 1};
  std::array<std::int64_t, 4> pads = {};  // top, left, bottom, right
  std::int64_t groups = 1;                // `channels`: depthwise
  bool bias = false, relu = false;
  bool operator==(const Convolution&) const = default;
};

// rows x inner times weights inner x columns.
struct Product {
  std::int64_t rows = 1, inner = 1, columns = 1;
  bool bias = false, relu = false;
  bool operator==(const Product&) const = default;
};

// softmax(q kᵀ / √size) v: q [1, heads, positions, size], kᵀ [1, heads, size, keys], v [1, heads, keys, size].
struct Attention {
  std::int64_t heads = 1, positions = 1, keys = 1, size = 1;
  bool operator==(const Attention&) const = default;
};

struct Pooling {
  bool is_maximum = true;  // false: average
  std::int64_t batch = 1, channels = 1;
  Pair image = {1, 1}, kernel = {1, 1}, stride = {1, 1};
  std::array<std::int64_t, 4> pads = {};
  bool operator==(const Pooling&) const = default;
};

// The sum of two tensors of one shape.
struct Addition {
  Shape shape;
  bool operator==(const Addition&) const = default;
};

using Operation = std::variant<Convolution, Product, Attention, Pooling, Addition>;

struct Layer {
  std::string name;
  Operation operation;
  bool operator==(const Layer&) const = default;
};

// Maximum of an extent, of the elements of a tensor, and of the layers of a network.
inline constexpr std::int64_t kMostExtent = 1 << 20, kMostElements = std::int64_t{1} << 28;
inline constexpr std::size_t kMostLayers = 10'000;

// Rows and columns of a window's results; < 1: the window is larger than the padded image.
Pair window_results(const Pair& image, const Pair& kernel, const Pair& stride, const Pair& dilation,
                    const std::array<std::int64_t, 4>& pads);

// Errors: an extent out of range, a window that is larger than its image, groups that do not divide the channels, a
// tensor that is too large. `where`: the place of the layer in its file or text.
Result<void> check(const Layer& layer, const std::string& where);

// In the form of parse_layer(), without the name.
std::string to_string(const Operation& operation);

}  // namespace dovetail::shapes
