#include "compiler/prepare/round_factors.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/contraction.h"
#include "compiler/schedule/nest.h"
#include "loops/threads/fetch.h"

namespace dovetail::prepare {

using namespace loops;

namespace {

// Half of the last place, and the places that a TF32 number has.
constexpr std::uint32_t kHalf = 0x1000, kPlaces = 0xffffe000;

}  // namespace

Expr rounded_to_tf32(const Expr& value) {
  const Expr bits = bitcast(DType::uint32, value);
  const Expr rounded = binary(BinaryOp::bit_and, bits + int_imm(kHalf, DType::uint32), int_imm(kPlaces, DType::uint32));
  // Carries out of the significand of a NaN would change its exponent or sign.
  return select(binary(BinaryOp::eq, value, value), bitcast(DType::float32, rounded), value + value);
}

NdArray rounded_to_tf32(const NdArray& values) {
  NdArray rounded = values;
  for (float& value : rounded.data<float>())
    value = std::isnan(value) ? value + value
                              : std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + kHalf) & kPlaces);
  return rounded;
}

std::vector<Buffer> float32_factors(const Program& program, const std::string& main) {
  const auto path = schedule::find_block(program.body, main);
  if (!path) return {};
  const auto product = schedule::require_contraction(*path, "round_factors");
  if (!product.ok()) return {};
  std::vector<Buffer> factors;
  for (const schedule::Contraction::Factor* factor : {&product->left, &product->right}) {
    const auto moved = Moved::of(factor->stored);
    if (!moved || factor->stored->dtype != DType::float32 || moved->load->buffer->dtype != DType::float32 ||
        (moved->condition && !moved->is_zero_otherwise()))
      return {};
    factors.push_back(moved->load->buffer);
  }
  return factors;
}

}  // namespace dovetail::prepare
