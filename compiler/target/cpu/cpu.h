// What the CPU back end must know of a processor. Names are those of base/processor.h, and "native", the most capable
// of them whose code runs here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::cpu {

// The widest register of the classes below. A vectorized loop has at most as many iterations: a byte each fills one
// such register. Narrower processors take several.
inline constexpr int kWidestVectorBytes = 64;

// A tile register of AMX (palette 1). A kernel chooses how many of its rows and of their bytes it uses.
inline constexpr std::int64_t kTileRows = 16, kTileRowBytes = 64;

struct Cpu {
  std::string name;
  std::string llvm_cpu;       // what LLVM schedules for
  std::string llvm_features;  // "+avx512vnni,..."
  int vector_bytes = 16;      // of one register
  int vector_registers = 16;
  bool vnni = false;                                       // vpdpbusd (compiler/target/cpu/intrinsics.h)
  int tile_registers = 0;                                  // of AMX, kTileRows rows of kTileRowBytes each
  std::int64_t l1_bytes = 32 << 10, l2_bytes = 512 << 10;  // of data
  std::int64_t l1_ways = 8;
  std::int64_t cache_line_bytes = 64;
  std::int64_t l1_code_bytes = 32 << 10;
  // Of the multipliers and of what feeds them, in vectors: products and loads started in a cycle, and cycles until a
  // sum can be added to again.
  int products_per_cycle = 2, loads_per_cycle = 2, product_latency = 4;
  // Bytes from the second level that cost one cycle beside products that run meanwhile: those of a tile of 14 x 2
  // vectors cost 0.3 of its 14 cycles, those of 7 x 4 1.4.
  int l2_bytes_per_cycle = 200;

  // Kernels compare every address with the extent of the operand that it is meant for (codegen/check_bounds.cpp), and
  // compute what instructions of tile registers would (codegen/software_tiles.cpp).
  bool check_bounds = false, tiles_in_software = false;

  bool fma() const { return vector_bytes >= 32; }  // x86-64-v3 and above
  // Of large constants, what lies so many bytes further on than a loop reads is fetched (codegen/fetch_ahead.cpp).
  // Nothing is where 0. Narrower vectors were not measured; a fetch is no access whose bounds could be checked.
  std::int64_t bytes_ahead() const { return vector_bytes == cache_line_bytes && !check_bounds ? 8 << 10 : 0; }
  // So many lanes of int32 have products of 16-bit words added to them in one instruction.
  bool adds_words(std::int64_t lanes) const { return vnni && (lanes == 8 || lanes * 4 == vector_bytes); }
  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  // Lines that far apart share a set of the first level.
  std::int64_t l1_set_stride_bytes() const { return l1_bytes / l1_ways; }
};

std::span<const Cpu> cpus();                  // from least to most capable
Result<Cpu> find_cpu(std::string_view name);  // "native" included
// The processor with kernels that check their bounds. They run on one without tile registers, too: its class is then
// the most capable one that has none.
Cpu with_checked_bounds(Cpu cpu);

}  // namespace dovetail::cpu
