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
// The memory space in which results of its steps are stored.
inline constexpr std::string_view kCudaSpace = "device";

// The pointer passed as a kernel's parameter.
struct CudaOperand {
  bool workspace = false;    // the step's workspace, from `offset`; otherwise a tensor
  std::uint64_t index = 0;   // number of the tensor: arguments, then results
  std::uint64_t offset = 0;  // in bytes
  bool operator==(const CudaOperand&) const = default;
};
// A tensor map: a dense tensor of which a kernel copies tiles, as for cuTensorMapEncodeTiled, but with the outermost
// dimension first.
struct CudaTensorMap {
  CudaOperand operand;
  std::uint64_t element_bytes = 1;
  std::vector<std::uint64_t> extents, box;
  std::uint64_t swizzle_bytes = 0;  // 128, 64, 32, or 0 for none
  bool operator==(const CudaTensorMap&) const = default;
};
struct CudaLaunch {
  std::string symbol;
  std::array<std::uint64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::vector<CudaOperand> operands;
  bool reports =
      false;  // its last parameter, after all others, points to the record of the first violated rule (CudaFailure)
  std::uint64_t shared_bytes = 0;  // dynamic shared memory of a block, in addition to what the kernel declares
  std::vector<CudaTensorMap> tensor_maps = {};  // parameters after the operands
};
// Machine code for one architecture, or PTX, which the driver translates for any later one.
struct CudaImage {
  std::string architecture;  // "sm_80", "sm_90a"
  bool ptx = false;
  Blob bytes;
};

// The launches of a step, for the devices that can run one of the images.
struct CudaKernels {
  std::vector<CudaLaunch> launches;
  std::vector<CudaImage> images;  // each contains the kernels of all launches
  std::uint64_t workspace_bytes = 0;
  std::vector<std::string> failures = {};  // texts by failure site
};

struct CudaCode {
  std::vector<CudaKernels> kernels;  // one entry per separately scheduled group of architectures; no image is in two
  std::uint64_t operations = 0;      // arithmetic operations of the nodes; a multiply-add counts as two
  bool integer = false;              // most operations are on integers
  std::uint64_t steps = 0;           // upper bound for a run: operations on single values of any type
  // Whether floats of its results depend on the order of sums, on contraction or on the device's mathematics library.
  bool rounds_freely = true;
};

// The record in which a kernel reports the first rule that it found violated. Initially all 0.
struct CudaFailure {
  std::uint32_t claimed = 0, site = 0;
  std::int64_t value = 0;
};

void encode(const CudaCode& code, Step& step);
Result<CudaCode> decode_cuda(const Step& step);
// Checks that launches are within the limits of every GPU, and that the step has their operands. Precondition: the
// bundle verifies.
Result<std::vector<CodedStep<CudaCode>>> cuda_steps(const Bundle& bundle);

}  // namespace dovetail::bundle
