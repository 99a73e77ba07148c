// Attention of one position with a cache of keys and values, as a graph: the cache's rows are written at a position
// that the caller gives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/passes/qdq/arithmetic.h"
#include "isa/config.h"
#include "tests/catch.h"
#include "tests/generator_graphs/draw.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail::test {

using graph::ValueId;

struct CacheExtents {
  std::int64_t heads, length, size, rows = 1;  // rows: positions of a run
};

struct CacheMaker : GraphMaker {
  Draw draw;
  CacheExtents extents;
  ValueId position;

  explicit CacheMaker(const CacheExtents& chosen, std::uint64_t seed = 1) : draw(seed), extents(chosen) {
    position = input("position", DType::int64, {1});
  }
  ValueId integers(const std::string& name, const std::vector<std::int64_t>& values) {
    return graph.add_constant(name, NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  // [1, rows, heads * size] -> [1, heads, rows, size].
  ValueId by_head(const std::string& name, ValueId x) {
    const auto& [heads, length, size, rows] = extents;
    const ValueId apart = node("Reshape", name + ".apart", {x, integers(name + ".k", {1, rows, heads, size})}, {});
    return node("Transpose", name + ".by_head", {apart}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  }
  ValueId cache(const std::string& name, ValueId rows) {
    const auto& [heads, length, size, count] = extents;
    const ValueId past = input("past." + name, DType::int8, {1, heads, length, size});
    const ValueId present =
        node("TensorScatter", "present." + name, {past, rows, position}, {{"axis", std::int64_t{2}}});
    output(present);
    return present;
  }
  ValueId product(const std::string& name, ValueId a, ValueId b) {
    return node("dovetail.qmatmul", name, {a, b}, {{"b_zero_point", std::int64_t{4}}, {"scale", 0.0009765625}});
  }
  ValueId visible() {
    const auto& [heads, length, size, rows] = extents;
    NdArray all(DType::int64, {1, 1, 1, length}), own(DType::int64, {1, 1, rows, 1});
    for (std::int64_t i = 0; i < length; ++i) all.set_int64(i, i);
    for (std::int64_t i = 0; i < rows; ++i) own.set_int64(i, i);
    const ValueId last = node("Add", "last", {position, graph.add_constant("own", std::move(own))}, {});
    return node("LessOrEqual", "visible", {graph.add_constant("all", std::move(all)), last}, {});
  }
  ValueId softmax(ValueId x, ValueId visible) {
    const auto numbers = passes::qdq::softmax(extents.length, 0.05f, 0x1p-8f);
    REQUIRE(numbers);
    return node("dovetail.qsoftmax", "softmax",
                {x, graph.add_constant("exponentials", NdArray::from<std::uint16_t>({256}, numbers->table)), visible},
                {{"scale", numbers->scale},
                 {"shift", static_cast<std::int64_t>(numbers->shift)},
                 {"y_zero_point", std::int64_t{-128}}});
  }
  void attention() {
    const auto& [heads, length, size, rows] = extents;
    const ValueId x = input("x", DType::int8, {1, rows, 3 * heads * size});
    const auto part = [&](const std::string& name, std::int64_t begin) {
      return by_head(name, node("Slice", name,
                                {x, integers(name + ".b", {begin * heads * size}),
                                 integers(name + ".e", {(begin + 1) * heads * size}), integers(name + ".a", {2})},
                                {}));
    };
    const ValueId q = part("q", 0), k = cache("key", part("k", 1)), v = cache("value", part("v", 2));
    const ValueId columns = node("Transpose", "columns", {k}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
    const ValueId context = product("context", softmax(product("scores", q, columns), visible()), v);
    const ValueId merged =
        node("Transpose", "by_position", {context}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    output(node("Reshape", "merged", {merged, integers("m", {1, rows, heads * size})}, {}));
  }
};

// The extensions that attention with a cache needs.
inline void add_extensions(isa::HardwareConfig& config) {
  using Config = isa::HardwareConfig;
  for (bool Config::*extension : {&Config::requant, &Config::table, &Config::norm, &Config::offset})
    config.*extension = true;
}
inline isa::HardwareConfig decoder(std::string_view name) {
  isa::HardwareConfig config = *isa::load_config(std::string(name));
  add_extensions(config);
  return config;
}

}  // namespace dovetail::test
