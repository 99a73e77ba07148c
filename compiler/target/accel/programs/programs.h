// The accelerator's form of each operator as a naive loop program: channels padded to blocks, zero points folded into
// biases, the epilogue as a chain of in-place ALU stages. Schedules (schedules.h) tile and tensorize these; lowering
// turns the result into instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/fixed_point.h"
#include "compiler/target/accel/programs/layout.h"
#include "compiler/target/accel/programs/piecewise_linear.h"
#include "loops/ir.h"

namespace dovetail::accel {

inline loops::Expr int32(std::int64_t value) { return loops::int_imm(value, DType::int32); }

// The conversion of an int32 accumulator to int8: y = clamp(round_half_even((acc + bias) * scale) + zero_point, y_min,
// y_max), exactly, on any hardware.
struct Epilogue {
  // make_epilogue (select.cpp) chooses the form by hardware and scales.
  enum class Form : std::uint8_t {
    requant,      // the extension: one ALU pass, any scale
    fixed_point,  // base hardware: wrapping passes (fixed_point.h)
  };
  Form form = Form::requant;
  OutputRange range;
  FixedPoint fixed_point;
  bool saturate = false;  // the store clamps to [-128, 127] itself

  std::int64_t words() const;  // constants per channel
};

// The constants of an epilogue, int32 [batch, channels, words]. Precondition: every scale is valid for the form.
NdArray epilogue_constants(const Epilogue& epilogue, std::int64_t batch, std::int64_t channels,
                           std::span<const std::int32_t> bias, std::span<const float> scale);

// The constants of an epilogue that ends its products (extension `epilogue`), int8 [channels, block_in].
NdArray epilogue_parameters(const Epilogue& epilogue, std::int64_t channels, std::int64_t block_in,
                            std::span<const std::int32_t> bias, std::span<const float> scale);

// The multiplier of an addition's operand on hardware without `requant`: round_half_even(a * multiplier) is computed
// from an integer part and a fraction of `fraction_bits` bits, multiplier = integer + fraction / 2^fraction_bits. Both
// have the sign of the multiplier, and the fraction is odd.
struct SplitMultiplier {
  std::int32_t integer = 1, fraction = 0;
  int fraction_bits = 0;

  std::int64_t significand() const { return (std::int64_t{integer} << fraction_bits) + fraction; }
  bool has_ties() const;  // a product may be halfway between two integers
  bool in_one() const;    // a * significand fits int32
};
// nullopt where |a| <= 255 times one of the parts would not fit.
std::optional<SplitMultiplier> split_multiplier(float multiplier);

struct ConvSpec {
  std::string name;
  TensorLayout x, y;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  bool pads_in_load = false;     // LOAD makes the zero pads; else the border of x has them
  std::int64_t groups = 1;       // block groups (block_groups.h)
  bool uniform_weights = false;  // the same weight for all channels and taps of a depthwise convolution
  // Of a depthwise convolution by WINDOW: the pixels that a stripe pushes for each column (window_products.h). 0: GEMM.
  std::int64_t pushes = 0;
  Epilogue epilogue;
  bool table = false;  // the result is a table's entry for the epilogue's result, which the table clamps
};
// Whether the products of the convolution end with its epilogue: if the hardware can, and the result is stored.
bool requantizes_products(const ConvSpec& spec, const Core& config, bool fused);

// The way in which an int8 operand is widened to int32 in ACC.
enum class Widening : std::uint8_t {
  load,  // LOAD ACC8: needs no other instruction, but runs in the compute queue with its latency
  gemm,  // LOAD INP in the load queue, and a product with the identity: one step per element; needs blocks of equal
         // sizes
};
// The way that uses fewer cycles of the compute queue per element.
Widening cheapest_widening(const Core& config);
// int8 [block, block] for blocks of the layout, `factor` times the identity: the operand I of programs with
// Widening::gemm, and IA and IB of sums of products.
NdArray identity_weights(const Core& config, std::int32_t factor = 1);

// The sum of two operands, or of one and a constant. If their multipliers are integers that int8 weights can hold, the
// operands are multiplied by GEMM as they are widened: the sum of these products has an epilogue as a convolution's.
// Otherwise each operand is widened, centered and scaled by passes of the ALU.
struct AddSpec {
  std::string name;
  TensorLayout a, b, y;                     // equal logical extents
  bool constant_b = false;                  // b is a constant of each channel: the bias of the epilogue
  std::int32_t a_factor = 0, b_factor = 0;  // integer multipliers; 0: other multipliers
  Widening widening = Widening::load;
  SplitMultiplier a_multiplier, b_multiplier;  // used without `requant`
  Epilogue epilogue;                           // of the sum

  bool is_of_products() const { return a_factor != 0; }
  // Channels with separate constants of the epilogue: all, or those of one block that serve all blocks.
  std::int64_t constant_channels(const Core& config) const { return constant_b ? y.padded_c() : config.block_out; }
};
// Whether the products of the sum end with its epilogue.
bool requantizes_products(const AddSpec& spec, const Core& config);
// Constants of one operand, int32 [batch, block_out, operand_words]: with `requant` the multiplier's bits and
// -zero_point; else -zero_point and those of Stages::multiplied.
std::int64_t operand_words(const AddSpec& spec);
NdArray operand_constants(const AddSpec& spec, const Core& config, std::int32_t zero_point, float multiplier,
                          const SplitMultiplier& split);
// Parameters A, B, [I,] KA, KB, K, Y; of products A, B, IA, IB, and K, or P if products end with the epilogue, Y. If b
// is constant, without B, IB and KB, and K or P has constants of each channel.
loops::Program add_program(const AddSpec& spec, const Core& config);

// The product of two tensors, or of one and a value for each of its channels (vector_b: b has a single pixel).
struct ProductSpec {
  std::string name;
  TensorLayout a, b, y;
  bool vector_b = false;
  Widening widening = Widening::load;  // of a, and of b if it is not a vector
  Epilogue epilogue;
};
// int32 [batch, block_out, 1]: -zero_point.
NdArray center_constants(const Core& config, std::int32_t zero_point);
// Parameters A, B, [I,] KA, KB, K, Y.
loops::Program product_program(const ProductSpec& spec, const Core& config);

struct MaxPoolSpec {
  std::string name;
  TensorLayout x, y;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;
  Widening widening = Widening::load;
  // Reduces along columns of the window, then along rows, in place: only with Widening::gemm and if is_separable(). The
  // border of x has the pads, -128.
  bool separable = false;
};
// Whether each result can be stored in the place of one element that only its window reads: positions in the image
// with the same remainder of the stride are places apart, and one of these has a single element of each window.
bool is_separable(const MaxPoolSpec& spec);

// Parameters X int8 [n, c, h, w] (program shape), W int8 (weight_shape of block_groups.h), K int32 [batch, o, words], Y
// int8 (program shape; only the interior is written). Blocks: [pad], conv, epilogue stages, out. If products end with
// the epilogue (requantizes_products), parameter P (epilogue_parameters) takes the place of K.
// With `addition`, its operand a is the convolution's result, which is clamped to int8 and stays in ACC, and b is
// parameter B: [I,] B, KA, KB and KS, the constants of the sum, are additional parameters; only KA and KS where b is
// constant; B, IB and KS, or only KS, if it is of products. With `pooling`, for which is_separable() and
// reduces_in_place() hold, y is the layout of its result. Accumulators are reduced before the epilogue, so it must not
// decrease where they increase: scales are not negative. Blocks: [pad], r<row>c<column>.conv of each place in the
// windows, maxima, epilogue stages, out.
loops::Program conv_program(const ConvSpec& spec, const Core& config, const AddSpec* addition = nullptr,
                            const MaxPoolSpec* pooling = nullptr);

// Parameters X, [I,] Y. Taps outside of the image are left out, except for separable windows.
loops::Program max_pool_program(const MaxPoolSpec& spec, const Core& config);

// Pixels along an axis, at regular steps.
struct Positions {
  std::int64_t first = 0, step = 1, count = 1;
  bool operator==(const Positions&) const = default;
};
// A box of the result's pixels, in some of its blocks of channels, as a sum of terms. Each term gives for each block of
// the result a block of an input's channels, whole or with selected channels. A sum of one whole block is a copy (Clip,
// Concat).
struct MoveSpec {
  struct Term {
    std::size_t input = 0;  // input of the operation
    TensorLayout x;
    std::int64_t first_block = 0;  // block of x for the first block of the result; then consecutive blocks
    Positions rows, columns;       // positions in x; as many as in the result
    // For each channel of a block, the channel of x's block, or -1 if it is not part of this term; empty: all channels
    // in order. A product selects channels, so this needs Widening::gemm.
    std::vector<std::int64_t> channels;
    bool selects() const { return !channels.empty(); }
  };
  std::string name;
  TensorLayout y;
  std::int64_t first_block = 0, blocks = 1;  // blocks of y
  Positions rows, columns;                   // positions in y
  std::vector<Term> terms;                   // none: the result is `fill`
  std::int32_t fill = 0;
  std::int32_t y_min = -128, y_max = 127;
  Widening widening = Widening::load;
};
// The weights that select the term's channels: int8 [block, block], with the layout's block.
NdArray selection_weights(const MoveSpec::Term& term);
// Parameters X<t> for each term, [I,] [I<t> for each term that selects channels,] Y. Copies through ACC.
loops::Program move_program(const MoveSpec& spec, const Core& config);

// The table T, int16 [1, 256]. Precondition: the extension `table`.
NdArray table_constants(std::span<const std::int8_t> table);

struct TableSpec {
  std::string name;
  TensorLayout x, y;
  Widening widening = Widening::load;
};
// Parameters X0, [I,] T, Y.
loops::Program table_program(const TableSpec& spec, const Core& config);

struct LinesSpec {
  std::string name;
  TensorLayout x, y;
  Epilogue::Form form = Epilogue::Form::requant;
  PiecewiseLinear lines;
  bool saturate = false;  // the store clamps to [-128, 127] itself
  Widening widening = Widening::load;

  bool by_channel() const { return lines.slopes.size() > 1; }
  std::int64_t words() const { return form == Epilogue::Form::requant ? 4 : 2; }
};
// int32 [batch, channels, words]; channels: those of the result if each has its own slopes, else those of one block.
NdArray lines_constants(const LinesSpec& spec, const Core& config);
// Parameters X0, X1 (the same tensor; X1 only with `requant`), [I,] K, Y.
loops::Program lines_program(const LinesSpec& spec, const Core& config);

}  // namespace dovetail::accel
