// Loads, stores and the checks that go with them.
#include <cstring>

#include "loops/interpreter/element.h"
#include "loops/interpreter/kernels.h"

namespace dovetail::loops {
namespace {

// Calls f(lane, offset from base) for the active lanes.
template <Addressing addressing, typename F>
inline void each_lane(const Instr* i, const Frame& frame, const F& f) {
  const std::int64_t n = frame.lanes[i->wide];
  const std::int64_t stride = i->imm;
  const std::int64_t* offsets = nullptr;
  if constexpr (addressing == Addressing::table)
    offsets = frame.bytecode->tables[static_cast<std::size_t>(i->table)].data();
  if constexpr (addressing == Addressing::computed) offsets = frame.in<std::int64_t>(i->a);
  const auto offset = [&](std::int64_t l) {
    if constexpr (addressing == Addressing::unit) return l;
    else if constexpr (addressing == Addressing::strided) return l * stride;
    else return offsets[l];
  };
  if (i->mask < 0) {
    for (std::int64_t l = 0; l < n; ++l) f(l, offset(l));
  } else {
    const std::uint8_t* mask = frame.in<std::uint8_t>(i->mask);
    for (std::int64_t l = 0; l < n; ++l)
      if (mask[l] != 0) f(l, offset(l));
  }
}

template <typename E, Addressing addressing>
const Instr* run_load(const Instr* i, Frame& f) {
  const auto* __restrict from = reinterpret_cast<const typename E::Mem*>(f.memory[i->buffer]) + f.affine[i->base];
  auto* __restrict d = f.own<typename E::Reg>(i->d);
  if (i->mask >= 0) std::memset(d, 0, static_cast<std::size_t>(f.lanes[i->wide]) * sizeof(typename E::Reg));
  each_lane<addressing>(i, f, [&](std::int64_t l, std::int64_t offset) { d[l] = E::read(from[offset]); });
  return i + 1;
}

template <typename E, Addressing addressing>
const Instr* run_store(const Instr* i, Frame& f) {
  auto* __restrict to = reinterpret_cast<typename E::Mem*>(f.memory[i->buffer]) + f.affine[i->base];
  const auto* __restrict b = f.in<typename E::Reg>(i->b);
  each_lane<addressing>(i, f, [&](std::int64_t l, std::int64_t offset) { to[offset] = E::write(b[l]); });
  return i + 1;
}

template <typename M>
const Instr* run_alias(const Instr* i, Frame& f) {
  f.reg[i->d] = reinterpret_cast<M*>(f.memory[i->buffer]) + f.affine[i->base];
  return i + 1;
}

template <Addressing addressing>
const Instr* run_check_defined(const Instr* i, Frame& f) {
  const std::uint8_t* defined = f.defined[i->buffer];
  const std::int64_t base = f.affine[i->base];
  std::int64_t undefined_at = -1;
  each_lane<addressing>(i, f, [&](std::int64_t, std::int64_t offset) {
    if (defined[base + offset] == 0 && undefined_at < 0) undefined_at = base + offset;
  });
  return undefined_at < 0 ? i + 1 : f.fail(i, undefined_at);
}

template <Addressing addressing>
const Instr* run_mark_defined(const Instr* i, Frame& f) {
  std::uint8_t* defined = f.defined[i->buffer] + f.affine[i->base];
  each_lane<addressing>(i, f, [&](std::int64_t, std::int64_t offset) { defined[offset] = 1; });
  return i + 1;
}

const Instr* run_forget(const Instr* i, Frame& f) {
  std::memset(f.defined[i->buffer], 0,
              static_cast<std::size_t>(f.bytecode->buffers[static_cast<std::size_t>(i->buffer)].count));
  return i + 1;
}

const Instr* run_check_index(const Instr* i, Frame& f) {
  const std::int64_t* a = f.in<std::int64_t>(i->a);
  const std::uint8_t* mask = i->mask < 0 ? nullptr : f.in<std::uint8_t>(i->mask);
  const std::int64_t n = f.lanes[i->wide];
  for (std::int64_t l = 0; l < n; ++l)
    if ((a[l] < 0 || a[l] >= i->imm) && (mask == nullptr || mask[l] != 0)) return f.fail(i, a[l]);
  return i + 1;
}

template <template <Addressing> typename Pick>
Kernel by_addressing(Addressing addressing) {
  switch (addressing) {
    case Addressing::unit: return Pick<Addressing::unit>::kernel;
    case Addressing::strided: return Pick<Addressing::strided>::kernel;
    case Addressing::table: return Pick<Addressing::table>::kernel;
    case Addressing::computed: return Pick<Addressing::computed>::kernel;
  }
  return nullptr;
}
template <Addressing addressing>
struct PickCheck {
  static constexpr Kernel kernel = run_check_defined<addressing>;
};
template <Addressing addressing>
struct PickMark {
  static constexpr Kernel kernel = run_mark_defined<addressing>;
};
template <typename E>
struct Of {
  template <Addressing addressing>
  struct Load {
    static constexpr Kernel kernel = run_load<E, addressing>;
  };
  template <Addressing addressing>
  struct Store {
    static constexpr Kernel kernel = run_store<E, addressing>;
  };
};

}  // namespace

Kernel load_kernel(DType storage, Addressing addressing) {
  return with_element(storage, [&]<typename E>() { return by_addressing<Of<E>::template Load>(addressing); });
}
Kernel store_kernel(DType storage, Addressing addressing) {
  return with_element(storage, [&]<typename E>() { return by_addressing<Of<E>::template Store>(addressing); });
}
Kernel alias_kernel(DType storage) {
  return with_element(storage, []<typename E>() -> Kernel {
    if constexpr (std::is_same_v<typename E::Mem, typename E::Reg>) return run_alias<typename E::Mem>;
    else return nullptr;
  });
}
Kernel check_defined_kernel(Addressing addressing) { return by_addressing<PickCheck>(addressing); }
Kernel mark_defined_kernel(Addressing addressing) { return by_addressing<PickMark>(addressing); }
Kernel forget_kernel() { return run_forget; }
Kernel check_index_kernel() { return run_check_index; }

}  // namespace dovetail::loops
