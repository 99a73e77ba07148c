// The functional simulator's inner loops, one table per instruction set of the host. All levels compute the same bits;
// isa/semantics is the specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "isa/spec/alu_ops.h"
#include "simulator/functional/kernel_level.h"
#include "simulator/functional/kernels/tile_layout.h"

namespace dovetail::simulator {

// Micro-ops [begin, end) of the micro-op memory, one array per index.
struct UopView {
  const std::uint32_t* dst = nullptr;
  const std::uint32_t* src = nullptr;
  const std::uint32_t* wgt = nullptr;
  std::size_t count = 0;
};

struct IndexRange {
  std::uint64_t min = 0, max = 0;
};
struct UopRanges {
  IndexRange dst, src, wgt;
};

// Index = uop.index + y * factor_out + x * factor_in. Precondition of every kernel: all indices are within their
// memories.
struct LoopFactors {
  std::size_t out = 0, in = 0;
};

struct GemmArguments {
  TileLayout layout = {};
  UopView uops = {};
  std::size_t iter_out = 0, iter_in = 0;
  LoopFactors dst = {}, src = {}, wgt_factors = {};
  std::int32_t* acc = nullptr;
  const std::uint32_t* inp = nullptr;
  const std::int32_t* compensation = nullptr;  // [inp element][batch]; groups of 4 only
  const std::uint32_t* wgt = nullptr;
};

// WINDOW. Precondition: block_in == block_out.
struct WindowArguments : GemmArguments {
  std::uint32_t push_only = 0;      // as UopView::wgt: no products
  std::uint32_t* window = nullptr;  // [batch][group][block_out] words: the groups of a lane's last inputs, newest first
  bool overwrite = false;
};

struct AluArguments {
  std::size_t vectors = 1;
  std::size_t batch = 1, block_out = 1;  // rows and their lanes
  UopView uops = {};
  std::size_t iter_out = 0, iter_in = 0;
  LoopFactors dst = {}, src = {};
  std::int32_t* acc = nullptr;             // base of dst
  const std::int32_t* operands = nullptr;  // base of src: the same memory
  std::int32_t imm = 0;
  const std::uint16_t* table = nullptr;  // TAB
};

// The epilogue of one ACC element (isa/semantics/epilogue.h), by words of its layout.
struct EpilogueArguments {
  std::size_t words = 0;
  const std::int32_t* bias = nullptr;
  const std::uint32_t* scale = nullptr;
  std::int32_t zero_point = 0, least = 0, most = 0;
  const std::uint16_t* table = nullptr;  // null unless results are entries of it
  const std::int32_t* acc = nullptr;
  std::int8_t* out = nullptr;
};

using GemmKernel = void (*)(const GemmArguments&);
using EpilogueKernel = void (*)(const EpilogueArguments&);
using WindowKernel = void (*)(const WindowArguments&);
using AluKernel = void (*)(const AluArguments&);

struct Kernels {
  std::size_t group_depth = 2;
  GemmKernel accumulate = nullptr, overwrite = nullptr;
  WindowKernel window = nullptr;
  EpilogueKernel epilogue = nullptr;
  // Indexed by isa::AluOp: kernels for steps without operands, and for steps with operands; null if the operation has
  // no such form.
  std::array<AluKernel, isa::spec::kAluOps.size()> alu_immediate{}, alu_vector{};
  UopRanges (*uop_ranges)(const UopView&) = nullptr;  // precondition: count > 0
};

// Per level; the vector levels exist on x86-64 only.
Kernels baseline_kernels();
Kernels avx2_kernels(const TileLayout& layout);
Kernels avx512vnni_kernels(const TileLayout& layout);

// Precondition: is_supported(level). `layout.group_depth` is ignored: it follows from the level.
Kernels select_kernels(KernelLevel level, const TileLayout& layout);

}  // namespace dovetail::simulator
