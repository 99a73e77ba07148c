#include "runtime/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/processor.h"
#include "base/thread_pool.h"

namespace dovetail::runtime {

namespace {

constexpr std::uint64_t kLeastBytes = 4096, kMostBytes = std::uint64_t{256} << 20;
constexpr std::size_t kLines = 8;  // sums in flight

// A vector of the compiler's, of the processor's widest registers.
template <std::size_t Bytes>
using Vector __attribute__((vector_size(Bytes))) = std::uint64_t;

// Reads whole groups of eight vectors; returns something that depends on all of them.
template <std::size_t Bytes>
[[gnu::always_inline]] inline std::uint64_t read_vectors(const std::byte* from, std::size_t bytes) {
  using V = Vector<Bytes>;
  V sums[kLines] = {};
  for (std::size_t at = 0; at + sizeof(sums) <= bytes; at += sizeof(sums))
    for (std::size_t line = 0; line < kLines; ++line)
      sums[line] ^= *reinterpret_cast<const V*>(from + at + line * sizeof(V));
  for (std::size_t line = 1; line < kLines; ++line) sums[0] ^= sums[line];
  return sums[0][0];
}

using Read = std::uint64_t (*)(const std::byte*, std::size_t);
std::uint64_t read_16(const std::byte* from, std::size_t bytes) { return read_vectors<16>(from, bytes); }
#if defined(__x86_64__)
[[gnu::target("avx2")]] std::uint64_t read_32(const std::byte* from, std::size_t bytes) {
  return read_vectors<32>(from, bytes);
}
[[gnu::target("avx512f")]] std::uint64_t read_64(const std::byte* from, std::size_t bytes) {
  return read_vectors<64>(from, bytes);
}
#endif

Read widest() {
#if defined(__x86_64__)
  if (runs_here("avx512")) return read_64;
  if (runs_here("avx2")) return read_32;
#endif
  return read_16;
}

}  // namespace

double measure_read_bandwidth(std::uint64_t bytes, int threads) {
  constexpr std::size_t kGroup = 64 * kLines;
  constexpr double kSampleSeconds = 0.001, kAllSeconds = 0.1;
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t each =
      (std::clamp(bytes, kLeastBytes, kMostBytes) / count + kGroup - 1) / kGroup * kGroup;  // of a thread
  std::vector<std::byte> memory(each * count + kGroup, std::byte{1});
  std::byte* const begin = memory.data() + (kGroup - reinterpret_cast<std::uintptr_t>(memory.data()) % kGroup) % kGroup;
  const Read read = widest();
  std::vector<std::uint64_t> sums(count * 8);  // a cache line for each thread
  ThreadPool pool(static_cast<int>(count));
  const auto pass = [&](std::int64_t times) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(static_cast<std::int64_t>(count), [&](std::int64_t first, std::int64_t end, int) {
      for (auto part = static_cast<std::size_t>(first); part < static_cast<std::size_t>(end); ++part)
        for (std::int64_t i = 0; i < times; ++i) {
          sums[part * 8] += read(begin + part * each, each);
          asm volatile("" ::: "memory");  // every pass reads again
        }
    });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::int64_t times = 1;
  double seconds = pass(times);
  while (seconds < kSampleSeconds && times < (std::int64_t{1} << 24)) seconds = pass(times *= 2);
  double best = seconds;
  for (double all = seconds; all < kAllSeconds; all += seconds) best = std::min(best, seconds = pass(times));
  return static_cast<double>(each * count) * static_cast<double>(times) / best * 1e-9;
}

}  // namespace dovetail::runtime
