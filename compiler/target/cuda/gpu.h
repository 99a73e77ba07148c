// The facts about GPUs that the CUDA back end uses.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cuda {

// Shared memory of a block without a request at launch.
inline constexpr std::int64_t kStaticSharedBytes = 48 << 10;
inline constexpr std::int64_t kRegistersOfProcessor = 65536;
// Register limit of a thread that keeps this many values of a tile: leaves room for factors (large tiles have more in
// flight) and addresses. The code enforces the limit, and cost estimates rely on it. 8 x 8 sums with 128 registers took
// 15 % longer on an H200 than with 168, although more blocks ran.
inline constexpr std::int64_t registers_for(std::int64_t kept) { return kept + (kept >= 64 ? 96 : 56); }

// Names are those of the compiler's option --gpu-architecture: sm_80, sm_90a.
struct Gpu {
  std::vector<std::string> architectures;
  std::map<std::string, std::int64_t> known_processors = {};  // by architecture, if known to differ from the usual ones
  std::int64_t shared_bytes = kStaticSharedBytes;             // per block, on every device that runs the code
  std::int64_t threads = 1024;
  std::int64_t processors = 108;        // of the device expected to run it
  std::int64_t local_bytes = 16 << 10;  // per thread; more would not stay in its cache
  // The user allows rounding the factors of float32 products to TF32's 11 bits, for tensor cores.
  bool tf32 = false;
};

// The default of --gpu: the oldest architecture with asynchronous copies, and Hopper with its specific instructions.
inline constexpr std::string_view kDefaultArchitectures = "sm_80,sm_90a";

// "sm_80,sm_90a:114": the latter for a device with 114 processors. Error: a malformed or repeated entry.
Result<Gpu> parse_gpu(std::string_view option, std::string_view text);
// The inverse of parsing: the text of a list of architectures, with the known numbers of processors.
std::string list_of(const Gpu& gpu);

// The number of processors of the usual server GPU of that architecture.
std::int64_t usual_processors(std::string_view architecture);
// Adapts to the device of this machine, with that capability and number of processors: code that it runs is made for
// it, unless the list says otherwise.
Gpu made_for_device(Gpu gpu, int capability, std::int64_t processors);

// Splits the architectures of a list into those scheduled together: those with products of groups of warps, and the
// others. Each has the features common to its architectures.
std::vector<Gpu> variants_of(const Gpu& gpu);
// The variant whose kernels a device of that capability (90 for sm_90) runs; if none, the first.
Gpu variant_for(const Gpu& gpu, int capability);

// The most shared memory that a block can request on all devices that run code for an architecture: only that one if it
// has a suffix letter, else also later ones.
std::int64_t most_shared_bytes(std::string_view architecture);

// Whether all architectures have the instructions of intrinsics.h: those of warps, and those of groups of warps, which
// exist on one architecture only.
bool has_tensor_cores(const Gpu& gpu);
bool has_group_products(const Gpu& gpu);
// Copies of boxes by tensor maps (loops/threads/box_copies.h): sm_90 and later.
bool has_box_copies(const Gpu& gpu);

// 80 for "sm_80" and "sm_80a".
int architecture_number(std::string_view architecture);

}  // namespace dovetail::cuda
