// Each rule of bundle::verify, broken once.
#include <functional>

#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string errors_of(const std::function<void(bundle::Bundle&)>& change) {
  bundle::Bundle bundle = test::sample_bundle();
  change(bundle);
  const auto verified = bundle::verify(bundle);
  return verified.ok() ? "" : to_string(verified.errors());
}
bundle::HostStep& host(bundle::Bundle& bundle) { return std::get<bundle::HostStep>(bundle.steps[0]); }
bundle::AccelStep& accel(bundle::Bundle& bundle) { return std::get<bundle::AccelStep>(bundle.steps[1]); }

}  // namespace

TEST_CASE("tensors: named, once, with constants of their type") {
  CHECK(errors_of([](auto&) {}) == "");
  CHECK_THAT(errors_of([](auto& b) { b.tensors[1].name = "x"; }), ContainsSubstring("its name \"x\" is taken"));
  CHECK_THAT(errors_of([](auto& b) { b.tensors[1].name = ""; }), ContainsSubstring("it has no name"));
  CHECK_THAT(errors_of([](auto& b) { b.tensors[3].shape = {2}; }),
             ContainsSubstring("\"two\" is int8[2], its constant int8[1]"));
}

TEST_CASE("order: every tensor defined once, before it is used") {
  CHECK_THAT(errors_of([](auto& b) { b.inputs = {}; }),
             ContainsSubstring("an argument uses tensor \"x\", which nothing has computed yet"));
  CHECK_THAT(errors_of([](auto& b) {
               b.inputs = {0, 3};
             }),
             ContainsSubstring("the list of inputs defines tensor \"two\", which is defined already"));
  CHECK_THAT(errors_of([](auto& b) { std::swap(b.steps[0], b.steps[1]); }),
             ContainsSubstring("an input uses tensor \"h\""));
  CHECK_THAT(errors_of([](auto& b) { b.outputs = {-1}; }), ContainsSubstring("names tensor -1, of 5"));
  CHECK_THAT(errors_of([](auto& b) { b.outputs = {4, 4}; }), ContainsSubstring("tensor \"y\" is listed twice"));
}

TEST_CASE("host steps: arguments and results fit the program") {
  CHECK_THAT(errors_of([](auto& b) { b.tensors[0].shape = {16}; }),
             ContainsSubstring("parameter x is int8[1, 16], tensor \"x\" is int8[16]"));
  CHECK_THAT(errors_of([](auto& b) { host(b).arguments = {}; }),
             ContainsSubstring("takes 1 arguments and yields 1 results, the step has 0 and 1"));
}

TEST_CASE("accelerator steps: memory") {
  CHECK_THAT(errors_of([](auto& b) { accel(b).inputs[0].address = 0x3000 - 15; }),
             ContainsSubstring("leaves the memory of 8192 bytes at 0x1000"));
  CHECK(errors_of([](auto& b) { accel(b).outputs[0].address = 0x3000 - 16; }) == "");
  CHECK_THAT(errors_of([](auto& b) { accel(b).inputs[0].address = test::kSampleBase - 1; }),
             ContainsSubstring("leaves the memory"));
  CHECK_THAT(errors_of([](auto& b) { accel(b).inputs[0].address = test::kSampleUops + 3; }),
             ContainsSubstring("overlaps segment \"uops\""));
  CHECK(errors_of([](auto& b) { accel(b).inputs[0].address = test::kSampleUops + 4; }) == "");
  CHECK(errors_of([](auto& b) { accel(b).outputs[0].address = test::kSampleInput; }) == "");
  CHECK_THAT(errors_of([](auto& b) { accel(b).dram_base = std::uint64_t{1} << 32; }),
             ContainsSubstring("32 address bits"));
  CHECK_THAT(errors_of([](auto& b) { accel(b).config.batch = 3; }), ContainsSubstring("batch"));
}

TEST_CASE("accelerator steps: program, launches and ranges") {
  CHECK_THAT(errors_of([](auto& b) { accel(b).program.pop_back(); }),
             ContainsSubstring("launch 0:5 exceeds the program's 4 instructions"));
  CHECK_THAT(errors_of([](auto& b) { accel(b).segments[1].bytes[0] ^= std::byte{8}; }),
             ContainsSubstring("does not hold the program at 0x2000"));
  CHECK_THAT(errors_of([](auto& b) { accel(b).segments.pop_back(); }),
             ContainsSubstring("no segment holds the program at 0x2000"));
  CHECK_THAT(errors_of([](auto& b) { accel(b).ranges.pop_back(); }), ContainsSubstring("cover 3 of 5 instructions"));
  CHECK_THAT(errors_of([](auto& b) { accel(b).ranges[1].begin = 2; }),
             ContainsSubstring("does not continue at 3 of 5"));
}
