#include "bundle/code/kernel_signature.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "bundle/code/kernel_abi.h"

namespace dovetail::bundle {

namespace {

constexpr std::size_t kHeadWords = 5, kOperandWords = 3;

std::string text_of(const KernelOperand& operand) {
  return fmt::format("{} bytes of {}, {}", operand.bytes, name(operand.dtype), operand.written ? "written" : "read");
}

}  // namespace

std::vector<std::uint64_t> signature_words(const KernelSignature& signature, std::string_view made_for) {
  std::vector<std::uint64_t> words{kKernelAbiVersion, fnv1a(made_for), signature.shared_bytes, signature.local_bytes,
                                   signature.operands.size()};
  for (const KernelOperand& operand : signature.operands)
    words.insert(words.end(), {static_cast<std::uint64_t>(info(operand.dtype).onnx), operand.bytes,
                               static_cast<std::uint64_t>(operand.written)});
  return words;
}

std::variant<KernelSignature, NoSignature> read_signature(std::span<const std::uint64_t> words,
                                                          std::string_view made_for) {
  if (words.size() < kHeadWords) return NoSignature{"its kernel has no signature"};
  if (words[0] != kKernelAbiVersion)
    return NoSignature{fmt::format("its kernel uses version {} of the call interface, this build has {}", words[0],
                                   kKernelAbiVersion)};
  if (words[1] != fnv1a(made_for))
    return NoSignature{
        fmt::format("its kernel is not made for the processor class {} that the bundle names", made_for)};
  if (words[4] != (words.size() - kHeadWords) / kOperandWords || (words.size() - kHeadWords) % kOperandWords != 0)
    return NoSignature{fmt::format("its kernel declares {} operands in {} words", words[4], words.size())};
  KernelSignature signature{words[2], words[3], {}};
  for (std::size_t i = kHeadWords; i < words.size(); i += kOperandWords) {
    const auto dtype = words[i] < 256 ? dtype_from_onnx(static_cast<int>(words[i])) : std::nullopt;
    if (!dtype) return NoSignature{fmt::format("the kernel has an operand of unknown type {}", words[i])};
    signature.operands.push_back({*dtype, words[i + 1], words[i + 2] != 0});
  }
  return signature;
}

std::vector<std::string> check_call(const Bundle& bundle, const Step& step, const CpuCode& code,
                                    const KernelSignature& signature) {
  const std::size_t given = step.arguments.size() + step.results.size();
  if (given != signature.operands.size())
    return {fmt::format("the step has {} arguments and {} results, but its kernel {} operands", step.arguments.size(),
                        step.results.size(), signature.operands.size())};
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < given; ++i) {
    const bool written = i >= step.arguments.size();
    const TensorIndex index = written ? step.results[i - step.arguments.size()] : step.arguments[i];
    const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
    const KernelOperand& expected = signature.operands[i];
    if (tensor.dtype != expected.dtype || size_bytes(tensor) != expected.bytes || written != expected.written)
      problems.push_back(fmt::format("tensor \"{}\" is {}, but operand {} of the kernel is {}", tensor.name,
                                     text_of({tensor.dtype, size_bytes(tensor), written}), i, text_of(expected)));
  }
  if (code.shared_bytes != signature.shared_bytes || code.local_bytes != signature.local_bytes)
    problems.push_back(fmt::format("the step provides {} and {} bytes of workspace, but its kernel needs {} and {}",
                                   code.shared_bytes, code.local_bytes, signature.shared_bytes, signature.local_bytes));
  return problems;
}

}  // namespace dovetail::bundle
