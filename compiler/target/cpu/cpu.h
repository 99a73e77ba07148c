// The facts about a processor that the CPU back end uses. Names are those of base/processor.h, and "native", the most
// capable of them whose code runs on this machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::cpu {

// The widest register of the classes below. A vectorized loop has at most this many iterations: one byte each fills
// such a register. Narrower processors use several registers.
inline constexpr int kWidestVectorBytes = 64;

// A tile register of AMX (palette 1). A kernel chooses how many rows and bytes per row it uses.
inline constexpr std::int64_t kTileRows = 16, kTileRowBytes = 64;

struct Cpu {
  std::string name;
  std::string llvm_cpu;       // CPU name for LLVM's scheduling
  std::string llvm_features;  // "+avx512vnni,..."
  int vector_bytes = 16;      // size of one register
  int vector_registers = 16;
  bool vnni = false;                                       // vpdpbusd (compiler/target/cpu/intrinsics.h)
  int tile_registers = 0;                                  // AMX registers with kTileRows rows of kTileRowBytes each
  std::int64_t l1_bytes = 32 << 10, l2_bytes = 512 << 10;  // data caches
  std::int64_t l1_ways = 8;
  std::int64_t cache_line_bytes = 64;
  std::int64_t l1_code_bytes = 32 << 10;
  // In vectors: products and loads issued per cycle, and the latency in cycles until a sum can be added to again.
  int products_per_cycle = 2, loads_per_cycle = 2, product_latency = 4;
  // Bytes from the second-level cache that cost one cycle while products are computed: a tile of 14 x 2 vectors loses
  // 0.3 of its 14 cycles, a tile of 7 x 4 loses 1.4.
  int l2_bytes_per_cycle = 200;

  // Kernels compare every address with the extent of its operand (codegen/check_bounds.cpp), and emulate tile registers
  // (codegen/software_tiles.cpp).
  bool check_bounds = false, tiles_in_software = false;

  bool fma() const { return vector_bytes >= 32; }  // x86-64-v3 and above
  // Distance in bytes at which large constants are prefetched before a loop reads them (codegen/fetch_ahead.cpp); 0: no
  // prefetching. Not measured for narrower vectors; a prefetch is not an access whose bounds can be checked.
  std::int64_t bytes_ahead() const { return vector_bytes == cache_line_bytes && !check_bounds ? 8 << 10 : 0; }
  // Whether one instruction adds products of 16-bit words to this many lanes of int32.
  bool adds_words(std::int64_t lanes) const { return vnni && (lanes == 8 || lanes * 4 == vector_bytes); }
  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  // Lines at this distance share a set of the first-level cache.
  std::int64_t l1_set_stride_bytes() const { return l1_bytes / l1_ways; }
};

std::span<const Cpu> cpus();                  // from least to most capable
Result<Cpu> find_cpu(std::string_view name);  // includes "native"
// The processor with kernels that check their bounds. These also run on a processor without tile registers: its class
// is then the most capable one without them.
Cpu with_checked_bounds(Cpu cpu);

}  // namespace dovetail::cpu
