// A convolution with its epilogue as a CPU back end needs it: a tile of results in registers, the epilogue in the same
// loop, vectors over channels, rows in parallel. Extents without a dividing factor.
#include "compiler/tensor/expr.h"
#include "compiler/tensor/tensor.h"
#include "loops/interpreter.h"
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail;
using namespace dovetail::loops;
using namespace dovetail::schedule;
using tensor::Indices;

namespace {

Program convolution() {
  tensor::Definition d("conv");
  const Buffer x = d.input("x", DType::float32, {1, 6, 10, 10}), w = d.constant("w", DType::float32, {20, 6, 3, 3}),
               b = d.constant("b", DType::float32, {20});
  const Buffer pad =
      d.compute("pad", DType::float32, {{"n", 1}, {"c", 6}, {"y", 12}, {"x", 12}}, [&](const Indices& i) {
        const auto inside = [](const Expr& e) {
          return logical_and(binary(BinaryOp::ge, e, int_imm(1)), binary(BinaryOp::lt, e, int_imm(11)));
        };
        return select(logical_and(inside(i[2]), inside(i[3])), load(x, {i[0], i[1], i[2] - 1, i[3] - 1}), float_imm(0));
      });
  const Buffer sum =
      d.reduce("sum", DType::float32, {{"n", 1}, {"o", 20}, {"y", 10}, {"x", 10}}, {{"c", 6}, {"ky", 3}, {"kx", 3}},
               tensor::sum_reducer(), [&](const Indices& i, const Indices& k) {
                 return load(pad, {i[0], k[0], i[2] + k[1], i[3] + k[2]}) * load(w, {i[1], k[0], k[1], k[2]});
               });
  const Buffer bias = d.compute("bias", DType::float32, {{"n", 1}, {"o", 20}, {"y", 10}, {"x", 10}},
                                [&](const Indices& i) { return load(sum, i) + load(b, {i[1]}); });
  const Buffer relu = d.compute("relu", DType::float32, {{"n", 1}, {"o", 20}, {"y", 10}, {"x", 10}},
                                [&](const Indices& i) { return tensor::maximum(load(bias, i), float_imm(0)); });
  return d.build({relu});
}

const char* const kTrace =
    "sample lanes among 8,16 = 8\n"
    "sample width among 4,6 = 4\n"
    "inline bias\n"
    "inline pad\n"
    "split sum.o $lanes -> oo oi\n"
    "split sum.x $width -> xo xi\n"
    "reorder sum.n oo sum.y xo sum.c sum.ky sum.kx xi oi\n"
    "reverse_compute_at relu xo\n"
    "decompose_reduction sum sum.c -> zero\n"
    "set_scope sum register\n"
    "reorder relu.x relu.o\n"
    "vectorize zero.oi\nvectorize oi\nvectorize relu.o\n"
    "unroll zero.xi\nunroll xi\nunroll relu.x\n"
    "fuse oo sum.y -> rows\n"
    "parallel rows\n";

}  // namespace

TEST_CASE("schedule: a convolution with its epilogue in a register tile") {
  const IntrinsicTable none;
  const auto trace = parse_trace(kTrace, "trace");
  REQUIRE(trace.ok());
  Schedule schedule(convolution(), none);
  for (const Step& step : *trace) {
    const auto status = schedule.apply(step);
    INFO(to_string(step));
    REQUIRE((status.ok() ? "" : dovetail::to_string(status.errors())) == "");
  }
  const auto verified = verify(schedule.program());
  REQUIRE((verified.ok() ? "" : dovetail::to_string(verified.errors())) == "");
  const std::string text = loops::to_string(schedule.program());
  INFO(text);
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("for rows in 30 parallel"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("for oi in 8 vectorized"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("relu[n, o, y, x] = max(sum[n, o, y, x] + b[o], 0.0)"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("for relu.o in 8 vectorized"));
  CHECK_THAT(text, !Catch::Matchers::ContainsSubstring("alloc pad"));

  // Small integers: sums are exact in any order.
  const Program original = convolution();
  std::vector<NdArray> arguments;
  for (const Parameter& parameter : original.parameters) {
    if (parameter.role == ParameterRole::output) continue;
    arguments.emplace_back(parameter.buffer->dtype, parameter.buffer->shape);
    for (std::int64_t i = 0; i < arguments.back().count(); ++i)
      arguments.back().set_double(i, static_cast<double>(i * 7 % 11 - 5));
  }
  const auto expected = evaluate(original, arguments), actual = evaluate(schedule.program(), arguments);
  REQUIRE((expected.ok() && actual.ok()));
  for (std::int64_t i = 0; i < (*expected)[0].count(); ++i)
    REQUIRE((*expected)[0].as_double(i) == (*actual)[0].as_double(i));
}
