// What the CUDA back end must know of the processors that it makes code for.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cuda {

// What a block has without asking for more at the launch.
inline constexpr std::int64_t kStaticSharedBytes = 48 << 10;
inline constexpr std::int64_t kRegistersOfProcessor = 65536;
// Registers of a thread that keeps so many for a tile: with those for factors, of which large tiles have more under
// way, and for addresses. The code holds the compiler to as many, and estimates count on it. 8 x 8 sums in 128
// registers took 15 % longer on an H200 than in 168, although more blocks ran.
inline constexpr std::int64_t registers_for(std::int64_t kept) { return kept + (kept >= 64 ? 96 : 56); }

// Names are those of the compiler's option --gpu-architecture: sm_80, sm_90a.
struct Gpu {
  std::vector<std::string> architectures;
  std::map<std::string, std::int64_t> known_processors = {};  // by architecture, where they are known to be others
  std::int64_t shared_bytes = kStaticSharedBytes;             // of a block, on every device that runs the code
  std::int64_t threads = 1024;
  std::int64_t processors = 108;        // of the device that is expected to run it
  std::int64_t local_bytes = 16 << 10;  // of a thread; more would not stay near it
  // The user allows that factors of float32 products are rounded to TF32's 11 bits, which tensor cores multiply.
  bool tf32 = false;
};

// What --gpu means without a value: the oldest with asynchronous copies, and Hopper with its own instructions.
inline constexpr std::string_view kDefaultArchitectures = "sm_80,sm_90a";

// "sm_80,sm_90a:114": the latter for a device of 114 processors. Error: a word of another form, or one given twice.
Result<Gpu> parse_gpu(std::string_view option, std::string_view text);
// The list that is read as these architectures, with the processors that are known.
std::string list_of(const Gpu& gpu);

// Of the device of that architecture that large machines have.
std::int64_t usual_processors(std::string_view architecture);
// A device of that capability and number of processors is here: what it runs is made for it, unless the list says
// otherwise.
Gpu made_for_device(Gpu gpu, int capability, std::int64_t processors);

// The architectures of a list whose kernels are scheduled together: those that have products of groups of warps, and
// the others. Each has what all of its own have.
std::vector<Gpu> variants_of(const Gpu& gpu);
// Of these the one whose kernels a device of that capability (90 for sm_90) runs; where it runs none, the first.
Gpu variant_for(const Gpu& gpu, int capability);

// What a block may ask for on all devices that run code for an architecture: of a letter's that one, else later ones
// too.
std::int64_t most_shared_bytes(std::string_view architecture);

// All architectures have the instructions of intrinsics.h: those of warps, and those of groups of warps, which are of
// one architecture alone.
bool has_tensor_cores(const Gpu& gpu);
bool has_group_products(const Gpu& gpu);
// Copies of boxes by tensor maps (loops/threads/box_copies.h): sm_90 and later.
bool has_box_copies(const Gpu& gpu);

// 80 of "sm_80" and "sm_80a".
int architecture_number(std::string_view architecture);

}  // namespace dovetail::cuda
