// dovetail.packed_gemm: float activations, weights of 2, 4 or 8 bits with a scale per block of rows
// (docs/reference/quantization.md).
//
//   y[m, n] = sum over k of x[m, k] * ((step[k, n] - zero_point[n, k // block]) * scale[n, k // block])
//
// Products and sums are float32. For few rows the scale multiplies the sum of a block instead of each weight.
//
// A step becomes a float by one shift and one mask: they leave it in the uppermost bits of a word, which is then
// step * 2^(32 - bits). Zero points are multiplied by the same power of two, scales by its inverse, both exactly. So a
// processor unpacks a vector of columns in registers in three instructions. Sums of a block overflow from 2^100 instead
// of 2^128, and scales below 2^-96 lose bits.
#include "compiler/ops/packed_gemm.h"

#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {

PackedWeights::PackedWeights(const PackedShape& packed, NdArray scales_, std::optional<NdArray> zero_points_)
    : shape(packed),
      words(DType::int32, {packed.columns, packed.words()}),
      scales(std::move(scales_)),
      zero_points(std::move(zero_points_)) {}

void PackedWeights::set_step(std::int64_t k, std::int64_t n, std::int64_t step) {
  const std::int64_t each = shape.steps_per_word();
  auto& word = words.data<std::int32_t>()[static_cast<std::size_t>(n * shape.words() + k / each)];
  const auto shift = static_cast<unsigned>(k % each * shape.bits);
  const std::uint32_t field = ((std::uint64_t{1} << shape.bits) - 1) << shift;
  word = static_cast<std::int32_t>((static_cast<std::uint32_t>(word) & ~field) |
                                   ((static_cast<std::uint32_t>(step) << shift) & field));
}

namespace {

using loops::BinaryOp;
using loops::Expr;

enum : std::size_t { kX = 0, kWords = 1, kScales = 2, kZeroPoints = 3 };

// With so few rows a weight is used so few times that multiplying it by its scale would be a large part of the work.
constexpr std::int64_t kFewRows = 8;

PackedShape packed_shape(const Operands& operands) {
  return {operands.type(kX).shape[1], operands.type(kWords).shape[0], graph::int_attribute(operands.node, "bits", 0),
          graph::int_attribute(operands.node, "block_size", 0)};
}

Result<void> require_shape(const Operands& operands, std::size_t input, const char* what, const Shape& expected) {
  if (!operands.has(input) || operands.type(input).shape == expected) return {};
  return refuse(operands, fmt::format("{} has shape {}", what, to_string(operands.type(input).shape)),
                fmt::format("expected {}", to_string(expected)));
}

Result<Types> infer_packed_gemm(const Operands& operands) {
  const graph::TensorType &x = operands.type(kX), &w = operands.type(kWords);
  if (x.shape.size() != 2 || w.shape.size() != 2)
    return refuse(operands, fmt::format("x has shape {} and w {}", to_string(x.shape), to_string(w.shape)),
                  "x must be [M, K], w [N, words]");
  const PackedShape packed = packed_shape(operands);
  if (packed.bits != 2 && packed.bits != 4 && packed.bits != 8)
    return refuse(operands, fmt::format("bits is {}", packed.bits), "it must be 2, 4 or 8");
  if (packed.block < 1 || packed.block > packed.depth)
    return refuse(operands, fmt::format("block_size is {}, but K is {}", packed.block, packed.depth),
                  "it must be between 1 and K");
  DOVETAIL_TRY(require_shape(operands, kWords, "w", {packed.columns, packed.words()}));
  DOVETAIL_TRY(require_shape(operands, kScales, "scale", {packed.columns, packed.blocks()}));
  DOVETAIL_TRY(require_shape(operands, kZeroPoints, "zero_point", {packed.columns, packed.blocks()}));
  return Types{{x.dtype, {x.shape[0], packed.columns}}};
}

class PackedGemm {
 public:
  explicit PackedGemm(const Operands& operands)
      : operands_(operands), packed_(packed_shape(operands)), program_(operands) {}

  Result<loops::Program> define() {
    const std::int64_t rows = operands_.type(kX).shape[0];
    const Axes axes{{"m", rows}, {"n", packed_.columns}};
    const loops::Buffer sum = rows <= kFewRows ? scaled_block_sums(axes) : product(axes);
    const DType dtype = operands_.output(0).dtype;
    if (dtype == DType::float32) return program_.finish({sum});
    return program_.finish({program_.compute(
        "narrow", dtype, axes, [&](const Indices& i) { return loops::cast(dtype, loops::load(sum, i)); })});
  }

 private:
  loops::Buffer product(const Axes& axes) {
    const loops::Buffer weights =
        program_.compute("dequantize", DType::float32, {{"k", packed_.depth}, axes[1]}, [&](const Indices& i) {
          const Expr block = loops::floor_div(i[0], packed_.block);
          return weight(i[0], i[1], block) * scale(i[1], block);
        });
    return program_.reduce("gemm", DType::float32, axes, {{"k", packed_.depth}}, tensor::product_sum_reducer(),
                           [&](const Indices& i, const Indices& r) {
                             return activation(i[0], r[0]) * loops::load(weights, {r[0], i[1]});
                           });
  }

  loops::Buffer scaled_block_sums(const Axes& axes) {
    Axes by_block = axes;
    by_block.push_back({"b", packed_.blocks()});
    const bool padded = packed_.depth % packed_.block != 0;  // the last block, by zeros
    const loops::Buffer sums = program_.reduce(
        "block_sums", DType::float32, by_block, {{"j", packed_.block}}, tensor::product_sum_reducer(),
        [&](const Indices& i, const Indices& r) {
          const Expr k = i[2] * packed_.block + r[0];
          const Expr x = activation(i[0], k);
          const Expr inside = loops::binary(BinaryOp::lt, k, loops::int_imm(packed_.depth));
          return (padded ? loops::select(inside, x, loops::constant(0, DType::float32)) : x) * weight(k, i[1], i[2]);
        });
    return program_.reduce("scaled_sums", DType::float32, axes, {{"b", packed_.blocks()}},
                           tensor::product_sum_reducer(), [&](const Indices& i, const Indices& r) {
                             return loops::load(sums, {i[0], i[1], r[0]}) * scale(i[1], r[0]);
                           });
  }

  Expr activation(const Expr& m, const Expr& k) const {
    return loops::cast(DType::float32, loops::load(program_.in(kX), {m, k}));
  }

  // The step minus its zero point, times 2^(32 - bits): its bits are the uppermost ones of a word.
  Expr weight(const Expr& k, const Expr& n, const Expr& block) const {
    const std::int64_t each = packed_.steps_per_word();
    const Expr word = loops::load(program_.in(kWords), {n, loops::floor_div(k, each)});
    const Expr above = tensor::index(32 - packed_.bits) - loops::floor_mod(k, each) * packed_.bits;
    const Expr top = loops::binary(BinaryOp::shl, word, loops::cast(DType::int32, above));
    const Expr mask = loops::int_imm(-(std::int64_t{1} << (32 - packed_.bits)), DType::int32);
    const Expr step = loops::cast(DType::float32, loops::binary(BinaryOp::bit_and, top, mask));
    if (!operands_.has(kZeroPoints)) return step;
    const Expr zero_point = loops::cast(DType::float32, loops::load(program_.in(kZeroPoints), {n, block}));
    return step - zero_point * loops::constant(unit(), DType::float32);
  }
  // The scale of such a weight.
  Expr scale(const Expr& n, const Expr& block) const {
    return loops::load(program_.in(kScales), {n, block}) * loops::constant(1 / unit(), DType::float32);
  }
  double unit() const { return std::exp2(32 - packed_.bits); }

  const Operands& operands_;
  PackedShape packed_;
  Naive program_;
};

Result<loops::Program> define_packed_gemm(const Operands& operands) { return PackedGemm(operands).define(); }

}  // namespace

std::vector<OpDef> packed_gemm_ops() {
  return {{"dovetail.packed_gemm",
           Category::complex_out_fusable,
           infer_packed_gemm,
           define_packed_gemm,
           {},
           {{{"x", only(DType::float16) | only(DType::bfloat16) | kFloat32},
             {"w", kInt32},
             {"scale", kFloat32},
             {"zero_point", kInt8 | kFloat32, 0, Presence::optional}},
            {{"bits", AttributeKind::integer, Presence::required},
             {"block_size", AttributeKind::integer, Presence::required}}}}};
}

}  // namespace dovetail::ops
