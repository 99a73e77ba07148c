// Operations of libraries in a step: written code is read back, and errors that the library would not detect are
// refused.
#include "bundle/code/library.h"

#include <functional>

#include "tests/catch.h"

using namespace dovetail;
using bundle::LibraryCode;
using bundle::LibraryKind;
using Catch::Matchers::ContainsSubstring;

namespace {

// x [1, 4, 8, 8], weights [6, 2, 3, 3] in two groups, a bias; a pool; a sum with itself.
LibraryCode onednn_sample() {
  LibraryCode code;
  code.inner = {{1, 6, 8, 8}, {1, 6, 4, 4}};
  code.operations.push_back({.kind = LibraryKind::convolution,
                             .operands = {0, 1, 2},
                             .result = 4,
                             .strides = {1, 1},
                             .dilations = {1, 1},
                             .pad_begin = {1, 1},
                             .pad_end = {1, 1},
                             .groups = 2,
                             .least = 0,
                             .most = 6});
  code.operations.push_back({.kind = LibraryKind::maximum,
                             .operands = {4},
                             .result = 5,
                             .kernel = {2, 2},
                             .strides = {2, 2},
                             .dilations = {1, 1},
                             .pad_begin = {0, 0},
                             .pad_end = {0, 0}});
  code.operations.push_back({.kind = LibraryKind::sum, .operands = {5, 5}, .result = 3, .least = 0});
  code.arithmetic = 99;
  return code;
}

bundle::Bundle with(const LibraryCode& code) {
  bundle::Bundle bundle;
  bundle.tensors = {{"x", DType::float32, {1, 4, 8, 8}},
                    {"w", DType::float32, {6, 2, 3, 3}},
                    {"b", DType::float32, {6}},
                    {"y", DType::float32, {1, 6, 4, 4}}};
  bundle.inputs = {0, 1, 2};
  bundle.outputs = {3};
  bundle::Step step{"s", "", {}, {0, 1, 2}, {3}};
  bundle::encode(code, bundle::kOnednnTarget, step);
  bundle.steps = {step};
  return bundle;
}

std::string onednn_errors(const std::function<void(LibraryCode&)>& change) {
  LibraryCode code = onednn_sample();
  change(code);
  const auto steps = bundle::library_steps(with(code), bundle::kOnednnTarget);
  return steps.ok() ? "" : to_string(steps.errors());
}

}  // namespace

TEST_CASE("onednn code: written code is read back") {
  const bundle::Bundle bundle = with(onednn_sample());
  const auto steps = bundle::library_steps(bundle, bundle::kOnednnTarget);
  REQUIRE((steps.ok() ? "" : to_string(steps.errors())) == "");
  const LibraryCode &read = steps->front().code, written = onednn_sample();
  CHECK(read.inner == written.inner);
  CHECK(read.arithmetic == 99);
  REQUIRE(read.operations.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const bundle::LibraryOperation &a = read.operations[i], &b = written.operations[i];
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

TEST_CASE("cublas code: the addends of a product and the GELU after it are checked") {
  // a [4, 6] times b [6, 3], and c [3], and d [4, 3].
  const auto errors = [](std::string_view target, const std::function<void(bundle::LibraryOperation&)>& change,
                         const Shape& d = {4, 3}) {
    bundle::LibraryOperation operation{
        .kind = LibraryKind::product, .operands = {0, 1, 2, 3}, .result = 4, .gelu = true};
    change(operation);
    bundle::Bundle bundle;
    bundle.tensors = {{"a", DType::float32, {4, 6}},
                      {"b", DType::float32, {6, 3}},
                      {"c", DType::float32, {3}},
                      {"d", DType::float32, d},
                      {"y", DType::float32, {4, 3}}};
    bundle.inputs = {0, 1, 2, 3};
    bundle.outputs = {4};
    bundle::Step step{"s", "", {}, {0, 1, 2, 3}, {4}};
    LibraryCode code;
    code.operations = {operation};
    bundle::encode(code, target, step);
    bundle.steps = {step};
    const auto steps = bundle::library_steps(bundle, target);
    if (steps.ok()) CHECK(steps->front().code.operations.front().gelu == operation.gelu);
    return steps.ok() ? "" : to_string(steps.errors());
  };
  const auto as_it_is = [](bundle::LibraryOperation&) {};
  CHECK(errors(bundle::kCublasTarget, as_it_is) == "");
  CHECK(errors(bundle::kCublasTarget, [](bundle::LibraryOperation& o) { o.gelu = false, o.least = 0; }) == "");
  CHECK_THAT(errors(bundle::kCublasTarget, [](bundle::LibraryOperation& o) { o.least = 0; }),
             ContainsSubstring("target cublas has no GELU after this operation"));
  CHECK_THAT(errors(bundle::kOnednnTarget, as_it_is),
             ContainsSubstring("target onednn has no GELU after this operation"));
  CHECK_THAT(errors(bundle::kOnednnTarget, [](bundle::LibraryOperation& o) { o.gelu = false; }),
             ContainsSubstring("target onednn can add only one tensor to a product"));
  CHECK_THAT(errors(bundle::kCublasTarget, as_it_is, {3}),
             ContainsSubstring("the added matrix has shape [3], but the result [4, 3]"));
  CHECK_THAT(errors(bundle::kCublasTarget,
                    [](bundle::LibraryOperation& o) {
                      o.operands = {0, 1, 3, 3};
                    }),
             ContainsSubstring("of the two added tensors, the first does not have one element per column"));
}

TEST_CASE("onednn code: operations that cannot run are refused") {
  CHECK_THAT(onednn_errors([](LibraryCode& code) {
               code.operations[0].operands = {0, 7};
             }),
             ContainsSubstring("operation 0 (convolution): an operation reads tensor 7 before it is computed"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.operations[1].operands = {5}; }),
             ContainsSubstring("operation 1 (maximum): an operation reads tensor 5 before it is computed"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.operations[2].result = 0; }),
             ContainsSubstring("an operation computes tensor 0, which is not a result"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.operations[2].operands = {5}; }),
             ContainsSubstring("1 operands"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.operations.pop_back(); }),
             ContainsSubstring("no operation computes result 0 of the step"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.operations[0].groups = 4; }),
             ContainsSubstring("do not match 4 groups of"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.operations[0].strides = {1}; }),
             ContainsSubstring("1 entries for 2 spatial axes"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.operations[0].operands[2] = 0; }),
             ContainsSubstring("the bias must have one element for each of 6 outputs"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) {
               code.operations[0].strides = {0, 1};
             }),
             ContainsSubstring("strides[0]"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.inner[0] = {1, 0}; }), ContainsSubstring("inner[0][1]"));
  CHECK_THAT(onednn_errors([](LibraryCode& code) { code.inner[0] = Shape(3, std::int64_t{1} << 30); }),
             ContainsSubstring("a tensor has the invalid shape"));
  bundle::Bundle bundle = with(onednn_sample());
  bundle.tensors[1].dtype = DType::int32;
  CHECK_THAT(to_string(bundle::library_steps(bundle, bundle::kOnednnTarget).errors()),
             ContainsSubstring("tensor w is int32, not float32"));
}

namespace {

// One operation on tensors of these shapes and types, the last of which is the result.
std::string library_errors(std::string_view target, bundle::LibraryOperation operation,
                           const std::vector<std::pair<DType, Shape>>& tensors) {
  bundle::Bundle bundle;
  bundle::Step step{"s", "", {}, {}, {}};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    bundle.tensors.push_back({std::string(1, static_cast<char>('a' + i)), tensors[i].first, tensors[i].second});
    const auto index = static_cast<bundle::TensorIndex>(i);
    (i + 1 < tensors.size() ? bundle.inputs : bundle.outputs).push_back(index);
    (i + 1 < tensors.size() ? step.arguments : step.results).push_back(index);
    if (i + 1 < tensors.size()) operation.operands.push_back(i);
  }
  operation.result = tensors.size() - 1;
  LibraryCode code;
  code.operations = {std::move(operation)};
  bundle::encode(code, target, step);
  bundle.steps = {step};
  const auto steps = bundle::library_steps(bundle, target);
  return steps.ok() ? "" : to_string(steps.errors());
}

}  // namespace

TEST_CASE("library code: each library has its types, clamps and shapes") {
  using enum DType;
  constexpr std::string_view kProducts = bundle::kCublasTarget, kOthers = bundle::kCudnnTarget;
  const bundle::LibraryOperation product{.kind = LibraryKind::product};
  CHECK(library_errors(kProducts, product, {{float16, {4, 5}}, {float16, {5, 3}}, {float16, {4, 3}}}) == "");
  CHECK(library_errors(kProducts, product, {{int8, {4, 5}}, {int8, {5, 3}}, {int32, {4, 3}}}) == "");
  CHECK(library_errors(kProducts, product, {{float32, {2, 1, 4, 5}}, {float32, {3, 5, 6}}, {float32, {2, 3, 4, 6}}}) ==
        "");
  CHECK(library_errors(kProducts, {.kind = LibraryKind::product, .scale = 0.5, .addend_scale = 2, .least = 0},
                       {{float32, {4, 5}}, {float32, {5, 3}}, {float32, {4, 3}}, {float32, {4, 3}}}) == "");
  CHECK_THAT(library_errors(kProducts, product, {{float32, {4, 5}}, {float32, {6, 3}}, {float32, {4, 3}}}),
             ContainsSubstring("different depths, 5 and 6"));
  CHECK_THAT(library_errors(kProducts, product, {{float32, {4, 5}}, {float32, {5, 3}}, {float32, {4, 4}}}),
             ContainsSubstring("the result has shape [4, 4], but the operands yield [4, 3]"));
  CHECK_THAT(library_errors(kProducts, product, {{float32, {2, 4, 5}}, {float32, {3, 5, 3}}, {float32, {3, 4, 3}}}),
             ContainsSubstring("the leading axes of 2 and 3 do not match"));
  CHECK_THAT(library_errors(kProducts, product, {{float64, {4, 5}}, {float64, {5, 3}}, {float64, {4, 3}}}),
             ContainsSubstring("target cublas does not support the operation for float64"));
  CHECK_THAT(library_errors(kProducts, product, {{float32, {4, 5}}, {float16, {5, 3}}, {float32, {4, 3}}}),
             ContainsSubstring("target cublas does not support the operation for float32"));
  CHECK_THAT(library_errors(kProducts, {.kind = LibraryKind::product, .least = 0, .most = 6},
                            {{float32, {4, 5}}, {float32, {5, 3}}, {float32, {4, 3}}}),
             ContainsSubstring("cannot clamp to these bounds"));
  CHECK_THAT(library_errors(kProducts, {.kind = LibraryKind::product, .least = 0},
                            {{int8, {4, 5}}, {int8, {5, 3}}, {int32, {4, 3}}}),
             ContainsSubstring("neither clamped nor scaled"));
  CHECK_THAT(library_errors(bundle::kOnednnTarget, {.kind = LibraryKind::product, .scale = 0.5},
                            {{float32, {4, 5}}, {float32, {5, 3}}, {float32, {4, 3}}}),
             ContainsSubstring("target onednn cannot scale products"));
  CHECK(library_errors(kOthers, {.kind = LibraryKind::softmax, .axis = 1}, {{bfloat16, {2, 3}}, {bfloat16, {2, 3}}}) ==
        "");
  CHECK_THAT(library_errors(kOthers, {.kind = LibraryKind::softmax, .axis = 2}, {{float32, {2, 3}}, {float32, {2, 3}}}),
             ContainsSubstring("the operation is along axis 2, but there are 2"));
  CHECK_THAT(library_errors(kOthers, product, {{float32, {4, 5}}, {float32, {5, 3}}, {float32, {4, 3}}}),
             ContainsSubstring("target cudnn does not have this operation"));
  const bundle::LibraryOperation pool{
      .kind = LibraryKind::maximum, .kernel = {2}, .strides = {2}, .dilations = {1}, .pad_begin = {0}, .pad_end = {0}};
  CHECK(library_errors(kOthers, pool, {{float32, {1, 2, 6}}, {float32, {1, 2, 3}}}) == "");
  CHECK_THAT(library_errors(kOthers, pool, {{float32, {1, 2, 6}}, {float32, {1, 2, 4}}}),
             ContainsSubstring("the operands yield [1, 2, 3]"));
}

TEST_CASE(
    "cudnn code: a tensor that a convolution adds must have the result's shape, and a clamp at 0 must follow it") {
  const auto errors = [](std::string_view target, std::optional<double> least, std::optional<double> most,
                         const Shape& added) {
    return library_errors(target,
                          {.kind = LibraryKind::convolution,
                           .strides = {1, 1},
                           .dilations = {1, 1},
                           .pad_begin = {1, 1},
                           .pad_end = {1, 1},
                           .least = least,
                           .most = most},
                          {{DType::float32, {1, 4, 8, 8}},
                           {DType::float32, {6, 4, 3, 3}},
                           {DType::float32, {6}},
                           {DType::float32, added},
                           {DType::float32, {1, 6, 8, 8}}});
  };
  const Shape result{1, 6, 8, 8};
  CHECK(errors(bundle::kCudnnTarget, 0, std::nullopt, result) == "");
  CHECK_THAT(errors(bundle::kOnednnTarget, 0, std::nullopt, result),
             ContainsSubstring("target onednn cannot add a tensor to a convolution"));
  for (const auto& [least, most] :
       {std::pair<std::optional<double>, std::optional<double>>{std::nullopt, std::nullopt}, {0, 6}})
    CHECK_THAT(errors(bundle::kCudnnTarget, least, most, result),
               ContainsSubstring("the convolution with an added tensor must clamp its results only from below, at 0"));
  CHECK_THAT(errors(bundle::kCudnnTarget, 0, std::nullopt, {1, 6, 8, 1}),
             ContainsSubstring("the added tensor has shape [1, 6, 8, 1], but the result [1, 6, 8, 8]"));
}
