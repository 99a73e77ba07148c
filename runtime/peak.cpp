#include "runtime/peak.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

#include "base/processor.h"

namespace dovetail::runtime {
namespace {

constexpr int kAccumulators = 12;  // more than latency times units of current cores, fewer than registers
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

constexpr int kSteps = 20000, kSamples = 40;

// The best of many short samples: a peak is the undisturbed speed of the core.
template <typename Loop>
Peak best(Loop loop, double operations_of_instruction, std::string instruction) {
  double seconds = 1e9;
  for (int i = 0; i < kSamples; ++i) {
    const double start = processor_seconds();
    loop();
    seconds = std::min(seconds, processor_seconds() - start);
  }
  return {operations_of_instruction * kAccumulators * kSteps / seconds * 1e-9, std::move(instruction)};
}

#if defined(__x86_64__)

// In assembly, because a compiler may keep sums in memory. Registers 12 and 13 are the operands, 0 to 11 the sums, all
// zero.
#define DOVETAIL_FOR_EACH_SUM(each)                                                                              \
  each("0") each("1") each("2") each("3") each("4") each("5") each("6") each("7") each("8") each("9") each("10") \
      each("11")
#define DOVETAIL_CLEAR(sum) "vpxor %%xmm" sum ", %%xmm" sum ", %%xmm" sum "\n\t"
// clang-format off
#define DOVETAIL_PEAK_LOOP(function, instruction)                                                                                            \
  void function() {                                                                                                                          \
    int steps = kSteps;                                                                                                                      \
    asm volatile(DOVETAIL_FOR_EACH_SUM(DOVETAIL_CLEAR) DOVETAIL_CLEAR("12") DOVETAIL_CLEAR("13")                                             \
                 "0:\n\t" DOVETAIL_FOR_EACH_SUM(instruction) "dec %0\n\tjnz 0b\n\tvzeroupper"                                                \
                 : "+r"(steps)                                                                                                               \
                 :                                                                                                                           \
                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
                   "xmm14");                                                                                                                 \
  }
#define DOVETAIL_FMA_ZMM(sum) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" sum "\n\t"
#define DOVETAIL_FMA_YMM(sum) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" sum "\n\t"
#define DOVETAIL_VNNI_ZMM(sum) "vpdpbusd %%zmm12, %%zmm13, %%zmm" sum "\n\t"
#define DOVETAIL_MADD(register, sum) \
  "vpmaddwd %%" register "12, %%" register "13, %%" register "14\n\tvpaddd %%" register "14, %%" register sum ", %%" register sum "\n\t"
#define DOVETAIL_MADD_ZMM(sum) DOVETAIL_MADD("zmm", sum)
#define DOVETAIL_MADD_YMM(sum) DOVETAIL_MADD("ymm", sum)
// clang-format on

DOVETAIL_PEAK_LOOP(fma_zmm, DOVETAIL_FMA_ZMM)
DOVETAIL_PEAK_LOOP(fma_ymm, DOVETAIL_FMA_YMM)
DOVETAIL_PEAK_LOOP(vnni_zmm, DOVETAIL_VNNI_ZMM)
DOVETAIL_PEAK_LOOP(madd_zmm, DOVETAIL_MADD_ZMM)
DOVETAIL_PEAK_LOOP(madd_ymm, DOVETAIL_MADD_YMM)

// Full tiles of zeros: tmm4 and tmm5 are the operands, tmm0 to tmm3 the sums, each three times per step.
void tdpbssd_tiles() {
  alignas(64) std::array<std::uint8_t, 64> shapes{1};  // palette 1; Intel SDM volume 1, 18.2
  for (std::size_t tile = 0; tile < 6; ++tile) shapes[16 + 2 * tile] = 64, shapes[48 + tile] = 16;
  int steps = kSteps;
#define DOVETAIL_TILE_SUMS                                               \
  "tdpbssd %%tmm5, %%tmm4, %%tmm0\n\ttdpbssd %%tmm5, %%tmm4, %%tmm1\n\t" \
  "tdpbssd %%tmm5, %%tmm4, %%tmm2\n\ttdpbssd %%tmm5, %%tmm4, %%tmm3\n\t"
  asm volatile(
      "ldtilecfg %1\n\ttilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"
      "tilezero %%tmm4\n\ttilezero %%tmm5\n\t"
      "0:\n\t" DOVETAIL_TILE_SUMS DOVETAIL_TILE_SUMS DOVETAIL_TILE_SUMS "dec %0\n\tjnz 0b\n\ttilerelease"
      : "+r"(steps)
      : "m"(shapes)
      : "cc");
}

#endif

}  // namespace

Json to_json(const Peak& peak) { return {{"gop_per_s", peak.giga_operations}, {"instruction", peak.instruction}}; }

Peak measure_float32_peak() {
#if defined(__x86_64__)
  if (runs_here("avx512")) return best(fma_zmm, 2 * 16, "vfmadd231ps zmm");
  if (runs_here("avx2")) return best(fma_ymm, 2 * 8, "vfmadd231ps ymm");
#endif
  return {};
}

Peak measure_int8_peak() {
#if defined(__x86_64__)
  if (runs_here("avx512-amx")) return best(tdpbssd_tiles, 2 * 16 * 16 * 64, "tdpbssd");
  if (runs_here("avx512-vnni")) return best(vnni_zmm, 2 * 64, "vpdpbusd zmm");
  // Without VNNI, exact int8 products are computed as products of 16-bit words.
  if (runs_here("avx512")) return best(madd_zmm, 2 * 32, "vpmaddwd, vpaddd zmm");
  if (runs_here("avx2")) return best(madd_ymm, 2 * 16, "vpmaddwd, vpaddd ymm");
#endif
  return {};
}

}  // namespace dovetail::runtime
