#include "bench/cuda/cases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "bench/cuda/definitions.h"
#include "compiler/ops/op.h"
#include "compiler/zoo/builder.h"
#include "compiler/zoo/inputs.h"
#include "compiler/zoo/weights.h"
#include "compiler/zoo/zoo.h"

namespace dovetail::bench {
namespace {

using graph::ValueId;

struct NumberRow {
  const char* name;
  DType type;
  bool tf32;
};
constexpr NumberRow kNumbers[] = {{"float32", DType::float32, false},
                                  {"tf32", DType::float32, true},
                                  {"float16", DType::float16, false},
                                  {"bfloat16", DType::bfloat16, false},
                                  {"int8", DType::int8, false}};
constexpr std::int64_t kSmallImage = 32, kSmallSequence = 8;

ValueId add(graph::Graph& graph, const std::string& op, std::vector<ValueId> inputs,
            graph::Attributes attributes = {}) {
  const std::string node = graph.unique_node_name(op);
  const ValueId output = graph.add_value(node + "_out", {});
  const graph::NodeId id =
      graph.add_node({node, op, std::move(inputs), {output}, std::move(attributes), {node}, false});
  const auto status = ops::infer(graph, id);
  DOVETAIL_CHECK(status.ok(), "the case must be a legal node: " + (status.ok() ? "" : to_string(status.errors())));
  return output;
}

// Random bits: power, and so the clock, depends on the numbers that a processor multiplies.
NdArray random_array(DType type, const Shape& shape, double deviation, const std::string& name) {
  zoo::Random random(1, name);
  if (type == DType::float32) return zoo::normal_array(shape, deviation, random);
  NdArray array(type, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    if (type == DType::int8) array.set_int64(i, static_cast<std::int64_t>(random.next() >> 56) - 128);
    else array.set_double(i, deviation * random.normal());
  }
  return array;
}

// The second operand is a constant, like a layer's weights.
Case product(std::int64_t n, const NumberRow& number) {
  Case made;
  made.graph.name = fmt::format("product {}", n);
  made.operations = 2 * std::pow(static_cast<double>(n), 3);
  made.tf32 = number.tf32;
  NdArray a = random_array(number.type, {n, n}, 1, "a"), b = random_array(number.type, {n, n}, 1, "b");
  made.graph.inputs = {made.graph.add_value("a", {number.type, {n, n}})};
  made.graph.outputs = {add(made.graph, number.type == DType::int8 ? "MatMulInteger" : "MatMul",
                            {made.graph.inputs[0], made.graph.add_constant("b", b)})};
  const std::string output = made.graph.value(made.graph.outputs[0]).name;
  made.check = [output, a, b = std::move(b), tf32 = number.tf32](const Arrays& outputs, Rounding) {
    return check_product(outputs.at(output), a, b, tf32);
  };
  made.inputs.emplace("a", std::move(a));
  return made;
}

struct ConvolutionRow {
  graph::Attributes attributes;
  Shape x, w;  // x with batch 1
  int count = 1;
};

// The distinct convolutions of ResNet-50.
std::vector<ConvolutionRow> convolutions(std::int64_t image) {
  std::vector<ConvolutionRow> rows;
  const zoo::Model model = zoo::make("resnet50", {1, 1, image, {}}).value();
  for (const graph::NodeId id : model.graph.live_nodes()) {
    const graph::Node& node = model.graph.node(id);
    if (node.op != "Conv") continue;
    ConvolutionRow row{node.attributes, model.graph.value(node.inputs[0]).type.shape,
                       model.graph.value(node.inputs[1]).type.shape};
    const auto same = std::ranges::find_if(rows, [&](const ConvolutionRow& other) {
      return other.x == row.x && other.w == row.w && other.attributes == row.attributes;
    });
    if (same != rows.end()) ++same->count;
    else rows.push_back(std::move(row));
  }
  return rows;
}

std::string text_of(const ConvolutionRow& row, std::int64_t batch) {
  const auto strides = std::get<std::vector<std::int64_t>>(row.attributes.at("strides"));
  return fmt::format("convolution {0} x {0}{1}, {2} to {3} channels, {4} x {5}, batch {6}", row.w[2],
                     strides[0] == 1 ? "" : fmt::format(" by {}", strides[0]), row.w[1], row.w[0], row.x[2], row.x[3],
                     batch);
}

// Includes the bias from batch normalization, and the activation after it.
Case convolution(const ConvolutionRow& row, std::int64_t batch, const NumberRow& number) {
  Case made;
  made.graph.name = text_of(row, batch);
  made.tf32 = number.tf32;
  Shape shape = row.x;
  shape[0] = batch;
  const double deviation = std::sqrt(2.0 / static_cast<double>(element_count(row.w) / row.w[0]));
  NdArray x = random_array(number.type, shape, 1, "x"), w = random_array(number.type, row.w, deviation, "w"),
          bias = random_array(number.type, {row.w[0]}, 0.1, "bias");
  made.graph.inputs = {made.graph.add_value("x", {number.type, shape})};
  const ValueId y = add(made.graph, "Conv",
                        {made.graph.inputs[0], made.graph.add_constant("w", w), made.graph.add_constant("bias", bias)},
                        row.attributes);
  made.graph.outputs = {add(made.graph, "Relu", {y})};
  made.operations = 2 * static_cast<double>(element_count(made.graph.value(y).type.shape)) *
                    static_cast<double>(element_count(row.w) / row.w[0]);
  const std::string output = made.graph.value(made.graph.outputs[0]).name;
  made.check = [=, x = x, attributes = row.attributes, tf32 = number.tf32](const Arrays& outputs, Rounding rounding) {
    return check_convolution(outputs.at(output), x, w, bias, attributes, tf32, rounding);
  };
  made.inputs.emplace("x", std::move(x));
  return made;
}

// Elementwise and normalization chains that networks have between their products.
struct ChainRow {
  const char* name;
  void (*build)(zoo::Builder& builder, std::int64_t rows);
};
constexpr ChainRow kChains[] = {
    {"bias and GELU",
     [](zoo::Builder& b, std::int64_t rows) {
       const auto x = b.input("x", {rows, 3072}), bias = b.input("bias", {1, 3072});
       b.output(b.gelu("gelu", b.add("sum", x, bias), zoo::Gelu::exact));
     }},
    {"bias, residual sum and layer norm",
     [](zoo::Builder& b, std::int64_t rows) {
       const auto x = b.input("x", {rows, 768}), bias = b.input("bias", {1, 768}), residual = b.input("r", {rows, 768});
       b.output(b.layer_norm("norm", b.add("sum", b.add("biased", x, bias), residual), 1e-5F));
     }},
    {"scale, mask and softmax",
     [](zoo::Builder& b, std::int64_t rows) {
       const auto x = b.input("x", {rows, 512}), mask = b.input("mask", {1, 512});
       b.output(b.softmax("softmax", b.add("masked", b.divide("scaled", x, 8), mask)));
     }},
    {"batch norm, residual sum and ReLU",
     [](zoo::Builder& b, std::int64_t rows) {
       const std::int64_t size = std::max<std::int64_t>(1, rows / 128);
       const auto x = b.input("x", {256, size, 56}), residual = b.input("r", {256, size, 56});
       b.output(b.relu("relu", b.add("sum", b.batch_norm("norm", x), residual)));
     }},
    {"tanh GELU, sum and layer norm",
     [](zoo::Builder& b, std::int64_t rows) {
       const auto x = b.input("x", {rows, 1024}), residual = b.input("r", {rows, 1024});
       b.output(b.layer_norm("norm", b.add("sum", b.gelu("gelu", x, zoo::Gelu::tanh), residual), 1e-5F));
     }},
};

Case of_model(zoo::Model model) {
  Case made;
  made.operations = 2 * static_cast<double>(model.macs);
  made.inputs = zoo::sample_inputs(model.graph, 1, 0);
  made.graph = std::move(model.graph);
  return made;
}

Case chain(const ChainRow& row, std::int64_t rows) {
  zoo::Builder builder(row.name, {});
  row.build(builder, rows);
  return of_model(std::move(builder).finish());
}

Result<zoo::Choices> choices_of(const std::string& network, std::int64_t batch, std::int64_t image,
                                std::int64_t sequence) {
  const auto rows = zoo::all();
  const auto row = std::ranges::find(rows, network, &zoo::Row::name);
  if (row == rows.end())
    return Diagnostic{"bad usage of bench_cuda", network, "the zoo has no network of this name",
                      "`dovetail zoo list` lists them"};
  zoo::Choices choices;
  choices.batch = batch;
  if (row->image.chosen()) choices.image = image;
  if (row->sequence.chosen()) choices.sequence = sequence;
  return choices;
}

}  // namespace

std::string_view name(Group group) {
  switch (group) {
    case Group::product: return "product";
    case Group::convolution: return "convolution";
    case Group::chain: return "chain";
    case Group::network: return "network";
  }
  return {};
}

Result<std::vector<CaseRow>> all_cases(const Sizes& sizes) {
  std::vector<CaseRow> cases;
  for (const NumberRow& number : kNumbers)
    for (const std::int64_t n : sizes.products)
      cases.push_back(
          {Group::product, fmt::format("product {}", n), number.name, 1, [=] { return product(n, number); }});
  for (const NumberRow& number : kNumbers) {
    if (number.type == DType::int8) continue;  // the library rounds differently (docs/reference/quantization.md)
    for (const std::int64_t batch : sizes.batches)
      for (const ConvolutionRow& row : convolutions(sizes.image))
        cases.push_back({Group::convolution, text_of(row, batch), number.name, row.count,
                         [=] { return convolution(row, batch, number); }});
  }
  for (const ChainRow& row : kChains)
    cases.push_back({Group::chain, fmt::format("{}, {} rows", row.name, sizes.rows), "float32", 1,
                     [=] { return chain(row, sizes.rows); }, [=] { return chain(row, 16); }});
  for (const std::string& network : sizes.networks)
    for (const std::int64_t batch : sizes.batches) {
      DOVETAIL_ASSIGN(const zoo::Choices choices, choices_of(network, batch, sizes.image, sizes.sequence));
      DOVETAIL_ASSIGN(const zoo::Choices small, choices_of(network, 1, std::min(kSmallImage, sizes.image),
                                                           std::min(kSmallSequence, sizes.sequence)));
      DOVETAIL_TRY(zoo::make(network, small));
      DOVETAIL_TRY(zoo::make(network, choices));
      cases.push_back({Group::network, fmt::format("{}, batch {}", network, batch), "float32", 1,
                       [=] { return of_model(zoo::make(network, choices).value()); },
                       [=] { return of_model(zoo::make(network, small).value()); }});
    }
  return cases;
}

}  // namespace dovetail::bench
