// d = op(a, b) over the lanes.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "loops/interpreter/element.h"
#include "loops/interpreter/kernels.h"
#include "loops/interpreter/scalar_ops.h"

namespace dovetail::loops {
namespace {

template <typename E, BinaryOp op>
const Instr* run_binary(const Instr* i, Frame& f) {
  using R = typename E::Reg;
  using D = std::conditional_t<(op >= BinaryOp::eq), std::uint8_t, R>;
  const R* __restrict a = f.in<R>(i->a);
  const R* __restrict b = f.in<R>(i->b);
  D* __restrict d = f.own<D>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  if constexpr (divides<E, op>) {
    const std::uint8_t* mask = i->mask < 0 ? nullptr : f.in<std::uint8_t>(i->mask);
    for (std::int64_t l = 0; l < n; ++l) {
      const bool active = mask == nullptr || mask[l] != 0;
      if (op == BinaryOp::pow ? a[l] == 0 && b[l] < 0 : b[l] == 0) {  // zero to a negative power divides by zero
        if (active) return f.fail(i, 0);
        d[l] = 0;
      } else {
        d[l] = scalar_op<E, op>(a[l], b[l]);
      }
    }
  } else {
    for (std::int64_t l = 0; l < n; ++l) d[l] = scalar_op<E, op>(a[l], b[l]);
  }
  return i + 1;
}

template <typename E, BinaryOp op>
const Instr* run_reduce(const Instr* i, Frame& f) {
  using R = typename E::Reg;
  using M = typename E::Mem;
  const R* __restrict a = f.in<R>(i->a);
  M* place = reinterpret_cast<M*>(f.memory[i->buffer]) + f.affine[i->base];
  const std::int64_t n = f.lanes[i->wide];
  // If no lane runs, the location may be outside the buffer.
  if (i->mask >= 0) {
    const std::uint8_t* mask = f.in<std::uint8_t>(i->mask);
    if (std::all_of(mask, mask + n, [](std::uint8_t lane) { return lane == 0; })) return i + 1;
  }
  R total = E::read(*place);
  if (i->mask < 0) {
    for (std::int64_t l = 0; l < n; ++l) total = scalar_op<E, op>(total, a[l]);
  } else {
    const std::uint8_t* mask = f.in<std::uint8_t>(i->mask);
    for (std::int64_t l = 0; l < n; ++l)
      if (mask[l] != 0) total = scalar_op<E, op>(total, a[l]);
  }
  *place = E::write(total);
  return i + 1;
}

template <typename E, std::size_t... ops>
Kernel pick_binary(BinaryOp op, std::index_sequence<ops...>) {
  Kernel kernel = nullptr;
  const auto one = [&]<BinaryOp candidate>() {
    if constexpr (defined_on<E>(candidate)) {
      if (op == candidate) kernel = run_binary<E, candidate>;
    }
  };
  (one.template operator()<static_cast<BinaryOp>(ops)>(), ...);
  return kernel;
}

}  // namespace

Kernel binary_kernel(BinaryOp op, DType dtype) {
  return with_element(dtype, [&]<typename E>() {
    return pick_binary<E>(op, std::make_index_sequence<static_cast<std::size_t>(BinaryOp::logical_or) + 1>());
  });
}

Kernel reduce_kernel(BinaryOp op, DType dtype) {
  return with_element(dtype, [&]<typename E>() -> Kernel {
    switch (op) {
      case BinaryOp::min: return run_reduce<E, BinaryOp::min>;
      case BinaryOp::max: return run_reduce<E, BinaryOp::max>;
      default: break;
    }
    if constexpr (is_bool_element<E>) {
      switch (op) {
        case BinaryOp::logical_and: return run_reduce<E, BinaryOp::logical_and>;
        case BinaryOp::logical_or: return run_reduce<E, BinaryOp::logical_or>;
        default: return nullptr;
      }
    } else {
      switch (op) {
        case BinaryOp::add: return run_reduce<E, BinaryOp::add>;
        case BinaryOp::sub: return run_reduce<E, BinaryOp::sub>;
        case BinaryOp::mul: return run_reduce<E, BinaryOp::mul>;
        default: return nullptr;
      }
    }
  });
}

}  // namespace dovetail::loops
