// The code of a step that runs on an NVIDIA GPU: kernels of an image, launched one after the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/coded_step.h"
#include "bundle/code/target_facts.h"

namespace dovetail::bundle {

inline constexpr std::string_view kCudaTarget = "cuda";
extern const TargetFacts kCudaFacts;
// The memory space in which results of its steps lie.
inline constexpr std::string_view kCudaSpace = "device";

// What a kernel's parameter points to.
struct CudaOperand {
  bool workspace = false;    // the step's own memory, from `offset`; else a tensor
  std::uint64_t index = 0;   // of the tensor: arguments, then results
  std::uint64_t offset = 0;  // bytes
  bool operator==(const CudaOperand&) const = default;
};
// A tensor of which a kernel copies boxes, as the driver is told of it (cuTensorMapEncodeTiled): dense, outermost
// dimension first.
struct CudaTensorMap {
  CudaOperand operand;
  std::uint64_t element_bytes = 1;
  std::vector<std::uint64_t> extents, box;
  std::uint64_t swizzle_bytes = 0;  // 128, 64, 32, or none
  bool operator==(const CudaTensorMap&) const = default;
};
struct CudaLaunch {
  std::string symbol;
  std::array<std::uint64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::vector<CudaOperand> operands;
  bool reports = false;  // its last parameter, behind all others, is where the first broken rule goes (CudaFailure)
  std::uint64_t shared_bytes = 0;               // of a block, beside what the kernel declares
  std::vector<CudaTensorMap> tensor_maps = {};  // parameters behind the operands
};
// Machine code for one architecture, or PTX, which the driver translates for any later one.
struct CudaImage {
  std::string architecture;  // "sm_80", "sm_90a"
  bool ptx = false;
  Blob bytes;
};

// What a step does on the devices that run one of the images.
struct CudaKernels {
  std::vector<CudaLaunch> launches;
  std::vector<CudaImage> images;  // with the kernels of all launches, each
  std::uint64_t workspace_bytes = 0;
  std::vector<std::string> failures = {};  // by site
};

struct CudaCode {
  std::vector<CudaKernels> kernels;  // by architectures that are scheduled apart; no image is in two
  std::uint64_t operations = 0;      // arithmetic operations of the nodes, a multiply-add counted as two
  bool integer = false;              // most of them on integers
  std::uint64_t steps = 0;           // of a run, at most: operations on single values of any type
  // Whether floats of its results depend on the order of sums, on contraction or on the device's mathematics library.
  bool rounds_freely = true;
};

// What a kernel leaves of the first rule that it found broken. All 0 before.
struct CudaFailure {
  std::uint32_t claimed = 0, site = 0;
  std::int64_t value = 0;
};

void encode(const CudaCode& code, Step& step);
Result<CudaCode> decode_cuda(const Step& step);
// Launches within the limits of every GPU, operands that the step has. Precondition: the bundle verifies.
Result<std::vector<CodedStep<CudaCode>>> cuda_steps(const Bundle& bundle);

}  // namespace dovetail::bundle
