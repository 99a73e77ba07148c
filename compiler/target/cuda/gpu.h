// What the CUDA back end must know of the processors that it makes code for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cuda {

// Names are those of the compiler's option --gpu-architecture: sm_80, sm_90a.
struct Gpu {
  std::vector<std::string> architectures;
  // Of a block, without asking for more at the launch.
  std::int64_t shared_bytes = 48 << 10;
  std::int64_t threads = 1024;
  std::int64_t processors = 108;        // an A100's; later ones of its kind have more
  std::int64_t local_bytes = 16 << 10;  // of a thread; more would not stay near it
  // The user allows that factors of float32 products are rounded to TF32's 11 bits, which tensor cores multiply.
  bool tf32 = false;
};

// What --gpu means without a value: the oldest with asynchronous copies, and Hopper with its own instructions.
inline constexpr std::string_view kDefaultArchitectures = "sm_80,sm_90a";

// "sm_80,sm_90a". Error: a word of another form, or one given twice.
Result<Gpu> parse_gpu(std::string_view option, std::string_view text);

// All architectures have the instructions of intrinsics.h.
bool has_tensor_cores(const Gpu& gpu);

// 80 of "sm_80" and "sm_80a".
int architecture_number(std::string_view architecture);

}  // namespace dovetail::cuda
