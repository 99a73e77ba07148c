// The facts about a processor that the CPU back end uses. Names are those of base/processor.h; "native", the most
// capable of them whose code runs on this machine; and those of processors that run exported programs alone
// (Cpu::loads_bundles).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cpu {

// The widest register of the classes below. A vectorized loop has at most this many iterations: one byte each fills
// such a register. Narrower processors use several registers.
inline constexpr int kWidestVectorBytes = 64;

enum class Architecture : std::uint8_t { x86_64, aarch64, riscv64, riscv32, arm };

// The floats that a processor computes with; the others are functions of the C compiler's run-time library (libgcc,
// compiler-rt): slow, but with the same bits.
enum class FloatUnit : std::uint8_t { none, single, both };

// A tile register of AMX (palette 1). A kernel chooses how many rows and bytes per row it uses.
inline constexpr std::int64_t kTileRows = 16, kTileRowBytes = 64;

struct Cpu {
  std::string name;
  std::string llvm_cpu;       // CPU name for LLVM's scheduling
  std::string llvm_features;  // "+avx512vnni,..."
  int vector_bytes = 16;      // size of one register; 0: no vectors, and schedules of compiler/target/portable
  int vector_registers = 16;
  bool byte_dots = false;                                  // has vpdpbusd or usdot (compiler/target/cpu/intrinsics.h)
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

  Architecture architecture = Architecture::x86_64;
  std::string triple = "x86_64-unknown-linux-gnu";  // for LLVM
  std::string abi = "";                             // calling convention, where the triple does not say it: "ilp32"
  std::string c_flags = "";                         // of GCC, for C code that calls exported kernels
  FloatUnit floats = FloatUnit::both;
  std::int64_t stack_bytes = 0;  // of all buffers of a function on the stack; 0: any number of at most 16 KiB

  // Kernels of an exported program: they run on one thread, call the mathematical library by its names instead of the
  // runtime's table, and have neither a signature nor operands that are aligned to more than an element.
  bool is_exported = false;
  // Kernels compare every address with the extent of its operand (codegen/check_bounds.cpp), and emulate tile registers
  // (codegen/software_tiles.cpp).
  bool check_bounds = false, tiles_in_software = false;

  // x86-64-v3 and above; all other processors with binary64 have it.
  bool fma() const { return architecture == Architecture::x86_64 ? vector_bytes >= 32 : floats == FloatUnit::both; }
  // Whether rounding to integers, minimum and maximum of floats are instructions.
  bool rounds_floats() const { return architecture != Architecture::arm && architecture != Architecture::riscv32; }
  int pointer_bytes() const { return rounds_floats() ? 8 : 4; }
  // Whether a runtime can load its kernels as a shared object.
  bool loads_bundles() const { return pointer_bytes() == 8; }
  // Distance in bytes at which large constants are prefetched before a loop reads them (codegen/fetch_ahead.cpp); 0: no
  // prefetching. Not measured for narrower vectors; a prefetch is not an access whose bounds can be checked.
  std::int64_t bytes_ahead() const { return vector_bytes == cache_line_bytes && !check_bounds ? 8 << 10 : 0; }
  // Whether one instruction adds products of 16-bit words to this many lanes of int32.
  bool adds_words(std::int64_t lanes) const {
    return architecture == Architecture::x86_64 && byte_dots && (lanes == 8 || lanes * 4 == vector_bytes);
  }
  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  // Lines at this distance share a set of the first-level cache.
  std::int64_t l1_set_stride_bytes() const { return l1_bytes / l1_ways; }
};

std::span<const Cpu> cpus();                  // x86-64, from least to most capable
std::span<const Cpu> other_cpus();            // of other architectures
std::vector<std::string> cpu_names();         // of all, and "native"
Result<Cpu> find_cpu(std::string_view name);  // one of cpu_names()
// The processor with kernels that check their bounds. These also run on a processor without tile registers: its class
// is then the most capable one without them.
Cpu with_checked_bounds(Cpu cpu);
Cpu exported(Cpu cpu);  // with Cpu::is_exported

}  // namespace dovetail::cpu
