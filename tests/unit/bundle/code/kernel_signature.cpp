// A kernel's declared parameters, and steps that call it with others.
#include "bundle/code/kernel_signature.h"

#include <functional>

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::bundle;
using Catch::Matchers::ContainsSubstring;

namespace {

const KernelSignature kSignature{64, 128, {{DType::float32, 24}, {DType::boolean, 3}, {DType::int64, 16, true}}};

std::string refusal(std::vector<std::uint64_t> words, std::string_view made_for = "avx2") {
  const auto read = read_signature(words, made_for);
  const auto* none = std::get_if<NoSignature>(&read);
  return none == nullptr ? "" : none->why;
}

struct Call {
  Bundle bundle;
  Step step;
  CpuCode code;
};
std::vector<std::string> problems_of(const std::function<void(Call&)>& change) {
  Call call;
  call.bundle.tensors = {
      {"x", DType::float32, {2, 3}}, {"m", DType::boolean, {3}}, {"y", DType::int64, {2}}, {"z", DType::int64, {2}}};
  call.step.arguments = {0, 1};
  call.step.results = {2};
  call.code.shared_bytes = 64;
  call.code.local_bytes = 128;
  change(call);
  return check_call(call.bundle, call.step, call.code, kSignature);
}

}  // namespace

TEST_CASE("a kernel's signature is read back as it was written, and a wrong one is refused") {
  const auto words = signature_words(kSignature, "avx2");
  const auto read = read_signature(words, "avx2");
  const auto* same = std::get_if<KernelSignature>(&read);
  REQUIRE(same != nullptr);
  CHECK(same->shared_bytes == 64);
  CHECK(same->local_bytes == 128);
  REQUIRE(same->operands.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(same->operands[i].dtype == kSignature.operands[i].dtype);
    CHECK(same->operands[i].bytes == kSignature.operands[i].bytes);
    CHECK(same->operands[i].written == kSignature.operands[i].written);
  }
  for (std::size_t size = 0; size < words.size(); ++size)
    CHECK(refusal({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(size)}) != "");
  CHECK_THAT(refusal({}), ContainsSubstring("has no signature"));
  CHECK_THAT(refusal(words, "baseline"), ContainsSubstring("not made for the processor class baseline"));
  auto other = words;
  other[0] = 1;
  CHECK_THAT(refusal(other), ContainsSubstring("version 1 of the call interface"));
  other = words;
  other[4] = UINT64_MAX;
  CHECK_THAT(refusal(other), ContainsSubstring("18446744073709551615 operands in 14 words"));
  other = words;
  other[5] = 99;
  CHECK_THAT(refusal(other), ContainsSubstring("unknown type 99"));
}

TEST_CASE("a kernel is called only with its parameters") {
  const auto first = [](const std::function<void(Call&)>& change) {
    const auto problems = problems_of(change);
    return problems.empty() ? "" : problems.front();
  };
  CHECK(first([](Call&) {}) == "");
  CHECK(first([](Call& call) { call.bundle.tensors[0].shape = {6}; }) == "");  // the same bytes
  CHECK_THAT(first([](Call& call) { call.step.arguments.pop_back(); }),
             ContainsSubstring("the step has 1 arguments and 1 results, but its kernel 3 operands"));
  CHECK_THAT(first([](Call& call) { call.step.results.push_back(3); }), ContainsSubstring("2 results"));
  CHECK_THAT(first([](Call& call) {
               call.bundle.tensors[0].shape = {2, 2};
             }),
             ContainsSubstring("tensor \"x\" is 16 bytes of float32, read, but operand 0 of the kernel is 24 bytes"));
  CHECK_THAT(first([](Call& call) { call.bundle.tensors[0].dtype = DType::int32; }),
             ContainsSubstring("24 bytes of int32, read"));
  CHECK_THAT(first([](Call& call) {
               call.step.arguments = {0, 1, 2};
               call.step.results.clear();
             }),
             ContainsSubstring(
                 "tensor \"y\" is 16 bytes of int64, read, but operand 2 of the kernel is 16 bytes of int64, written"));
  CHECK_THAT(first([](Call& call) { call.code.local_bytes = 64; }),
             ContainsSubstring("the step provides 64 and 64 bytes of workspace, but its kernel needs 64 and 128"));
  CHECK(problems_of([](Call& call) { call.step.arguments = {1, 0}; }).size() == 2);
}
