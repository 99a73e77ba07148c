// MatMulNBits of the domain com.microsoft, compared with its definition.
#include <algorithm>
#include <initializer_list>

#include "tests/unit/compiler/import/contrib.h"

using namespace dovetail::test::contrib;

namespace dovetail {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string operators(ContribNode node) {
  const auto imported = node.imported();
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  std::string all;
  for (const graph::NodeId id : imported->graph.topological_order()) all += imported->graph.node(id).op + " ";
  return all;
}

// One product of random data.
struct NBitsCase {
  std::int64_t k = 40, n = 3, bits = 4, block = 16;
  Shape rows = {2};
  NdArray x, b, scales, packed, real, bias;

  explicit NBitsCase(std::uint32_t seed) : rng(seed) {}
  NBitsCase& draw() {
    const std::int64_t blocks = (k + block - 1) / block;
    Shape shape = rows;
    shape.push_back(k);
    x = drawn_reals(rng, shape), scales = drawn_reals(rng, {n, blocks}), bias = drawn_reals(rng, {n});
    b = drawn_integers(rng, DType::uint8, {n, blocks, block * bits / 8}, 0, 255);
    packed = drawn_integers(rng, DType::uint8, {n, (blocks * bits + 7) / 8}, 0, 255);
    real = drawn_reals(rng, {n, blocks}, 9);
    return *this;
  }
  ContribNode node(const NdArray* zero_points = nullptr) const {
    ContribNode made{"MatMulNBits"};
    made.input("x", x).constant("b", b).constant("scales", scales);
    if (zero_points != nullptr) made.constant("zero_points", *zero_points);
    return made.with("K", k).with("N", n).with("bits", bits).with("block_size", block).with("accuracy_level", 4);
  }
  Reals expected(const NdArray* zero_points = nullptr) const {
    const Reals w = unpacked_weight(b, scales, zero_points, k, n, bits, block);
    const std::int64_t count = element_count(rows);
    Reals matrix(Shape{count, k});
    for (std::int64_t i = 0; i < count * k; ++i) matrix[i] = x.as_double(i);
    Reals y = product(matrix, w);
    y.shape = rows, y.shape.push_back(n);
    return y;
  }
  std::mt19937 rng;
};

TEST_CASE("MatMulNBits: weights of 2, 4 and 8 bits, with zero points of every form") {
  std::uint32_t seed = 0;
  for (const std::int64_t bits : {2, 4, 8})
    for (const std::int64_t rows : {1, 2, 9}) {  // few, and more than few
      NBitsCase one(++seed);
      one.bits = bits, one.rows = {rows};
      one.draw();  // the last block is not full
      for (const NdArray* zero_points : std::initializer_list<const NdArray*>{nullptr, &one.packed, &one.real}) {
        INFO(bits << " bits, " << rows << " rows, zero points "
                  << (zero_points == nullptr ? "none" : to_string(zero_points->shape())));
        CHECK(operators(one.node(zero_points)) ==
              (zero_points == &one.real ? "dovetail.packed_gemm " : "DequantizeLinear MatMul "));
        check_close(one.node(zero_points).run1(), one.expected(zero_points), 1e-5);
      }
      ContribNode biased = one.node(&one.packed);
      check_close(biased.omitted().constant("bias", one.bias).run1(), added(one.expected(&one.packed), Reals(one.bias)),
                  1e-5);
    }
}

TEST_CASE("MatMulNBits: random extents, and activations of other ranks") {
  std::mt19937 rng(7);
  const auto drawn = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    NBitsCase one(100 + seed);
    one.bits = std::int64_t{2} << drawn(0, 2), one.block = std::int64_t{4} << drawn(0, 5);  // also above K
    one.k = drawn(1, 150), one.n = drawn(1, 40);
    one.rows.clear();
    for (int axis = drawn(0, 3); axis > 0; --axis) one.rows.push_back(drawn(1, 4));
    one.draw();
    INFO("x " << to_string(one.x.shape()) << ", N " << one.n << ", bits " << one.bits << ", block " << one.block);
    check_close(one.node(&one.packed).run1(), one.expected(&one.packed), 1e-5);
    check_close(one.node(&one.real).run1(), one.expected(&one.real), 1e-5);
    ContribNode biased = one.node();
    check_close(biased.omitted().omitted().constant("bias", one.bias).run1(), added(one.expected(), Reals(one.bias)),
                1e-5);
  }
}

TEST_CASE("MatMulNBits: halves") {
  NBitsCase one(3);
  one.draw();
  const auto half = [](const NdArray& array) {
    NdArray result(DType::float16, array.shape());
    for (std::int64_t i = 0; i < array.count(); ++i) result.set_double(i, array.as_double(i));
    return result;
  };
  one.x = half(one.x), one.scales = half(one.scales);
  const NdArray y = one.node(&one.packed).run1();
  CHECK(y.dtype() == DType::float16);
  check_close(y, one.expected(&one.packed), 2e-3);
  check_close(one.node(&one.real).run1(), one.expected(&one.real), 2e-3);
}

TEST_CASE("MatMulNBits: g_idx gives the group of each row") {
  NBitsCase one(5);
  one.draw();
  const auto run = [&](const std::vector<std::int32_t>& groups, const std::string& form) {
    ContribNode node = one.node(&one.packed);
    node.constant("g_idx", NdArray::from<std::int32_t>({one.k}, groups));
    CHECK(operators(node) == form);
    // The product with a weight whose row k has the scale and zero point of group groups[k].
    Reals w(Shape{one.k, one.n});
    for (std::int64_t k = 0; k < one.k; ++k) {
      const std::int64_t group = groups[static_cast<std::size_t>(k)];
      for (std::int64_t n = 0; n < one.n; ++n) {
        const std::int64_t byte = one.b.as_int64((n * 3 * 16 + k) / 2), step = k % 2 == 0 ? byte % 16 : byte / 16;
        const std::int64_t zeros = one.packed.as_int64(n * 2 + group / 2);
        w[k * one.n + n] = static_cast<double>(step - (group % 2 == 0 ? zeros % 16 : zeros / 16)) *
                           one.scales.as_double(n * 3 + group);
      }
    }
    check_close(node.run1(), product(Reals(one.x), w), 1e-5);
  };
  std::vector<std::int32_t> groups(static_cast<std::size_t>(one.k));
  for (std::size_t k = 0; k < groups.size(); ++k) groups[k] = static_cast<std::int32_t>(k / 16);
  run(groups, "DequantizeLinear MatMul ");
  std::ranges::shuffle(groups, one.rng);  // of the sizes of blocks
  run(groups, "Gather DequantizeLinear MatMul ");
  for (std::size_t k = 0; k < groups.size(); ++k) groups[k] = static_cast<std::int32_t>(k % 4 == 0 ? 2 : k % 2);
  run(groups, "MatMul ");
}

TEST_CASE("MatMulNBits: what is refused, by name") {
  NBitsCase one(6);
  one.draw();
  const auto refusal = [&](auto change) {
    NBitsCase changed = one;
    change(changed);
    return changed.node().refusal();
  };
  CHECK_THAT(refusal([](NBitsCase& c) { c.bits = 3; }), ContainsSubstring("bits is 3, but must be 2, 4 or 8"));
  CHECK_THAT(refusal([](NBitsCase& c) { c.block = 0; }), ContainsSubstring("block_size 0"));
  CHECK_THAT(refusal([](NBitsCase& c) { c.block = 32; }), ContainsSubstring("B has shape [3, 3, 8]"));
  CHECK_THAT(refusal([](NBitsCase& c) { c.block = 3; }), ContainsSubstring("its blocks have 12 bits"));
  CHECK_THAT(refusal([](NBitsCase& c) { c.k = std::int64_t{1} << 62; }),
             ContainsSubstring("each must be between 1 and 2^30"));
  CHECK_THAT(refusal([](NBitsCase& c) { c.k = 41; }), ContainsSubstring("A has shape [2, 40], but K is 41"));
  CHECK_THAT(refusal([](NBitsCase& c) { c.b = NdArray(DType::int8, c.b.shape()); }), ContainsSubstring("B is int8"));
  CHECK_THAT(refusal([](NBitsCase& c) {
               c.scales = NdArray(DType::float32, {2, 3});
             }),
             ContainsSubstring("scales has shape [2, 3]") && ContainsSubstring("expected 9 elements"));
  CHECK_THAT(refusal([](NBitsCase& c) {
               c.scales = NdArray(DType::int32, {3, 3});
             }),
             ContainsSubstring("scales are int32"));
  const NdArray integers(DType::int32, {3, 3}), short_zeros(DType::uint8, {3, 1});
  CHECK_THAT(one.node(&integers).refusal(), ContainsSubstring("zero_points are int32"));
  CHECK_THAT(one.node(&short_zeros).refusal(), ContainsSubstring("zero_points has shape [3, 1]"));
  CHECK_THAT(one.node().with("zero", 1).refusal(), ContainsSubstring("attribute zero is not supported"));
  CHECK_THAT(one.node().with("weight_prepacked", 1).refusal(), ContainsSubstring("weight_prepacked is not 0"));
  const auto with_groups = [&](const NdArray& groups) {
    return one.node(&one.packed).constant("g_idx", groups).refusal();
  };
  CHECK_THAT(with_groups(NdArray(DType::int32, {39})), ContainsSubstring("g_idx is int32 [39]"));
  NdArray beyond(DType::int32, {40});
  beyond.set_int64(7, 3);
  CHECK_THAT(with_groups(beyond), ContainsSubstring("g_idx[7] is 3") && ContainsSubstring("from 0 to 2"));
  CHECK_THAT(one.node(&one.packed).omitted().constant("bias", NdArray(DType::float32, {1})).refusal(),
             ContainsSubstring("bias has shape [1]"));
  ContribNode computed{"MatMulNBits"};
  computed.input("x", one.x).input("b", one.b).constant("scales", one.scales);
  CHECK_THAT(computed.with("K", one.k).with("N", one.n).with("block_size", one.block).refusal(),
             ContainsSubstring("are computed at run time"));
}

}  // namespace
}  // namespace dovetail
