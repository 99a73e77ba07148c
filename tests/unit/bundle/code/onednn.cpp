// Operations of oneDNN in a step: what is written is read, and what the library would not check itself is refused.
#include "bundle/code/onednn.h"

#include <functional>

#include "tests/catch.h"

using namespace dovetail;
using bundle::OnednnCode;
using bundle::OnednnKind;
using Catch::Matchers::ContainsSubstring;

namespace {

// x [1, 4, 8, 8], weights [6, 2, 3, 3] in two groups, a bias; a pool; a sum with itself.
OnednnCode onednn_sample() {
  OnednnCode code;
  code.inner = {{1, 6, 8, 8}, {1, 6, 4, 4}};
  code.operations.push_back({.kind = OnednnKind::convolution,
                             .operands = {0, 1, 2},
                             .result = 4,
                             .strides = {1, 1},
                             .dilations = {1, 1},
                             .pad_begin = {1, 1},
                             .pad_end = {1, 1},
                             .groups = 2,
                             .least = 0,
                             .most = 6});
  code.operations.push_back({.kind = OnednnKind::maximum,
                             .operands = {4},
                             .result = 5,
                             .kernel = {2, 2},
                             .strides = {2, 2},
                             .dilations = {1, 1},
                             .pad_begin = {0, 0},
                             .pad_end = {0, 0}});
  code.operations.push_back({.kind = OnednnKind::sum, .operands = {5, 5}, .result = 3, .least = 0});
  code.arithmetic = 99;
  return code;
}

bundle::Bundle with(const OnednnCode& code) {
  bundle::Bundle bundle;
  bundle.tensors = {{"x", DType::float32, {1, 4, 8, 8}},
                    {"w", DType::float32, {6, 2, 3, 3}},
                    {"b", DType::float32, {6}},
                    {"y", DType::float32, {1, 6, 4, 4}}};
  bundle.inputs = {0, 1, 2};
  bundle.outputs = {3};
  bundle::Step step{"s", "", {}, {0, 1, 2}, {3}};
  bundle::encode(code, step);
  bundle.steps = {step};
  return bundle;
}

std::string onednn_errors(const std::function<void(OnednnCode&)>& change) {
  OnednnCode code = onednn_sample();
  change(code);
  const auto steps = bundle::onednn_steps(with(code));
  return steps.ok() ? "" : to_string(steps.errors());
}

}  // namespace

TEST_CASE("onednn code: what is written is read") {
  const bundle::Bundle bundle = with(onednn_sample());
  const auto steps = bundle::onednn_steps(bundle);
  REQUIRE((steps.ok() ? "" : to_string(steps.errors())) == "");
  const OnednnCode &read = steps->front().code, written = onednn_sample();
  CHECK(read.inner == written.inner);
  CHECK(read.arithmetic == 99);
  REQUIRE(read.operations.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const bundle::OnednnOperation &a = read.operations[i], &b = written.operations[i];
    CHECK(a.kind == b.kind);
    CHECK(a.operands == b.operands);
    CHECK(a.result == b.result);
    CHECK(a.kernel == b.kernel);
    CHECK(a.strides == b.strides);
    CHECK(a.dilations == b.dilations);
    CHECK(a.pad_begin == b.pad_begin);
    CHECK(a.pad_end == b.pad_end);
    CHECK(a.groups == b.groups);
    CHECK(a.least == b.least);
    CHECK(a.most == b.most);
  }
}

TEST_CASE("onednn code: what cannot be run is refused") {
  CHECK_THAT(onednn_errors([](OnednnCode& code) {
               code.operations[0].operands = {0, 7};
             }),
             ContainsSubstring("operation 0 (convolution): it reads tensor 7 too early"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.operations[1].operands = {5}; }),
             ContainsSubstring("operation 1 (maximum): it reads tensor 5 too early"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.operations[2].result = 0; }),
             ContainsSubstring("it computes tensor 0, which is no result of its own"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.operations[2].operands = {5}; }),
             ContainsSubstring("1 operands"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.operations.pop_back(); }),
             ContainsSubstring("nothing computes its result 0"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.operations[0].groups = 4; }),
             ContainsSubstring("do not fit 4 groups of"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.operations[0].strides = {1}; }),
             ContainsSubstring("1 entries for 2 spatial axes"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.operations[0].operands[2] = 0; }),
             ContainsSubstring("its bias is not one of 6 outputs"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) {
               code.operations[0].strides = {0, 1};
             }),
             ContainsSubstring("strides[0]"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.inner[0] = {1, 0}; }), ContainsSubstring("inner[0][1]"));
  CHECK_THAT(onednn_errors([](OnednnCode& code) { code.inner[0] = Shape(3, std::int64_t{1} << 30); }),
             ContainsSubstring("a tensor has the shape"));
  bundle::Bundle bundle = with(onednn_sample());
  bundle.tensors[1].dtype = DType::int32;
  CHECK_THAT(to_string(bundle::onednn_steps(bundle).errors()), ContainsSubstring("tensor w is int32, not float32"));
}
