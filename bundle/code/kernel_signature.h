// The operands of a kernel of a shared object, recorded in the object itself: words next to each kernel, under the
// kernel's name with a suffix. Since a bundle's table of steps may be damaged or forged, a kernel is called only if its
// buffers match this record.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/cpu.h"

namespace dovetail::bundle {

struct KernelOperand {
  DType dtype = DType::float32;
  std::uint64_t bytes = 0;
  bool written = false;  // a result
};

struct KernelSignature {
  std::uint64_t shared_bytes = 0, local_bytes = 0;  // workspace of the kernel and of each thread
  std::vector<KernelOperand> operands;              // in the order of the kernel's buffers
};

// Words of 64 bits: kKernelAbiVersion, FNV-1a of the class of processors (Module::made_for), shared_bytes, local_bytes,
// number of operands; for each operand the ONNX number of its type, its bytes, and whether it is written.
inline constexpr std::string_view kSignatureSuffix = "_signature";
std::vector<std::uint64_t> signature_words(const KernelSignature& signature, std::string_view made_for);
// Parses the words, which may have any values. Error: a sentence.
struct NoSignature {
  std::string why;
};
std::variant<KernelSignature, NoSignature> read_signature(std::span<const std::uint64_t> words,
                                                          std::string_view made_for);

// The rules that a step violates if it calls this kernel, one sentence each: number, types, sizes and roles of its
// tensors, workspace. Precondition: the bundle verifies.
std::vector<std::string> check_call(const Bundle& bundle, const Step& step, const CpuCode& code,
                                    const KernelSignature& signature);

}  // namespace dovetail::bundle
