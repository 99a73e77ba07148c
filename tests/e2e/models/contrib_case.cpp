// A model of seventeen operators of the domain com.microsoft (shared/cases next to the repository): each result is
// compared with the operator's published definition, written out here.
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <span>

#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "runtime/executor.h"
#include "tests/contrib_definitions.h"
#include "tests/e2e/models/sample.h"
#include "tests/targets.h"

using namespace dovetail::test::contrib;

namespace dovetail {
namespace {

using Values = std::map<std::string, NdArray>;

NdArray drawn_like(const graph::TensorType& type, std::mt19937& rng) {
  NdArray array(type.dtype, type.shape);
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> byte(0, 255);
  for (std::int64_t i = 0; i < array.count(); ++i)
    is_floating(type.dtype) ? array.set_double(i, real(rng)) : array.set_int64(i, byte(rng));
  return array;
}

std::string file_bytes(const test::fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The file's bytes with `from` replaced by `to`, of the same length, after the only occurrence of `mark`.
std::string patched(std::string bytes, const std::string& mark, const std::string& from, const std::string& to) {
  REQUIRE(from.size() == to.size());
  const std::size_t marked = bytes.rfind(mark), at = bytes.find(from, marked);
  REQUIRE((marked != std::string::npos && at != std::string::npos && at - marked < 32));
  return bytes.replace(at, from.size(), to);
}

// An initializer that import keeps in another form: its name is followed by its bytes.
NdArray initializer(const std::string& bytes, const std::string& name, DType dtype, const Shape& shape) {
  NdArray array(dtype, shape);
  const std::string mark = std::string("\x42") + static_cast<char>(name.size()) + name + "\x4a";
  std::size_t at = bytes.find(mark);
  REQUIRE(at != std::string::npos);
  at += mark.size();
  while ((static_cast<unsigned char>(bytes.at(at)) & 0x80) != 0) ++at;  // the length
  std::memcpy(array.bytes().data(), bytes.substr(at + 1, array.bytes().size()).data(), array.bytes().size());
  return array;
}

struct ContribModel {
  graph::Graph graph;
  Values inputs;  // and initializers that the graph has in another form

  Reals operator()(const std::string& name) const { return Reals(array(name)); }
  const NdArray& array(const std::string& name) const {
    if (const auto found = inputs.find(name); found != inputs.end()) return found->second;
    for (const graph::Value& value : graph.values)
      if (value.name == name && value.constant) return *value.constant;
    FAIL("the model has no " << name);
    return inputs.begin()->second;
  }
};

// Convolution of an image with the channels last by a kernel [outputs, channels, h, w], with the operands' zero points
// and scales, quantized.
Reals quantized_convolution(const ContribModel& m) {
  const Reals x = m("xn"), w = m("cw8");
  const double scale = m("s1")[0], zero = m("z1")[0];
  const std::int64_t kh = w.shape[2], kw = w.shape[3], h = x.shape[1] - kh + 1, width = x.shape[2] - kw + 1;
  Reals y(Shape{1, h, width, w.shape[0]});
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const std::int64_t o = i % w.shape[0], c = i / w.shape[0] % width, r = i / w.shape[0] / width;
    double sum = 0;
    for (std::int64_t channel = 0; channel < w.shape[1]; ++channel)
      for (std::int64_t a = 0; a < kh; ++a)
        for (std::int64_t b = 0; b < kw; ++b)
          sum += (x.at({0, r + a, c + b, channel}) - zero) * (w.at({o, channel, a, b}) - zero);
    y[i] = std::min(std::max(std::nearbyint(sum * scale * scale / scale) + zero, 0.0), 255.0);
  }
  return y;
}

Reals attended(const Reals& projected, std::int64_t heads) {
  const std::int64_t width = projected.columns() / 3;
  const auto part = [&](std::int64_t i) { return heads_first(columns(projected, i * width, (i + 1) * width), heads); };
  return heads_last(attention(part(0), part(1), part(2), 0, no_bias));
}

std::map<std::string, Reals> expected_results(const ContribModel& m) {
  const Reals x = m("x"), sum = added(x, m("x2"));
  std::map<std::string, Reals> y;
  y["a0"] = normalized(sum, m("g"), m("b"), 1e-5, true);
  y["a1"] = normalized(x, m("g"), Reals(), 1e-5, false);
  y["a2"] = normalized(sum, m("g"), Reals(), 1e-5, false);
  y["a3"] = map(added(x, m("b")), gelu);
  y["a4"] = map(added(x, m("b")), gelu_by_tanh);
  y["a5"] = map(x, [](double v) { return quick_gelu(v, 1.702); });
  y["a6"] = map(x, gelu);
  y["a7"] = map(product(x, turned(m("w"))), [](double v) { return v / 2; });
  const Reals image = m("im"), kernel = m("cw");
  Reals conv(Shape{1, 4, 6, 6});
  for (std::int64_t i = 0; i < conv.count(); ++i)
    for (std::int64_t j = 0; j < 27; ++j)
      conv[i] += kernel[i / 36 * 27 + j] * image.at({0, j / 9, i / 6 % 6 + j / 3 % 3, i % 6 + j % 3});
  y["a8"] = map(conv, [](double v) { return std::max(v, 0.0); });
  y["a9"] = product(x, unpacked_weight(m.array("mq"), m.array("ms"), nullptr, 32, 16, 4, 32));
  y["a10"] = heads_last(rotated(
      heads_first(x, 2), m("cc"), m("ss"), [&](auto, auto p) { return m.array("pid").as_int64(p); }, false));
  y["a11"] = heads_last(attention(heads_first(x, 2), heads_first(x, 2), heads_first(x, 2), 0, no_bias));
  const Reals k = joined(m("pk"), heads_first(m("k1"), 1)), v = joined(m("pv"), heads_first(m("k1"), 1));
  const std::int64_t past = m("pk").shape[2];
  y["a12"] = heads_last(attention(heads_first(x, 2), k, v, 0, [&](auto, auto, auto s, auto t) {
    return t > past + s ? -std::numeric_limits<double>::infinity() : 0;
  }));
  Reals embedding(Shape{1, 4, 32});
  for (std::int64_t i = 0; i < embedding.count(); ++i)
    embedding[i] = m("we")[m.array("ids").as_int64(i / 32) * 32 + i % 32] + m("pe")[i];
  y["a13"] = normalized(embedding, m("g"), m("b"), 1e-12, true);
  const double qz = m("qz")[0], wz = m("wz")[0], scale = m("qs")[0] * m("ws")[0];
  y["a14"] = attended(
      map(product(map(m("xq"), [&](double a) { return a - qz; }), map(m("wq"), [&](double a) { return a - wz; })),
          [&](double a) { return a * scale; }),
      2);
  const Reals xn = m("xn");
  Reals pooled(Shape{1, 7, 7, 4});
  for (std::int64_t i = 0; i < pooled.count(); ++i)
    for (std::int64_t j = 0; j < 4; ++j)
      pooled[i] = std::max(pooled[i], xn.at({0, i / 28 + j / 2, i / 4 % 7 + j % 2, i % 4}));
  y["a16"] = pooled;
  y["a17"] = quantized_convolution(m);
  return y;
}

void check_inverse(const Reals& x, const NdArray& y) {
  const std::int64_t n = x.columns();
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += x[r * n + j] * y.as_double(j * n + c);
      CHECK(std::abs(sum - (r == c ? 1 : 0)) < 1e-4);
    }
}

void check_results(const ContribModel& model, const Values& results) {
  for (const auto& [name, expected] : expected_results(model)) {
    INFO(name);
    // The tolerance of quantized results is one step.
    check_close(results.at(name), expected, name == "a17" ? 1.0 / 255 : 3e-5);
  }
  check_inverse(model("sq"), results.at("a15"));
}

}  // namespace

TEST_CASE("A model of com.microsoft's operators gives the values of their definitions") {
  const test::fs::path file = test::cases_folder() / "17b_contrib_many" / "model.onnx";
  if (!test::fs::exists(file)) return test::skip(file.string() + " is not there");
  // The file gives QAttention a scale for its bias, and declares float32 for two results of uint8: both are refused.
  const auto as_it_is = import::import_onnx_file(file);
  REQUIRE_FALSE(as_it_is.ok());
  CHECK_THAT(to_string(as_it_is.errors()),
             Catch::Matchers::ContainsSubstring("cannot import com.microsoft.QAttention") &&
                 Catch::Matchers::ContainsSubstring("input 4 (weight_scale) is missing"));
  std::string bytes = file_bytes(file);
  // Operands, each as a length and the letters.
  const std::string none("\x0a\0", 2), scale("\x0a\x02qs"), weight_scale("\x0a\x02ws");
  bytes = patched(std::move(bytes), "\x0a\x02wq" + scale, scale + weight_scale + none + none,
                  none + scale + weight_scale + none);
  for (const char* output : {"\x0a\x03"
                             "a16\x12",
                             "\x0a\x03"
                             "a17\x12"})
    bytes = patched(std::move(bytes), output, "\x08\x01", "\x08\x02");
  const auto imported = import::import_onnx(std::as_bytes(std::span(bytes)), "17b");
  if (!imported) FAIL(to_string(imported.errors()));
  ContribModel model{imported->graph, {}};
  model.inputs.emplace("mq", initializer(bytes, "mq", DType::uint8, {16, 1, 16}));
  model.inputs.emplace("ms", initializer(bytes, "ms", DType::float32, {16}));
  std::mt19937 rng(5);
  for (const graph::ValueId input : model.graph.inputs) {
    const graph::Value& value = model.graph.value(input);
    NdArray array = drawn_like(value.type, rng);
    for (std::int64_t i = 0; i < array.count(); ++i) {
      if (value.name == "pid") array.set_int64(i, 7 - i);
      if (value.name == "ids") array.set_int64(i, (i * 11 + 3) % 30);
      if (value.name == "sl") array.set_int64(i, 3);  // one less than the number of positions
      if (value.name == "tl") array.set_int64(i, 4);
      if (value.name == "sq" && i % 4 == 0) array.set_double(i, array.as_double(i) + 3);  // far from singular
    }
    model.inputs.emplace(value.name, std::move(array));
  }
  Values inputs;
  for (const graph::ValueId input : model.graph.inputs)
    inputs.emplace(model.graph.value(input).name, model.array(model.graph.value(input).name));
  SECTION("reference") {
    auto reference = Reference::make(imported->graph);
    if (!reference) FAIL(to_string(reference.errors()));
    const auto outputs = reference->run(inputs);
    if (!outputs) FAIL(to_string(outputs.errors()));
    check_results(model, *outputs);
  }
  SECTION("cpu") {
    CompileOptions options;
    options.available = test::kit_targets();
    options.targets = {"cpu"};
    auto compiled = compile(*imported, options);
    if (!compiled) FAIL(to_string(compiled.errors()));
    const auto simulators = runtime::simulator_factory("functional");
    if (!simulators) FAIL(to_string(simulators.errors()));
    auto executor = runtime::Executor::make(std::move(compiled->bundle), *simulators);
    if (!executor) FAIL(to_string(executor.errors()));
    const auto result = executor->run(inputs);
    if (!result) FAIL(to_string(result.errors()));
    check_results(model, result->outputs);
  }
}

}  // namespace dovetail
