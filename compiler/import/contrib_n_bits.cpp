// MatMulNBits: a product with weights of 2, 4 or 8 bits, which have a scale per block of rows.
//
//   Y = A W' + bias, W[n, k] = (B[n, k] - zero_points[n, g]) * scales[n, g], g = k // block_size, or g_idx[k] if given
//
// B [N, blocks, block_size * bits / 8] and zero_points [N, ceil(blocks * bits / 8)] hold the elements of a row one
// after the other, the first one in the lowest bits. zero_points may also be floats [N, blocks]; without them, each is
// 2^(bits - 1). Definition: ONNX Runtime's page of contrib operators.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/import/domain_rows.h"
#include "compiler/ops/packed_gemm.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

class NBits {
 public:
  explicit NBits(NodeWriter& writer) : writer_(writer) {}

  Result<void> run() {
    DOVETAIL_TRY(read_form());
    DOVETAIL_TRY(read_operands());
    DOVETAIL_TRY(read_groups());
    ValueId x = writer_.in(0);
    const std::int64_t last_axis = static_cast<std::int64_t>(writer_.shape(0).size()) - 1;
    if (!order_.empty())
      x = writer_.op("Gather", "ordered", {x, writer_.integers("order", order_)}, {{"axis", last_axis}},
                     writer_.type(0));
    if (!groups_.empty() && order_.empty()) finish("MatMul", {x, expanded()});
    else if (zeros_ && is_floating(zeros_->dtype())) finish_packed(x);
    else finish("MatMul", {x, dequantized()});
    return {};
  }

 private:
  // The node becomes that product, or the bias added to it.
  void finish(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes = {}) {
    if (writer_.has(5))
      writer_.finish("Add", {writer_.op(op, "product", std::move(inputs), std::move(attributes)), writer_.in(5)});
    else writer_.finish(op, std::move(inputs), std::move(attributes));
  }

  Result<void> read_form() {
    k_ = writer_.integer("K", 0), n_ = writer_.integer("N", 0);
    bits_ = writer_.integer("bits", 4), block_ = writer_.integer("block_size", 0);
    if (bits_ != 2 && bits_ != 4 && bits_ != 8)
      return writer_.refused(fmt::format("bits is {}, but must be 2, 4 or 8", bits_),
                             "quantize with a supported number of bits");
    if (writer_.integer("weight_prepacked", 0) != 0)
      return writer_.refused("weight_prepacked is not 0", "store B in the layout of the operator's definition");
    constexpr std::int64_t kMost = std::int64_t{1} << 30;  // no product below overflows
    if (std::min({k_, n_, block_}) < 1 || std::max({k_, n_, block_}) > kMost)
      return writer_.refused(fmt::format("K is {}, N {}, block_size {}", k_, n_, block_),
                             "each must be between 1 and 2^30");
    if (writer_.shape(0).empty() || writer_.shape(0).back() != k_)
      return writer_.refused(fmt::format("A has shape {}, but K is {}", to_string(writer_.shape(0)), k_),
                             "the last axis of A must have K elements");
    blocks_ = (k_ + block_ - 1) / block_;
    return {};
  }

  Result<void> require_count(const char* what, const NdArray& array, std::int64_t expected) const {
    if (array.count() == expected) return {};
    return writer_.refused(fmt::format("{} has shape {}", what, to_string(array.shape())),
                           fmt::format("expected {} elements", expected));
  }

  Result<void> read_operands() {
    const NdArray *b = writer_.constant_input(1), *scales = writer_.constant_input(2),
                  *zeros = writer_.constant_input(3);
    if (b == nullptr || scales == nullptr || (writer_.has(3) && zeros == nullptr))
      return writer_.refused("the weight, scales or zero points are computed at run time", "make them initializers");
    if (b->dtype() != DType::uint8 || block_ * bits_ % 8 != 0)
      return writer_.refused(fmt::format("B is {}, and its blocks have {} bits", name(b->dtype()), block_ * bits_),
                             "B must be uint8, and the bits of each block a multiple of 8");
    DOVETAIL_TRY(require_count("B", *b, n_ * blocks_ * (block_ * bits_ / 8)));
    DOVETAIL_TRY(require_count("scales", *scales, n_ * blocks_));
    if (!is_floating(scales->dtype()))
      return writer_.refused(fmt::format("scales are {}", name(scales->dtype())), "give the type of A");
    steps_ = *b, scale_dtype_ = scales->dtype();
    scales_ = NdArray(DType::float32, {n_, blocks_});
    for (std::int64_t i = 0; i < scales->count(); ++i) scales_.set_double(i, scales->as_double(i));
    if (writer_.has(5) && writer_.shape(5) != Shape{n_})
      return writer_.refused(fmt::format("bias has shape {}", to_string(writer_.shape(5))),
                             fmt::format("expected [{}]", n_));
    return zeros == nullptr ? Result<void>() : read_zero_points(*zeros);
  }

  // Zero points as the operator's: less 2^(bits - 1), as its steps are.
  Result<void> read_zero_points(const NdArray& given) {
    const bool packed = given.dtype() == DType::uint8;
    const std::int64_t row_bytes = (blocks_ * bits_ + 7) / 8;
    DOVETAIL_TRY(require_count("zero_points", given, n_ * (packed ? row_bytes : blocks_)));
    if (!packed && !is_floating(given.dtype()))
      return writer_.refused(fmt::format("zero_points are {}", name(given.dtype())), "give uint8 or the type of A");
    NdArray zeros(packed ? DType::int8 : DType::float32, {n_, blocks_});
    bool all_zero = true;
    for (std::int64_t i = 0; i < zeros.count(); ++i) {
      const double zero =
          packed ? static_cast<double>(element(given, i / blocks_ * row_bytes, i % blocks_)) : given.as_double(i);
      zeros.set_double(i, zero + static_cast<double>(ops::least_step(bits_)));
      all_zero &= zeros.as_double(i) == 0;
    }
    if (!all_zero) zeros_ = std::move(zeros);
    return {};
  }

  // Element `i` of a row of packed elements.
  std::int64_t element(const NdArray& bytes, std::int64_t row_start, std::int64_t i) const {
    const std::int64_t per_byte = 8 / bits_;
    const std::uint8_t byte = bytes.data<std::uint8_t>()[static_cast<std::size_t>(row_start + i / per_byte)];
    return byte >> (i % per_byte * bits_) & ((std::int64_t{1} << bits_) - 1);
  }
  std::int64_t step(std::int64_t k, std::int64_t n) const {
    return element(steps_, n * blocks_ * block_ * bits_ / 8, k) + ops::least_step(bits_);
  }

  // g_idx: the group of each row. If each group has the rows of a block, `order_` sorts the rows by groups.
  Result<void> read_groups() {
    if (!writer_.has(4)) return {};
    const NdArray* given = writer_.constant_input(4);
    if (given == nullptr) return writer_.refused("g_idx is computed at run time", "make it an initializer");
    if (given->dtype() != DType::int32 || given->shape().size() != 1 || given->count() < k_)
      return writer_.refused(fmt::format("g_idx is {} {}", name(given->dtype()), to_string(given->shape())),
                             fmt::format("it must be int32 [{}]", k_));
    std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(blocks_));
    bool in_order = true;
    for (std::int64_t k = 0; k < k_; ++k) {
      const std::int64_t group = given->as_int64(k);
      if (group < 0 || group >= blocks_)
        return writer_.refused(fmt::format("g_idx[{}] is {}", k, group),
                               fmt::format("a group is a number from 0 to {}", blocks_ - 1));
      groups_.push_back(group);
      rows[static_cast<std::size_t>(group)].push_back(k);
      in_order &= group == k / block_;
    }
    if (in_order) {
      groups_.clear();
      return {};
    }
    for (std::int64_t g = 0; g < blocks_; ++g) {
      const auto& members = rows[static_cast<std::size_t>(g)];
      if (static_cast<std::int64_t>(members.size()) != std::min(block_, k_ - g * block_)) {
        order_.clear();
        return {};
      }
      order_.insert(order_.end(), members.begin(), members.end());
    }
    return {};
  }

  std::int64_t row_of(std::int64_t k) const { return order_.empty() ? k : order_[static_cast<std::size_t>(k)]; }

  // The weight [K, N], quantized in blocks as ONNX defines it; pack_block_weights packs it again.
  ValueId dequantized() {
    NdArray steps(DType::uint8, {k_, n_}), zeros(DType::uint8, {blocks_, n_}), scales(scale_dtype_, {blocks_, n_});
    const auto bytes = steps.data<std::uint8_t>();
    for (std::int64_t k = 0; k < k_; ++k)
      for (std::int64_t n = 0, row = row_of(k); n < n_; ++n)
        bytes[static_cast<std::size_t>(k * n_ + n)] = static_cast<std::uint8_t>(step(row, n) - ops::least_step(bits_));
    for (std::int64_t b = 0; b < blocks_; ++b)
      for (std::int64_t n = 0; n < n_; ++n) {
        scales.set_double(b * n_ + n, scales_.as_double(n * blocks_ + b));
        zeros.set_int64(b * n_ + n, (zeros_ ? zeros_->as_int64(n * blocks_ + b) : 0) - ops::least_step(bits_));
      }
    const ValueId weight =
        writer_.op("DequantizeLinear", "dequantize",
                   {writer_.constant("steps", std::move(steps)), writer_.constant("scales", std::move(scales)),
                    writer_.constant("zero_points", std::move(zeros))},
                   {{"axis", std::int64_t{0}}, {"block_size", block_}}, graph::TensorType{scale_dtype_, {k_, n_}});
    return writer_.cast(weight, "weight", writer_.type(0).dtype);
  }

  // ONNX has no zero points of floats.
  void finish_packed(ValueId x) {
    ops::PackedWeights weights({k_, n_, bits_, std::min(block_, k_)}, std::move(scales_), std::move(zeros_));
    for (std::int64_t n = 0; n < n_; ++n)
      for (std::int64_t k = 0; k < k_; ++k) weights.set_step(k, n, step(row_of(k), n));
    Shape shape = writer_.shape(0);
    const bool reshapes = shape.size() != 2;
    const std::int64_t rows = element_count(Shape(shape.begin(), shape.end() - 1));
    if (reshapes) x = writer_.reshape(x, "rows", {rows, k_});
    std::vector<ValueId> inputs{x, writer_.constant("weight", std::move(weights.words)),
                                writer_.constant("scales", std::move(weights.scales)),
                                writer_.constant("zero_points", *std::move(weights.zero_points))};
    graph::Attributes attributes{{"bits", bits_}, {"block_size", weights.shape.block}};
    if (!reshapes) return finish("dovetail.packed_gemm", std::move(inputs), std::move(attributes));
    shape.back() = n_;
    const ValueId product = writer_.op("dovetail.packed_gemm", "packed", std::move(inputs), std::move(attributes),
                                       graph::TensorType{writer_.type(0).dtype, {rows, n_}});
    finish("Reshape", {product, writer_.integers("shape", shape)});
  }

  // Groups of unequal sizes: the weight as floats.
  ValueId expanded() {
    NdArray weight(writer_.type(0).dtype, {k_, n_});
    for (std::int64_t k = 0; k < k_; ++k)
      for (std::int64_t n = 0; n < n_; ++n) {
        const std::int64_t group = n * blocks_ + groups_[static_cast<std::size_t>(k)];
        const auto zero = zeros_ ? static_cast<float>(zeros_->as_double(group)) : 0.0f;
        weight.set_double(k * n_ + n,
                          (static_cast<float>(step(k, n)) - zero) * static_cast<float>(scales_.as_double(group)));
      }
    writer_.note(fmt::format("{}: the groups of g_idx have unequal sizes, so the weight is stored as {}",
                             writer_.node().name, name(weight.dtype())));
    return writer_.constant("weight", std::move(weight));
  }

  NodeWriter& writer_;
  std::int64_t k_ = 0, n_ = 0, bits_ = 4, block_ = 0, blocks_ = 0;
  NdArray steps_, scales_;
  DType scale_dtype_ = DType::float32;
  std::optional<NdArray> zeros_;
  std::vector<std::int64_t> groups_, order_;  // of rows; empty: in order
};

Result<void> write_matmul_n_bits(NodeWriter& writer) { return NBits(writer).run(); }

}  // namespace

std::vector<DomainRow> contrib_n_bits_rows() {
  constexpr auto integer = ops::AttributeKind::integer;
  constexpr auto required = ops::Presence::required;
  return {{"com.microsoft.MatMulNBits",
           write_matmul_n_bits,
           // The least accuracy of a runtime's products; here they are those of floats.
           {{"K", integer, required},
            {"N", integer, required},
            {"accuracy_level", integer},
            {"bits", integer},
            {"block_size", integer, required},
            {"weight_prepacked", integer}},
           6,
           3,
           {1, 2, 3, 4}}};
}

}  // namespace dovetail::import
