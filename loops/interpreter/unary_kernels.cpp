// d = op(a), conversions, select and requantize over the lanes.
#include "loops/interpreter/element.h"
#include "loops/interpreter/kernels.h"
#include "loops/interpreter/scalar_ops.h"

namespace dovetail::loops {
namespace {

template <typename E, UnaryOp op>
const Instr* run_float(const Instr* i, Frame& f) {
  using R = typename E::Reg;
  const R* __restrict a = f.in<R>(i->a);
  R* __restrict d = f.own<R>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l) d[l] = E::round(unary_op<op>(a[l]));
  return i + 1;
}

template <typename E, bool infinite>
const Instr* run_classify(const Instr* i, Frame& f) {
  const auto* a = f.in<typename E::Reg>(i->a);
  auto* d = f.own<std::uint8_t>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l) d[l] = infinite ? scalar::is_inf(a[l]) : scalar::is_nan(a[l]);
  return i + 1;
}

template <typename T, UnaryOp op>
const Instr* run_integer(const Instr* i, Frame& f) {
  const T* __restrict a = f.in<T>(i->a);
  T* __restrict d = f.own<T>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l) d[l] = unary_op<op>(a[l]);
  return i + 1;
}

const Instr* run_not(const Instr* i, Frame& f) {
  const auto* a = f.in<std::uint8_t>(i->a);
  auto* d = f.own<std::uint8_t>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l) d[l] = a[l] == 0;
  return i + 1;
}

template <typename E, std::size_t... ops>
Kernel pick_float(UnaryOp op, std::index_sequence<ops...>) {
  Kernel kernel = nullptr;
  const auto one = [&]<UnaryOp candidate>() {
    if constexpr (candidate != UnaryOp::logical_not && candidate != UnaryOp::bit_not && candidate < UnaryOp::is_nan) {
      if (op == candidate) kernel = run_float<E, candidate>;
    }
  };
  (one.template operator()<static_cast<UnaryOp>(ops)>(), ...);
  return kernel;
}

template <typename From, typename To>
const Instr* run_cast(const Instr* i, Frame& f) {
  const auto* __restrict a = f.in<typename From::Reg>(i->a);
  auto* __restrict d = f.own<typename To::Reg>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l) d[l] = scalar::convert<From, To>(a[l]);
  return i + 1;
}

template <typename From, typename To>
const Instr* run_bitcast(const Instr* i, Frame& f) {
  const auto* a = f.in<typename From::Reg>(i->a);
  auto* d = f.own<typename To::Reg>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l) d[l] = scalar::bitcast<From, To>(a[l]);
  return i + 1;
}

template <typename R>
const Instr* run_select(const Instr* i, Frame& f) {
  const auto* __restrict a = f.in<std::uint8_t>(i->a);
  const R* __restrict b = f.in<R>(i->b);
  const R* __restrict c = f.in<R>(i->c);
  R* __restrict d = f.own<R>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l) d[l] = a[l] != 0 ? b[l] : c[l];
  return i + 1;
}

const Instr* run_requantize(const Instr* i, Frame& f) {
  const auto* a = f.in<std::int32_t>(i->a);
  const auto* b = f.in<float>(i->b);
  const auto* c = f.in<std::int32_t>(i->c);
  auto* d = f.own<std::int32_t>(i->d);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l) d[l] = scalar::requantize(a[l], b[l], c[l]);
  return i + 1;
}

}  // namespace

Kernel unary_kernel(UnaryOp op, DType dtype) {
  return with_element(dtype, [&]<typename E>() -> Kernel {
    if constexpr (is_float_element<E>) {
      if (op == UnaryOp::is_nan) return run_classify<E, false>;
      if (op == UnaryOp::is_inf) return run_classify<E, true>;
      return pick_float<E>(op, std::make_index_sequence<static_cast<std::size_t>(UnaryOp::is_inf) + 1>());
    } else if constexpr (is_bool_element<E>) {
      return op == UnaryOp::logical_not ? run_not : nullptr;
    } else {
      using T = typename E::Reg;
      switch (op) {
        case UnaryOp::neg: return run_integer<T, UnaryOp::neg>;
        case UnaryOp::abs: return run_integer<T, UnaryOp::abs>;
        case UnaryOp::sign: return run_integer<T, UnaryOp::sign>;
        case UnaryOp::bit_not: return run_integer<T, UnaryOp::bit_not>;
        default: return nullptr;
      }
    }
  });
}

Kernel cast_kernel(DType from, DType to) {
  return with_element(from, [&]<typename From>() {
    return with_element(to, [&]<typename To>() -> Kernel { return run_cast<From, To>; });
  });
}

Kernel bitcast_kernel(DType from, DType to) {
  return with_element(from, [&]<typename From>() {
    return with_element(to, [&]<typename To>() -> Kernel {
      if constexpr (sizeof(typename From::Mem) == 2 && sizeof(typename To::Mem) == 2) return run_bitcast<From, To>;
      else return nullptr;
    });
  });
}

Kernel select_kernel(DType dtype) {
  return with_element(dtype, []<typename E>() -> Kernel { return run_select<typename E::Reg>; });
}

Kernel requantize_kernel() { return run_requantize; }

}  // namespace dovetail::loops
