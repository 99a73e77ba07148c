// The forms in which exporters write one network: each gives the values of its plain form, bit for bit, and takes no
// more cycles. A form with other costs has its reason.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "compiler/passes/list.h"
#include "compiler/zoo/weights.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace dovetail {
namespace {

using graph::Attributes;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

constexpr float kScale = 0.02F;

// Builds quantized networks that read one int8 image of 16 channels.
struct Exporter : test::GraphMaker {
  ValueId x = int8_input("x", {1, 16, 14, 14}, 0.05F, -5);
  int named = 0;

  std::string next() { return "v" + std::to_string(named++); }
  ValueId op(const std::string& type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return node(type, next(), std::move(inputs), std::move(attributes));
  }
  ValueId number(float value) { return constant(next(), NdArray::scalar(value)); }
  ValueId integers(const Ints& values) {
    return constant(next(), NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  ValueId q(ValueId value, float scale = kScale, int zero_point = 3) {
    return quantize(next(), value, scale, zero_point);
  }
  ValueId qdq(ValueId value, float scale = kScale, int zero_point = 3) {
    return activation(next(), value, scale, zero_point);
  }
  // Steps that depend on the seed and the position alone.
  ValueId weight(const Shape& shape, int seed, float scale = 0.01F, bool transposed = false) {
    NdArray steps(DType::int8, shape);
    for (std::int64_t i = 0; i < steps.count(); ++i) {
      const std::int64_t at = transposed ? i % shape[1] * shape[0] + i / shape[1] : i;
      steps.set_int64(i, (at * 7919 + seed * 104729 + at / 13) % 199 - 99);
    }
    return dequantize(next(), constant(next(), std::move(steps)), scale, 0);
  }
  ValueId bias(std::int64_t count, float scale = 0.0005F) {
    NdArray steps(DType::int32, {count});
    for (std::int64_t i = 0; i < count; ++i) steps.set_int64(i, i * 389 % 2001 - 1000);
    return dequantize(next(), constant(next(), std::move(steps)), scale, 0);
  }
  ValueId ones(const Shape& shape, std::int64_t step, float scale) {
    NdArray steps(DType::int8, shape);
    for (std::int64_t i = 0; i < steps.count(); ++i) steps.set_int64(i, step);
    return dequantize(next(), constant(next(), std::move(steps)), scale, 0);
  }
  ValueId conv(ValueId value, std::int64_t kernel, const Ints& pads = {0, 0, 0, 0}, const Ints& strides = {1, 1},
               std::int64_t outputs = 32, float scale = 0.01F) {
    const std::int64_t channels = graph.value(value).type.shape[1];
    return op("Conv",
              {value, weight({outputs, channels, kernel, kernel}, static_cast<int>(kernel), scale),
               bias(outputs, scale * 0.05F)},
              {{"pads", pads}, {"strides", strides}});
  }
  ValueId same(ValueId value, float scale = 0.01F) { return conv(value, 3, {1, 1, 1, 1}, {1, 1}, 32, scale); }
  ValueId pad(ValueId value, const Ints& pads, float filled = 0) {
    return op("Pad", {value, integers(pads), number(filled)});
  }
  ValueId slice(ValueId value, const Ints& starts, const Ints& ends) {
    return op("Slice", {value, integers(starts), integers(ends), integers({2, 3})});
  }
  ValueId transpose(ValueId value, const Ints& perm) { return op("Transpose", {value}, {{"perm", perm}}); }
  ValueId last(ValueId value) { return transpose(value, {0, 2, 3, 1}); }
  ValueId first(ValueId value) { return transpose(value, {0, 3, 1, 2}); }
  ValueId clip(ValueId value, float low, float high) { return op("Clip", {value, number(low), number(high)}); }
  ValueId relu(ValueId value) { return op("Relu", {value}); }
  ValueId norm(ValueId value) {
    const Shape shape{graph.value(value).type.shape[1]};
    const auto all = [&](float each) {
      NdArray array(DType::float32, shape);
      for (float& element : array.data<float>()) element = each;
      return constant(next(), std::move(array));
    };
    return op("BatchNormalization", {value, all(0.5F), all(0), all(0), all(1 - 1e-5F)}, {{"epsilon", 1e-5}});
  }
  ValueId head() { return qdq(relu(same(x)), kScale, -128); }
  ValueId second(ValueId value) { return q(conv(value, 1, {0, 0, 0, 0}, {1, 1}, 16), 0.1F, 0); }
  ValueId mean(ValueId value) { return qdq(value, 0.01F, -128); }
  ValueId classes(ValueId value) {
    return q(op("Gemm", {value, weight({10, 32}, 9), bias(10)}, {{"transB", std::int64_t{1}}}), 0.1F, 0);
  }
  ValueId reduce(const std::string& type, ValueId value, const Ints& axes, bool keeps) {
    return op(type, {value, integers(axes)}, {{"keepdims", std::int64_t{keeps ? 1 : 0}}});
  }
};
using Build = std::function<ValueId(Exporter&)>;

struct Plain {
  const char* name;
  Build build;
  struct Form {
    const char* name;
    Build build;
    const char* why_more_cycles = nullptr;
  };
  std::vector<Form> forms;
};

std::vector<Plain> all_forms() {
  const Ints same_two{0, 0, 0, 0, 0, 0, 1, 1}, around{0, 0, 1, 1, 0, 0, 1, 1};
  constexpr float kSix = 6.0F / 255;
  constexpr std::int64_t kPixels = 14 * 14;
  const auto strided = [](Exporter& e, ValueId v) { return e.q(e.conv(v, 3, {0, 0, 0, 0}, {2, 2})); };
  const auto scaled = [](Exporter& e) { return e.same(e.x, 0.005F); };
  return {
      {"a convolution with stride 2, padded at the end",
       [](Exporter& e) {
         return e.q(e.conv(e.x, 3, {0, 0, 1, 1}, {2, 2}));
       },
       {{"Pad", [=](Exporter& e) { return strided(e, e.pad(e.x, same_two)); }},
        {"Pad, quantized", [=](Exporter& e) { return strided(e, e.qdq(e.pad(e.x, same_two), 0.05F, -5)); }},
        {"Pad, Slice",
         [=](Exporter& e) {
           return strided(e, e.slice(e.pad(e.x, around), {1, 1}, {16, 16}));
         }},
        {"Reshape, Pad, Slice, Reshape",
         [=](Exporter& e) {
           const ValueId shaped = e.op("Reshape", {e.x, e.integers({1, 16, 14, 14})});
           const ValueId cut = e.slice(e.pad(shaped, around), {1, 1}, {16, 16});
           return strided(e, e.op("Reshape", {cut, e.integers({1, 16, 15, 15})}));
         }}}},
      {"a convolution of unpadded rows",
       [](Exporter& e) { return e.q(e.conv(e.x, 3)); },
       {{"Pad, Slice of all that it added",
         [=](Exporter& e) {
           return e.q(e.conv(e.slice(e.pad(e.x, around), {1, 1}, {15, 15}), 3));
         }},
        {"Pad, Pad by negative numbers",
         [=](Exporter& e) {
           return e.q(e.conv(e.pad(e.pad(e.x, around), {0, 0, -1, -1, 0, 0, -1, -1}), 3));
         }}}},
      {"a padded convolution",
       [](Exporter& e) { return e.q(e.same(e.x)); },
       {{"a Pad of rows, a Pad of columns",
         [](Exporter& e) {
           return e.q(e.conv(e.pad(e.pad(e.x, {0, 0, 1, 0, 0, 0, 1, 0}), {0, 0, 0, 1, 0, 0, 0, 1}), 3));
         }}}},
      {"Relu with the range of Relu6",
       [=](Exporter& e) { return e.q(e.relu(e.same(e.x)), kSix, -128); },
       {{"Clip", [=](Exporter& e) { return e.q(e.clip(e.same(e.x), 0, 6), kSix, -128); }},
        {"Relu, Clip", [=](Exporter& e) { return e.q(e.clip(e.relu(e.same(e.x)), 0, 6), kSix, -128); }},
        {"Max, Min",
         [=](Exporter& e) {
           return e.q(e.op("Min", {e.op("Max", {e.same(e.x), e.number(0)}), e.number(6)}), kSix, -128);
         }},
        {"Min, Relu",
         [=](Exporter& e) {
           return e.q(e.relu(e.op("Min", {e.number(6), e.same(e.x)})), kSix, -128);
         }},
        {"Relu, quantized, Clip, quantized",
         [=](Exporter& e) { return e.q(e.clip(e.qdq(e.relu(e.same(e.x)), kSix, -128), 0, 6), kSix, -128); }}}},
      {"Clip within the range",
       [](Exporter& e) { return e.q(e.clip(e.same(e.x), 0, 1), kScale, -128); },
       {{"Min, Max",
         [](Exporter& e) {
           return e.q(e.op("Max", {e.op("Min", {e.same(e.x), e.number(1)}), e.number(0)}), kScale, -128);
         }}}},
      {"a convolution with half the scale",
       [=](Exporter& e) { return e.q(scaled(e)); },
       {{"Mul",
         [](Exporter& e) {
           return e.q(e.op("Mul", {e.same(e.x), e.number(0.5F)}));
         }},
        {"Mul by a vector",
         [](Exporter& e) {
           NdArray halves(DType::float32, {1, 32, 1, 1});
           for (float& half : halves.data<float>()) half = 0.5F;
           return e.q(e.op("Mul", {e.constant(e.next(), halves), e.same(e.x)}));
         }},
        {"Div",
         [](Exporter& e) {
           return e.q(e.op("Div", {e.same(e.x), e.number(2)}));
         }},
        {"BatchNormalization", [](Exporter& e) { return e.q(e.norm(e.same(e.x))); }},
        {"Mul of the operand",
         [](Exporter& e) {
           const ValueId half = e.op("Mul", {e.x, e.number(0.5F)});
           return e.q(
               e.op("Conv", {half, e.weight({32, 16, 3, 3}, 3), e.bias(32, 0.00025F)}, {{"pads", Ints{1, 1, 1, 1}}}));
         }}}},
      {"a convolution with half the scale, Relu",
       [=](Exporter& e) { return e.q(e.relu(scaled(e)), kScale, -128); },
       {{"Mul, Relu",
         [](Exporter& e) {
           return e.q(e.relu(e.op("Mul", {e.same(e.x), e.number(0.5F)})), kScale, -128);
         }},
        {"BatchNormalization, Relu", [](Exporter& e) { return e.q(e.relu(e.norm(e.same(e.x))), kScale, -128); }}}},
      {"a convolution of a Concat",
       [](Exporter& e) {
         const ValueId part = e.qdq(e.conv(e.x, 1, {0, 0, 0, 0}, {1, 1}, 16), 0.05F, -5);
         return e.q(e.same(e.op("Concat", {e.x, part}, {{"axis", std::int64_t{1}}}), 0.005F));
       },
       {{"BatchNormalization",
         [](Exporter& e) {
           const ValueId part = e.qdq(e.conv(e.x, 1, {0, 0, 0, 0}, {1, 1}, 16), 0.05F, -5);
           return e.q(e.norm(e.same(e.op("Concat", {e.x, part}, {{"axis", std::int64_t{1}}}))));
         }}}},
      {"a depthwise convolution of padded rows",
       [](Exporter& e) {
         const ValueId v = e.op("Conv", {e.x, e.ones({16, 1, 1, 1}, 100, 0.005F)},
                                {{"group", std::int64_t{16}}, {"pads", Ints{1, 1, 1, 1}}});
         return e.q(e.conv(e.qdq(v, 0.03F, 2), 3));
       },
       {{"Pad, BatchNormalization",
         [=](Exporter& e) { return e.q(e.conv(e.qdq(e.norm(e.pad(e.x, around)), 0.03F, 2), 3)); },
         "the function of a quantized tensor is a table, which is exact; the convolution would round the addend"}}},
      {"two convolutions",
       [](Exporter& e) { return e.second(e.qdq(e.same(e.x))); },
       {{"quantized twice", [](Exporter& e) { return e.second(e.qdq(e.qdq(e.same(e.x)))); }},
        {"Dropout, quantized", [](Exporter& e) { return e.second(e.qdq(e.op("Dropout", {e.qdq(e.same(e.x))}))); }},
        {"Dropout of real numbers", [](Exporter& e) { return e.second(e.qdq(e.op("Dropout", {e.same(e.x)}))); }},
        {"Identity", [](Exporter& e) { return e.second(e.op("Identity", {e.qdq(e.same(e.x))})); }},
        {"channels last", [](Exporter& e) { return e.second(e.first(e.qdq(e.last(e.same(e.x))))); }},
        {"channels last, of steps",
         [](Exporter& e) {
           const ValueId steps = e.first(e.last(e.q(e.same(e.x))));
           return e.second(e.dequantize(e.next(), steps, kScale, 3));
         }}}},
      {"two convolutions, Relu",
       [](Exporter& e) { return e.second(e.head()); },
       {{"channels last, Relu",
         [](Exporter& e) { return e.second(e.first(e.qdq(e.relu(e.last(e.same(e.x))), kScale, -128))); }},
        {"channels last, a bias, Relu",
         [](Exporter& e) {
           const ValueId product = e.op("Conv", {e.x, e.weight({32, 16, 3, 3}, 3)}, {{"pads", Ints{1, 1, 1, 1}}});
           const ValueId sum = e.op("Add", {e.last(product), e.bias(32)});
           return e.second(e.first(e.qdq(e.relu(sum), kScale, -128)));
         }}}},
      {"two padded convolutions",
       [](Exporter& e) { return e.q(e.same(e.qdq(e.same(e.x)))); },
       {{"channels last, Pad",
         [](Exporter& e) {
           const ValueId padded = e.pad(e.qdq(e.last(e.same(e.x))), {0, 1, 1, 0, 0, 1, 1, 0});
           return e.q(e.conv(e.first(padded), 3));
         }}}},
      {"a sum with the operand",
       [](Exporter& e) {
         const ValueId part = e.qdq(e.conv(e.x, 3, {1, 1, 1, 1}, {1, 1}, 16));
         return e.second(e.qdq(e.op("Add", {part, e.x}), 0.06F, 1));
       },
       {{"channels last",
         [](Exporter& e) {
           const ValueId part = e.qdq(e.last(e.conv(e.x, 3, {1, 1, 1, 1}, {1, 1}, 16)));
           return e.second(e.first(e.qdq(e.op("Add", {part, e.last(e.x)}), 0.06F, 1)));
         }}}},
      {"the mean of each channel, classes",
       [](Exporter& e) { return e.classes(e.op("Flatten", {e.mean(e.op("GlobalAveragePool", {e.head()}))})); },
       {{"ReduceMean",
         [](Exporter& e) {
           return e.classes(e.mean(e.reduce("ReduceMean", e.head(), {2, 3}, false)));
         }},
        {"ReduceMean, Squeeze",
         [](Exporter& e) {
           return e.classes(
               e.op("Squeeze", {e.mean(e.reduce("ReduceMean", e.head(), {2, 3}, true)), e.integers({2, 3})}));
         }},
        {"two ReduceMeans",
         [](Exporter& e) {
           return e.classes(e.mean(e.reduce("ReduceMean", e.reduce("ReduceMean", e.head(), {3}, false), {2}, false)));
         }},
        {"channels last, ReduceMean",
         [](Exporter& e) {
           return e.classes(e.mean(e.reduce("ReduceMean", e.last(e.head()), {1, 2}, false)));
         }},
        {"ReduceSum, Mul",
         [=](Exporter& e) {
           const ValueId sum = e.reduce("ReduceSum", e.head(), {2, 3}, false);
           return e.classes(e.mean(e.op("Mul", {sum, e.number(1.0F / kPixels)})));
         }},
        {"AveragePool of everything",
         [](Exporter& e) {
           const ValueId pool = e.op("AveragePool", {e.head()}, {{"kernel_shape", Ints{14, 14}}});
           return e.classes(e.op("Reshape", {e.mean(pool), e.integers({1, -1})}));
         }},
        {"a depthwise convolution",
         [=](Exporter& e) {
           const ValueId sum =
               e.op("Conv", {e.head(), e.ones({32, 1, 14, 14}, 1, 1.0F / kPixels)}, {{"group", std::int64_t{32}}});
           return e.classes(e.op("Flatten", {e.mean(sum)}));
         }},
        {"Squeeze, Squeeze, Unsqueeze, quantized, Squeeze",
         [](Exporter& e) {
           ValueId v = e.op("Squeeze", {e.mean(e.op("GlobalAveragePool", {e.head()})), e.integers({3})});
           v = e.mean(e.op("Unsqueeze", {e.op("Squeeze", {v, e.integers({2})}), e.integers({2})}));
           return e.classes(e.op("Squeeze", {v, e.integers({2})}));
         }},
        {"a 1x1 convolution, Squeeze, quantized",
         [](Exporter& e) {
           const ValueId v = e.mean(e.op("GlobalAveragePool", {e.head()}));
           const ValueId product = e.op("Conv", {v, e.weight({10, 32, 1, 1}, 9), e.bias(10)});
           return e.q(e.op("Squeeze", {product, e.integers({2, 3})}), 0.1F, 0);
         }},
        {"MatMul, Add",
         [](Exporter& e) {
           const ValueId v = e.op("Flatten", {e.mean(e.op("GlobalAveragePool", {e.head()}))});
           const ValueId product = e.op("MatMul", {v, e.weight({32, 10}, 9, 0.01F, true)});
           return e.q(e.op("Add", {product, e.bias(10)}), 0.1F, 0);
         }}}},
      {"a padded maximum",
       [](Exporter& e) {
         return e.second(e.op("MaxPool", {e.head()},
                              {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}}));
       },
       {{"Pad by 0 after Relu",
         [=](Exporter& e) {
           return e.second(
               e.op("MaxPool", {e.pad(e.head(), same_two)}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}));
         }},
        {"Pad by minus infinity",
         [=](Exporter& e) {
           return e.second(e.op("MaxPool", {e.pad(e.head(), same_two, -INFINITY)},
                                {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}));
         }}}},
  };
}

struct FormRun {
  NdArray values;
  std::uint64_t cycles;
};

FormRun run(const Build& build) {
  Exporter exporter;
  exporter.output(build(exporter));
  graph::Graph integer = std::move(exporter.graph);
  const std::string name = integer.value(integer.outputs[0]).name;
  for (const auto pass : {passes::eliminate_identities, passes::fold_pads, passes::lower_qdq})
    REQUIRE(pass(integer, {}).ok());
  NdArray image(DType::int8, {1, 16, 14, 14});
  for (std::int64_t i = 0; i < image.count(); ++i) image.set_int64(i, (i * 6151 + i / 7) % 255 - 127);
  const std::map<std::string, NdArray> inputs{{"x", image}};
  // A Squeeze of the result, which moves nothing, is the host's.
  const test::Ran ran = test::run_on_accelerator(integer, *isa::load_config("1x16x16-ext"), inputs, test::Demand::none);
  REQUIRE(ran.cycles > 0);
  return {Reference::make(integer)->run(inputs)->at(name), ran.cycles};
}

}  // namespace

TEST_CASE("exporter forms: the values of the plain form, and no more cycles") {
  for (const Plain& plain : all_forms()) {
    INFO(plain.name);
    const FormRun expected = run(plain.build);
    for (const Plain::Form& form : plain.forms) {
      INFO(form.name);
      const FormRun got = run(form.build);
      REQUIRE(got.values.count() == expected.values.count());
      CHECK(std::ranges::equal(got.values.bytes(), expected.values.bytes()));
      if (form.why_more_cycles == nullptr) CHECK(got.cycles <= expected.cycles);
      else CHECK(got.cycles > expected.cycles);  // else the reason is out of date
    }
  }
}

}  // namespace dovetail
