// Products of two activations and transpositions, with movement around them, compared with the reference.
#include "tests/catch.h"
#include "tests/differential/compiler/accel/int8_graph_maker.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/generator_graphs/draw.h"
#include "tests/tier.h"

using namespace dovetail;
using Id = graph::ValueId;

namespace {

struct MatMulMaker : test::Int8GraphMaker {
  test::Draw draw{11};

  Id integers(const std::vector<std::int64_t>& values) {
    return graph.add_constant("k", NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  Id reshaped(Id x, const std::vector<std::int64_t>& shape) {
    return node("Reshape", graph.unique_node_name("reshape"), {x, integers(shape)}, {});
  }
  Id transposed(Id x, const std::vector<std::int64_t>& perm) {
    return node("Transpose", graph.unique_node_name("transpose"), {x}, {{"perm", perm}});
  }
  Id dense(Id x, std::int64_t outputs, std::int64_t zero_point = 3) {
    NdArray bias(DType::int32, {outputs}), scale(DType::float32, {outputs});
    for (auto& value : scale.data<float>()) value = 0x1p-9f;
    return weighted("dovetail.qgemm", graph.unique_node_name("dense"), x,
                    draw.int8({outputs, graph.value(x).type.shape.back()}), std::move(bias), std::move(scale),
                    {{"x_zero_point", std::int64_t{5}}, {"y_zero_point", zero_point}});
  }
  struct ZeroPoints {
    std::int64_t a, b, y;
  };
  Id matmul(Id a, Id b, const ZeroPoints& zero_points, double scale = 0x1p-10) {
    return node("dovetail.qmatmul", graph.unique_node_name("product"), {a, b},
                {{"a_zero_point", zero_points.a},
                 {"b_zero_point", zero_points.b},
                 {"y_zero_point", zero_points.y},
                 {"scale", scale},
                 {"y_max", std::int64_t{100}}});
  }
};

// Blocks of at most 32, so that they fit all configurations; x is [images, tokens, channels].
struct Products {
  const char* name;
  Shape x;
  std::uint64_t products, transpositions;  // counts of nodes with their own code
  Id (*make)(MatMulMaker& m, Id x);
};
const Products kProducts[] = {
    {"keys and values of heads",
     {1, 64, 48},
     2,
     0,
     [](MatMulMaker& m, Id x) {
       // Two heads of 32; the scores are used without a Softmax.
       const Id all = m.dense(x, 192);
       const auto part = [&](std::int64_t i, const std::vector<std::int64_t>& perm) {
         const Id slice = m.node("Slice", m.graph.unique_node_name("slice"),
                                 {all, m.integers({64 * i}), m.integers({64 * i + 64}), m.integers({2})}, {});
         return m.transposed(m.reshaped(slice, {1, 64, 2, 32}), perm);
       };
       const Id scores = m.matmul(part(0, {0, 2, 1, 3}), part(1, {0, 2, 3, 1}), {3, 3, -7});
       const Id context = m.matmul(scores, part(2, {0, 2, 1, 3}), {-128, 3, 5});
       return m.dense(m.reshaped(m.transposed(context, {0, 2, 1, 3}), {1, 64, 64}), 20);
     }},
    {"no zero points, another scale",
     {1, 32, 32},
     1,
     0,
     [](MatMulMaker& m, Id x) {
       const Id a = m.dense(x, 64, 0), b = m.dense(x, 64, 0);
       return m.matmul(a, m.transposed(b, {0, 2, 1}), {0, 0, 0}, 0x1.85p-12);
     }},
    {"one zero point",
     {2, 32, 32},
     1,
     0,
     [](MatMulMaker& m, Id x) {
       const Id a = m.dense(x, 32, 0), b = m.dense(x, 64, -128);
       return m.matmul(a, m.transposed(m.dense(b, 32, -128), {0, 2, 1}), {0, -128, 9});
     }},
    {"rows that fill no block",
     {1, 24, 32},
     2,
     0,
     [](MatMulMaker& m, Id x) {
       // [24, 64] times its transpose, times [24, 40], whose rows are the sums.
       const Id a = m.dense(x, 64), scores = m.matmul(a, m.transposed(a, {0, 2, 1}), {3, 3, 1});
       return m.matmul(scores, m.dense(x, 40), {1, 3, -3});
     }},
    {"images side by side, merged",
     {3, 32, 32},
     1,
     0,
     [](MatMulMaker& m, Id x) {
       const auto heads = [&](const std::vector<std::int64_t>& perm) {
         return m.transposed(m.reshaped(m.dense(x, 64), {3, 32, 2, 32}), perm);
       };
       const Id product = m.matmul(heads({0, 2, 1, 3}), heads({0, 2, 3, 1}), {3, 3, 2});
       return m.dense(m.reshaped(m.transposed(product, {0, 2, 1, 3}), {3, 32, 64}), 7);
     }},
    {"matrices as they are",
     {2, 2, 64},
     1,
     0,
     [](MatMulMaker& m, Id x) {
       // Rank 4: [2, 2, 32, 64] by [2, 2, 64, 32].
       const Id a = m.reshaped(m.dense(x, 2048), {2, 2, 32, 64}), b = m.reshaped(m.dense(x, 2048), {2, 2, 64, 32});
       return m.matmul(a, b, {3, -5, 2});
     }},
    {"columns become rows",
     {1, 64, 48},
     0,
     1,
     [](MatMulMaker& m, Id x) {
       return m.dense(m.transposed(m.dense(x, 40), {0, 2, 1}), 12);
     }},
    {"of several images",
     {3, 32, 48},
     0,
     2,
     [](MatMulMaker& m, Id x) {
       return m.dense(m.transposed(m.dense(m.transposed(m.dense(x, 64), {0, 2, 1}), 32), {0, 2, 1}), 12);
     }},
};

}  // namespace

TEST_CASE("products of activations equal the reference, with the movement around them") {
  std::vector<isa::HardwareConfig> configs = isa::named_configs();
  configs.push_back(*isa::load_config("1x16x16-ext,block_in=8"));
  configs.push_back(*isa::load_config("1x16x16,block_in=4"));
  for (const isa::HardwareConfig& config : configs)
    for (const Products& test : kProducts) {
      const bool too_large = config.address_bits < 32;
      if (too_large || !test::is_judged(config.name + test.name, 3)) continue;
      DYNAMIC_SECTION(config.name << ", " << test.name) {
        MatMulMaker make;
        const Id x = make.input(test.x);
        test.make(make, x);
        const test::Ran ran =
            test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(test.x)}}, test::Demand::none);
        std::uint64_t products = 0, transpositions = 0;
        for (const auto& [row, nodes] : ran.by_row) {
          if (row.starts_with("product of activations")) products += nodes;
          if (row == "transposition") transpositions += nodes;
        }
        CHECK(products == test.products);
        CHECK(transpositions == test.transpositions);
      }
    }
}

// With one token, consecutive heads already form the row: the following dense layer reads a matrix of several rows.
TEST_CASE("a dense layer reads the heads of one token as one row") {
  for (const isa::HardwareConfig& config : isa::named_configs())
    for (const std::int64_t images : {1, 2}) {
      MatMulMaker make;
      const Shape shape{images, 1, 16};
      const Id x = make.input(shape), b = make.dense(x, 66);
      const auto heads = [&](Id y) { return make.transposed(make.reshaped(y, {images, 1, 3, 22}), {0, 2, 1, 3}); };
      const Id scores = make.matmul(heads(make.dense(x, 66)), make.transposed(heads(b), {0, 1, 3, 2}), {3, 3, -7}),
               context = make.matmul(scores, heads(b), {-7, 3, 5});
      make.dense(make.reshaped(make.transposed(context, {0, 2, 1, 3}), {images, 1, 66}), 21);
      INFO(images << " images");
      test::run_on_accelerator(make.graph, config, {{"x", make.draw.int8(shape)}}, test::Demand::none);
    }
}
