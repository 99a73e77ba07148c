// Attention, as the importer expands it, run by the reference and compared with plain loops in binary64.
#include <cmath>
#include <limits>
#include <random>

#include "compiler/reference/reference.h"
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {
namespace {

using namespace test::onnx;

enum class Mask { none, bias, boolean, shorter };

struct Form {
  bool joined = false;  // rank 3: heads and their elements share an axis
  std::int64_t heads = 2, kv_heads = 2, past = 0;
  Mask mask = Mask::none;
  bool causal = false, padded = false;
  double scale = 0, softcap = 0;  // 0: not given
  int scores = 0;                 // qk_matmul_output_mode
};

constexpr std::int64_t kBatch = 2, kQueries = 3, kKeys = 4, kSize = 5, kValueSize = 6;

NdArray draw(std::mt19937& rng, const Shape& shape) {
  std::uniform_real_distribution<float> values(-1, 1);
  NdArray array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, values(rng));
  return array;
}

struct Inputs {
  NdArray q, k, v, mask, past_key, past_value, lengths;
};

class Expected {
 public:
  Expected(const Form& form, const Inputs& inputs) : form_(form), in_(inputs) {}

  double query(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return element(in_.q, form_.heads, b, h, s, d);
  }
  // Element of the keys, past and present, of head `head`.
  double key(std::int64_t b, std::int64_t head, std::int64_t s, std::int64_t d) const {
    return s < form_.past ? element4(in_.past_key, b, head, s, d)
                          : element(in_.k, form_.kv_heads, b, head, s - form_.past, d);
  }
  double value(std::int64_t b, std::int64_t head, std::int64_t s, std::int64_t d) const {
    return s < form_.past ? element4(in_.past_value, b, head, s, d)
                          : element(in_.v, form_.kv_heads, b, head, s - form_.past, d);
  }
  std::int64_t total() const { return form_.past + kKeys; }
  std::int64_t kv_head(std::int64_t head) const { return head / (form_.heads / form_.kv_heads); }

  // Row of scores, after the given steps: 0 products, 1 softcap, 2 mask, 3 softmax.
  std::vector<double> row(std::int64_t b, std::int64_t h, std::int64_t s, int steps) const {
    const double scale = form_.scale != 0 ? form_.scale : 1 / std::sqrt(static_cast<double>(kSize));
    std::vector<double> row;
    for (std::int64_t t = 0; t < total(); ++t) {
      double sum = 0;
      for (std::int64_t d = 0; d < kSize; ++d) sum += query(b, h, s, d) * key(b, kv_head(h), t, d);
      sum *= scale;
      if (steps > 0 && form_.softcap != 0) sum = form_.softcap * std::tanh(sum / form_.softcap);
      if (steps > 1) sum += bias(b, s, t);
      row.push_back(sum);
    }
    if (steps < 3) return row;
    double all = 0;
    for (const double score : row) all += std::exp(score);
    for (double& score : row) score = std::exp(score) / all;
    return row;
  }

 private:
  static double element4(const NdArray& x, std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    const Shape& n = x.shape();
    return x.as_double(((b * n[1] + h) * n[2] + s) * n[3] + d);
  }
  double element(const NdArray& x, std::int64_t heads, std::int64_t b, std::int64_t h, std::int64_t s,
                 std::int64_t d) const {
    if (!form_.joined) return element4(x, b, h, s, d);
    const Shape& n = x.shape();
    return x.as_double((b * n[1] + s) * n[2] + h * (n[2] / heads) + d);
  }
  double bias(std::int64_t b, std::int64_t s, std::int64_t t) const {
    const double low = -std::numeric_limits<double>::infinity();
    double sum = 0;
    if (form_.mask != Mask::none) {
      const std::int64_t columns = in_.mask.shape().back();
      if (t >= columns) return low;
      const double entry = in_.mask.as_double(s * columns + t);
      sum = form_.mask == Mask::boolean ? (entry != 0 ? 0 : low) : entry;
    }
    if (form_.causal && t > s + form_.past) sum += low;
    if (form_.padded && t >= in_.lengths.as_int64(b)) sum += low;
    return sum;
  }

  const Form& form_;
  const Inputs& in_;
};

Inputs inputs_of(const Form& form, std::mt19937& rng) {
  Inputs in;
  const auto shape = [&](std::int64_t heads, std::int64_t positions, std::int64_t size) {
    return form.joined ? Shape{kBatch, positions, heads * size} : Shape{kBatch, heads, positions, size};
  };
  in.q = draw(rng, shape(form.heads, kQueries, kSize));
  in.k = draw(rng, shape(form.kv_heads, kKeys, kSize));
  in.v = draw(rng, shape(form.kv_heads, kKeys, kValueSize));
  in.past_key = draw(rng, {kBatch, form.kv_heads, form.past, kSize});
  in.past_value = draw(rng, {kBatch, form.kv_heads, form.past, kValueSize});
  in.lengths = int64s({2, 4});
  const std::int64_t columns = form.past + kKeys - (form.mask == Mask::shorter ? 1 : 0);
  in.mask = form.mask == Mask::boolean ? NdArray(DType::boolean, {kQueries, columns}) : draw(rng, {kQueries, columns});
  if (form.mask == Mask::boolean)
    for (std::int64_t i = 0; i < in.mask.count(); ++i) in.mask.set_int64(i, i % 3 != 1);
  return in;
}

std::map<std::string, NdArray> attend(const Form& form, const Inputs& in) {
  Model model;
  model.opset = 24;
  std::map<std::string, NdArray> values;
  std::vector<std::string> names;
  const auto give = [&](bool there, const std::string& name, const NdArray& array) {
    names.push_back(there ? name : "");
    if (!there) return;
    std::vector<Extent> extents;
    for (const std::int64_t extent : array.shape()) extents.emplace_back(static_cast<int>(extent));
    model.inputs.push_back(value_info(name, array.dtype(), extents));
    values[name] = array;
  };
  give(true, "q", in.q);
  give(true, "k", in.k);
  give(true, "v", in.v);
  give(form.mask != Mask::none, "mask", in.mask);
  give(form.past > 0, "past_key", in.past_key);
  give(form.past > 0, "past_value", in.past_value);
  give(form.padded, "lengths", in.lengths);
  std::vector<Message> attributes{attribute("is_causal", form.causal ? 1 : 0),
                                  attribute("qk_matmul_output_mode", form.scores)};
  if (form.joined) {
    attributes.push_back(attribute("q_num_heads", form.heads));
    attributes.push_back(attribute("kv_num_heads", form.kv_heads));
  }
  if (form.scale != 0) attributes.push_back(attribute("scale", static_cast<float>(form.scale)));
  if (form.softcap != 0) attributes.push_back(attribute("softcap", static_cast<float>(form.softcap)));
  const std::vector<std::string> outputs{"y", "present_key", "present_value", "scores"};
  for (const std::string& output : outputs) model.outputs.push_back(value_info(output, DType::float32, {}));
  model.nodes = {node("Attention", names, outputs, attributes)};
  const auto imported = model.import();
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  const auto reference = Reference::make(imported->graph);
  REQUIRE((reference.ok() ? "" : to_string(reference.errors())) == "");
  const auto result = reference->run(values);
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  return *result;
}

void check_close(double actual, double expected) {
  CHECK((actual == expected || std::abs(actual - expected) <= 2e-5 * std::max(1.0, std::abs(expected))));
}

void check(const Form& form) {
  std::mt19937 rng(17);
  const Inputs in = inputs_of(form, rng);
  const Expected expected(form, in);
  std::map<std::string, NdArray> results = attend(form, in);
  const NdArray &y = results.at("y"), &scores = results.at("scores"), &key = results.at("present_key");
  REQUIRE(y.shape() == (form.joined ? Shape{kBatch, kQueries, form.heads * kValueSize}
                                    : Shape{kBatch, form.heads, kQueries, kValueSize}));
  REQUIRE(scores.shape() == Shape{kBatch, form.heads, kQueries, expected.total()});
  REQUIRE(key.shape() == Shape{kBatch, form.kv_heads, expected.total(), kSize});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < form.heads; ++h)
      for (std::int64_t s = 0; s < kQueries; ++s) {
        const std::vector<double> weights = expected.row(b, h, s, 3), row = expected.row(b, h, s, form.scores);
        for (std::int64_t t = 0; t < expected.total(); ++t)
          check_close(scores.as_double(((b * form.heads + h) * kQueries + s) * expected.total() + t),
                      row[static_cast<std::size_t>(t)]);
        for (std::int64_t d = 0; d < kValueSize; ++d) {
          double sum = 0;
          for (std::int64_t t = 0; t < expected.total(); ++t)
            sum += weights[static_cast<std::size_t>(t)] * expected.value(b, expected.kv_head(h), t, d);
          const std::int64_t place = form.joined ? (b * kQueries + s) * form.heads * kValueSize + h * kValueSize + d
                                                 : ((b * form.heads + h) * kQueries + s) * kValueSize + d;
          check_close(y.as_double(place), sum);
        }
      }
  for (std::int64_t h = 0; h < form.kv_heads; ++h)
    for (std::int64_t t = 0; t < expected.total(); ++t)
      check_close(key.as_double((h * expected.total() + t) * kSize), expected.key(0, h, t, 0));
}

}  // namespace

TEST_CASE("import: Attention of rank 3 and 4, heads that share keys, scale and softcap, past keys") {
  for (const bool joined : {false, true})
    for (const std::int64_t past : {0, 2}) {
      check({.joined = joined, .past = past});
      check({.joined = joined, .heads = 6, .kv_heads = 3, .past = past, .scale = 0.3, .scores = 3});
      check({.joined = joined, .heads = 4, .kv_heads = 1, .past = past, .softcap = 0.5, .scores = 1});
    }
}

TEST_CASE("import: Attention with masks, causal, and with padded keys") {
  for (const Mask mask : {Mask::none, Mask::bias, Mask::boolean, Mask::shorter})
    for (const std::int64_t past : {0, 2}) {
      check({.past = past, .mask = mask, .causal = true, .scores = 2});
      check({.past = past, .mask = mask, .softcap = 2, .scores = 2});
    }
  check({.mask = Mask::bias, .padded = true, .scores = 2});
}

}  // namespace dovetail
