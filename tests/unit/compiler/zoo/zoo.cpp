// The zoo's models: published counts, reproducible weights, and signals that neither vanish nor explode.
#include "compiler/zoo/zoo.h"

#include <cmath>

#include "compiler/export/onnx.h"
#include "compiler/import/onnx.h"
#include "compiler/reference/reference.h"
#include "compiler/zoo/weights.h"
#include "tests/catch.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;

namespace {

zoo::Model made(const std::string& name, const zoo::Choices& choices = {}) {
  auto model = zoo::make(name, choices);
  if (!model) FAIL(to_string(model.errors()));
  return *std::move(model);
}

// In millions, as in papers and frameworks.
struct Published {
  const char* name;
  double parameters, macs;
};
constexpr Published kPublished[] = {
    {"resnet18", 11.69, 1820},     {"resnet50", 25.56, 4100},    {"mobilenet_v1", 4.23, 569},
    {"mobilenet_v2", 3.50, 300},   {"squeezenet1.1", 1.24, 350}, {"vgg16", 138.36, 15500},
    {"bert_base", 85.05, 11170},   {"gpt_block", 0.79, 52.4},    {"gpt2", 85.06, 11170},
    {"llama_block", 0.7255, 48.5}, {"stories15m", 15.19, 405.6}, {"stories15m_decode", 15.19, 16.07},
    {"bert_tiny", 0.397, 58.7},    {"vit_tiny", 5.72, 1260},     {"resnet8", 0.0782, 12.5},
    {"ds_cnn", 0.0238, 2.66},
};

std::map<std::string, NdArray> inputs_of(const graph::Graph& graph, std::uint64_t seed) {
  std::map<std::string, NdArray> inputs;
  for (graph::ValueId id : graph.inputs)
    inputs.emplace(graph.value(id).name, zoo::normal_array(graph.value(id).type.shape, 1, zoo::Random(seed, "input")));
  return inputs;
}

std::vector<double> output_of(const Reference& reference, const std::map<std::string, NdArray>& inputs) {
  auto values = reference.run(inputs);
  if (!values) FAIL(to_string(values.errors()));
  const graph::Graph& graph = reference.graph();
  const NdArray& output = values->at(graph.value(graph.outputs[0]).name);
  std::vector<double> elements;
  for (std::int64_t i = 0; i < output.count(); ++i) elements.push_back(output.as_double(i));
  return elements;
}

double deviation(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

Reference reference_of(const zoo::Model& model) {
  auto reference = Reference::make(model.graph);
  if (!reference) FAIL(to_string(reference.errors()));
  return *std::move(reference);
}

}  // namespace

TEST_CASE("zoo: parameters and MACs are those of the table, and the published ones") {
  const Published& published = GENERATE(from_range(std::begin(kPublished), std::end(kPublished)));
  INFO(published.name);
  const zoo::Model model = made(published.name);
  const auto row = std::find_if(zoo::all().begin(), zoo::all().end(),
                                [&](const zoo::Row& each) { return each.name == published.name; });
  REQUIRE(row != zoo::all().end());
  CHECK(model.parameters == row->parameters);
  CHECK(model.macs == row->macs);
  CHECK(static_cast<double>(model.parameters) * 1e-6 == Approx(published.parameters).epsilon(0.005));
  CHECK(static_cast<double>(model.macs) * 1e-6 == Approx(published.macs).epsilon(0.01));
}

TEST_CASE("zoo: every model is in the list of published counts") { CHECK(std::size(kPublished) == zoo::all().size()); }

// Small models; the larger ones consist of the same layers.
TEST_CASE("zoo: signals reach the output, and distinguish inputs") {
  using Size = std::optional<std::int64_t>;
  struct Case {
    const char* name;
    Size image, sequence;
  };
  const auto [name, image, sequence] =
      GENERATE(Case{"resnet8", {}, {}}, Case{"ds_cnn", {}, {}}, Case{"gpt_block", {}, 16}, Case{"bert_tiny", {}, 9},
               Case{"llama_block", {}, 16}, Case{"vit_tiny", 32, {}}, Case{"mobilenet_v1", 96, {}},
               Case{"mobilenet_v2", 32, {}}, Case{"squeezenet1.1", 64, {}});
  INFO(name);
  const Reference reference = reference_of(made(name, {1, 1, image, sequence}));
  const std::vector<double> one = output_of(reference, inputs_of(reference.graph(), 1)),
                            other = output_of(reference, inputs_of(reference.graph(), 2));
  INFO("deviations " << deviation(one) << ", " << deviation(other));
  CHECK(deviation(one) > 0.05);
  CHECK(deviation(one) < 50);
  std::vector<double> difference;
  for (std::size_t i = 0; i < one.size(); ++i) difference.push_back(one[i] - other[i]);
  INFO("deviation of the difference " << deviation(difference));
  CHECK(deviation(difference) > 0.01 * deviation(one));
}

TEST_CASE("zoo: a position of the GPT block and of the Llama block sees no later position") {
  const Reference reference = reference_of(made(GENERATE("gpt_block", "llama_block"), {1, 1, {}, 6}));
  auto inputs = inputs_of(reference.graph(), 1);
  const std::vector<double> before = output_of(reference, inputs);
  constexpr std::size_t kHidden = 256;
  for (float& value : inputs.at("hidden").data<float>().subspan(4 * kHidden)) value = -value;
  const std::vector<double> after = output_of(reference, inputs);
  for (std::size_t position = 0; position < 6; ++position) {
    INFO("position " << position);
    const bool same = std::equal(before.begin() + static_cast<std::ptrdiff_t>(position * kHidden),
                                 before.begin() + static_cast<std::ptrdiff_t>((position + 1) * kHidden),
                                 after.begin() + static_cast<std::ptrdiff_t>(position * kHidden));
    CHECK(same == (position < 4));
  }
}

TEST_CASE("zoo: weights depend only on the seed and the layer's name") {
  const auto weights = [](const zoo::Choices& choices) {
    const zoo::Model model = made("ds_cnn", choices);
    return *model.graph.value(*model.graph.find_value("block2.pointwise.weight")).constant;
  };
  const NdArray first = weights({});
  CHECK(first == weights({1, 3, {}, {}}));
  CHECK_FALSE(first == weights({2, 1, {}, {}}));
  // The same on every machine: these values come from a separate implementation of the generator (Python integers).
  zoo::Random random(1, "a");
  for (std::uint64_t expected :
       {std::uint64_t{16599467779519911623u}, std::uint64_t{4097233316999516042u}, std::uint64_t{2998060998653419891u}})
    CHECK(random.next() == expected);
  CHECK(zoo::normal_array({2}, 1, zoo::Random(7, "b")) == NdArray::from<float>({2}, {-2.4856472f, -1.17109537f}));
}

TEST_CASE("zoo: a batch, another size, and a round trip through ONNX") {
  const zoo::Model model = made("resnet8", {3, 2, 16, {}});
  CHECK(model.graph.value(model.graph.inputs[0]).type.shape == Shape{2, 3, 16, 16});
  CHECK(model.graph.value(model.graph.outputs[0]).type.shape == Shape{2, 10});
  CHECK(model.parameters == made("resnet8").parameters);
  const auto bytes = export_onnx(model.graph, "resnet8");
  REQUIRE(bytes.ok());
  const auto imported = import::import_onnx(*bytes, "resnet8.onnx");
  if (!imported) FAIL(to_string(imported.errors()));
  CHECK((to_string(imported->graph) == to_string(model.graph)));
}

TEST_CASE("zoo: models that it cannot build are reported") {
  const auto refusal = [](const char* name, const zoo::Choices& choices) {
    const auto model = zoo::make(name, choices);
    return model ? std::string() : to_string(model.errors());
  };
  CHECK_THAT(refusal("resnet19", {}),
             ContainsSubstring("no model of this name") && ContainsSubstring("resnet18, resnet50"));
  CHECK_THAT(refusal("resnet18", {1, 0, {}, {}}), ContainsSubstring("(batch 0): the value must be from 1 to 1024"));
  CHECK_THAT(refusal("resnet18", {1, 1, 16, {}}), ContainsSubstring("(image 16): the value must be from 32 to 1024"));
  CHECK_THAT(refusal("resnet18", {1, 1, {}, 16}),
             ContainsSubstring("(sequence 16): resnet18 has no sequence size to choose"));
  CHECK_THAT(refusal("ds_cnn", {1, 1, 32, {}}), ContainsSubstring("ds_cnn has no image size to choose"));
}

}  // namespace dovetail
