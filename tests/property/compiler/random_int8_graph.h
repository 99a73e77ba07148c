// Random chains of int8 operators with one graph input, as in quantized models: those that the accelerator takes
// (dovetail.qconv, including averages, qgemm, qadd, MaxPool, movements, tables of two lines), or every form that
// lower_qdq makes.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/graph/graph.h"
#include "compiler/ops/op.h"
#include "compiler/reference/reference.h"
#include "tests/catch.h"
#include "tests/generator_graphs/draw.h"

namespace dovetail::test {

enum class Forms : std::uint8_t { accelerated, all };

struct RandomInt8Graph {
  graph::Graph graph;
  Draw draw;
  bool shifts_only;                                  // scales that hardware without `requant` supports
  std::map<std::int32_t, std::int32_t> zero_points;  // by value: producers and consumers agree, as in a quantized model

  Forms forms;

  RandomInt8Graph(std::uint64_t seed, bool shifts, Forms which = Forms::accelerated)
      : draw(seed), shifts_only(shifts), forms(which) {
    graph.name = fmt::format("random{}", seed);
  }

  graph::ValueId input(Shape shape) {
    const graph::ValueId id = graph.add_value("x", {DType::int8, std::move(shape)});
    graph.inputs.push_back(id);
    zero_points[id.index] = static_cast<std::int32_t>(draw.coin() ? 0 : draw.between(-128, 127));
    return id;
  }
  float scale(double typical) {
    const double factor = std::exp2(-static_cast<double>(draw.between(0, 3)));
    if (shifts_only) return std::exp2(static_cast<float>(std::min(-1.0, std::floor(std::log2(typical * factor)))));
    return static_cast<float>(typical * factor * (1.0 + static_cast<double>(draw.between(0, 999)) / 1000.0));
  }
  graph::ValueId add(const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes) {
    graph::Node node;
    node.name = graph.unique_node_name(op == "MaxPool" ? "pool" : op.substr(op.find('.') + 1));
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.origins = {node.name};
    node.outputs = {graph.add_value(node.name + "_out", {})};
    const graph::ValueId output = node.outputs[0];
    const graph::NodeId id = graph.add_node(std::move(node));
    const auto status = ops::infer(graph, id);
    INFO((status.ok() ? "" : to_string(status.errors())));
    REQUIRE(status.ok());
    return output;
  }
  graph::Attributes epilogue(graph::ValueId x) {
    const std::int32_t y = static_cast<std::int32_t>(draw.coin() ? 0 : draw.between(-128, 127));
    graph::Attributes attributes{{"y_zero_point", std::int64_t{y}}};
    attributes["x_zero_point"] = std::int64_t{zero_points[x.index]};
    if (draw.coin()) attributes["y_min"] = draw.between(-128, y);
    if (draw.between(0, 3) == 0) attributes["y_max"] = draw.between(y, 127);
    return attributes;
  }
  void remember(graph::ValueId y, const graph::Attributes& attributes) {
    zero_points[y.index] = static_cast<std::int32_t>(std::get<std::int64_t>(attributes.at("y_zero_point")));
  }
  void weights(std::vector<graph::ValueId>& inputs, const Shape& shape) {
    const std::int64_t outputs = shape[0], terms = element_count(shape) / outputs;
    NdArray bias(DType::int32, {outputs}), scales(DType::float32, {outputs});
    for (auto& value : bias.data<std::int32_t>())
      value = static_cast<std::int32_t>(draw.between(-40 * terms, 40 * terms));
    const float common = scale(0.02 / std::sqrt(static_cast<double>(terms)));
    for (auto& value : scales.data<float>())
      value = draw.coin() ? common : scale(0.02 / std::sqrt(static_cast<double>(terms)));
    inputs.push_back(graph.add_constant("w", draw.int8(shape)));
    inputs.push_back(graph.add_constant("bias", std::move(bias)));
    inputs.push_back(graph.add_constant("scale", std::move(scales)));
  }
  graph::ValueId conv(graph::ValueId x) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t kh = draw.between(1, std::min<std::int64_t>(4, shape[2])),
                       kw = draw.between(1, std::min<std::int64_t>(4, shape[3]));
    const std::int64_t dh = kh > 1 && 2 * (kh - 1) < shape[2] ? draw.between(1, 2) : 1;
    graph::Attributes attributes = epilogue(x);
    attributes["strides"] = std::vector<std::int64_t>{draw.between(1, 3), draw.between(1, 2)};
    attributes["dilations"] = std::vector<std::int64_t>{dh, 1};
    attributes["pads"] = std::vector<std::int64_t>{draw.between(0, kh - 1), draw.between(0, kw - 1),
                                                   draw.between(0, kh - 1), draw.between(0, kw - 1)};
    // One in three has groups.
    std::int64_t group = draw.one_in(3) ? draw.between(2, shape[1] + 1) : 1;
    while (shape[1] % group != 0) --group;
    attributes["group"] = group;
    std::vector<graph::ValueId> inputs{x};
    weights(inputs, {group * draw.between(1, std::max<std::int64_t>(1, 40 / group)), shape[1] / group, kh, kw});
    const graph::ValueId y = add("dovetail.qconv", std::move(inputs), attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId gemm(graph::ValueId x) {
    if (graph.value(x).type.shape.size() == 4) {
      const std::int32_t zero_point = zero_points[x.index];
      x = add("Flatten", {x}, {{"axis", std::int64_t{1}}});
      zero_points[x.index] = zero_point;
    }
    graph::Attributes attributes = epilogue(x);
    std::vector<graph::ValueId> inputs{x};
    weights(inputs, {draw.between(1, 40), graph.value(x).type.shape[1]});
    const graph::ValueId y = add("dovetail.qgemm", std::move(inputs), attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId residual(graph::ValueId a, graph::ValueId b) {
    const std::int64_t k = draw.between(2, 16);
    const auto multiplier = [&] {
      const double value =
          shifts_only ? std::exp2(static_cast<double>(draw.between(0, k + 1)))
                      : std::exp2(static_cast<double>(k)) * static_cast<double>(draw.between(1, 4000)) / 2000.0;
      return static_cast<double>(static_cast<float>(value));
    };
    graph::Attributes attributes = epilogue(a);
    attributes.erase("x_zero_point");
    attributes["a_zero_point"] = std::int64_t{zero_points[a.index]};
    attributes["b_zero_point"] = std::int64_t{zero_points[b.index]};
    const auto factor = [&] { return static_cast<double>((draw.between(0, 3) == 0 ? -1 : 1) * draw.between(1, 127)); };
    const bool whole = draw.between(0, 1) == 0;
    attributes["a_multiplier"] = whole ? factor() : multiplier();
    attributes["b_multiplier"] = whole ? factor() : multiplier();
    const double unit = std::exp2(static_cast<double>(-k));
    attributes["scale"] =
        whole && !shifts_only
            ? static_cast<double>(static_cast<float>(unit * static_cast<double>(draw.between(1, 4000)) / 2000.0))
            : unit;
    const graph::ValueId y = add("dovetail.qadd", {a, b}, attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId max_pool(graph::ValueId x) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t kh = draw.between(1, std::min<std::int64_t>(3, shape[2])),
                       kw = draw.between(kh == 1 && shape[3] > 1 ? 2 : 1, std::min<std::int64_t>(3, shape[3]));
    graph::Attributes attributes;
    attributes["kernel_shape"] = std::vector<std::int64_t>{kh, kw};
    attributes["strides"] = std::vector<std::int64_t>{draw.between(1, 2), draw.between(1, 3)};
    attributes["pads"] = std::vector<std::int64_t>{draw.between(0, kh - 1), draw.between(0, kw - 1),
                                                   draw.between(0, kh - 1), draw.between(0, kw - 1)};
    if (draw.coin()) attributes["ceil_mode"] = std::int64_t{1};
    const graph::ValueId y = add("MaxPool", {x}, attributes);
    zero_points[y.index] = zero_points[x.index];
    return y;
  }

  // Convolutions followed by max-poolings, some of whose windows share elements or reach beyond the image.
  void build_of_poolings(int pairs) {
    graph::ValueId x = input({draw.between(1, 2), draw.between(1, 40), draw.between(3, 24), draw.between(3, 24)});
    for (int i = 0; i < pairs; ++i) {
      const graph::ValueId y = conv(x);
      const Shape shape = graph.value(y).type.shape;
      x = shape[2] * shape[3] > 1 ? max_pool(y) : y;
    }
    graph.outputs = {x};
  }

  graph::ValueId integers(const std::vector<std::int64_t>& values) {
    return graph.add_constant("k", NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  // Moves values without changing them. `same_shape` may be x.
  graph::ValueId movement(graph::ValueId x, graph::ValueId same_shape) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
    const auto any = [&](std::int64_t extent) { return draw.between(0, extent - 1); };
    const bool small = c * h * w < 2000;  // so that graphs do not grow without bound
    switch (draw.between(0, 6)) {
      case 0:
        if (small) return keep(x, add("Concat", {x, same_shape}, {{"axis", draw.between(1, 3)}}));
        [[fallthrough]];
      case 1: {
        const std::vector<std::int64_t> starts{any(c), any(h), any(w)};
        return keep(x, add("Slice",
                           {x, integers(starts), integers({draw.between(starts[0] + 1, c), h, w}), integers({1, 2, 3}),
                            integers({1, draw.between(1, 2), draw.between(1, 3)})},
                           {}));
      }
      case 2: {
        const std::int32_t zero_point = zero_points[x.index];
        return keep(x, add("Pad",
                           {x, integers({0, 0, draw.between(0, 3), draw.between(0, 2), 0, 0, draw.between(0, 2), 0}),
                            graph.add_constant("v", NdArray::scalar(static_cast<std::int8_t>(zero_point)))},
                           {}));
      }
      case 3:
        if (small)
          return keep(x,
                      add("Resize", {x, {}, {}, integers({n, c, draw.between(1, 2) * h, draw.between(1, 3) * w})}, {}));
        [[fallthrough]];
      case 4:
        if (c % 4 == 0)
          return keep(x, add("DepthToSpace", {x},
                             {{"blocksize", std::int64_t{2}}, {"mode", std::string(draw.coin() ? "DCR" : "CRD")}}));
        [[fallthrough]];
      case 5:
        if (h % 2 == 0 && w % 2 == 0) return keep(x, add("SpaceToDepth", {x}, {{"blocksize", std::int64_t{2}}}));
        [[fallthrough]];
      default: return lines(x);
    }
  }
  // A table of two lines, or one for each channel: LeakyRelu, PRelu.
  graph::ValueId lines(graph::ValueId x) {
    const std::int64_t channels = graph.value(x).type.shape[1], tables = draw.coin() ? 1 : channels;
    NdArray table(DType::int8, tables == 1 ? Shape{256} : Shape{tables, 256});
    const double right = static_cast<double>(draw.between(1, 3000)) / 1000.0;
    const std::int64_t zero_point = draw.between(-128, 127);
    for (std::int64_t t = 0; t < tables; ++t) {
      const double left = right * static_cast<double>(draw.between(-900, 990)) / 1000.0;
      for (std::int64_t i = 0; i < 256; ++i) {
        const auto distance = static_cast<double>(i - 128 - zero_points[x.index]);
        const double y = std::nearbyint(distance * (distance < 0 ? left : right));
        table.set_int64(t * 256 + i, std::clamp<std::int64_t>(static_cast<std::int64_t>(y) + zero_point, -128, 127));
      }
    }
    graph::Attributes attributes;
    if (tables > 1) attributes["axis"] = std::int64_t{1};
    const graph::ValueId y = add("dovetail.qtable", {x, graph.add_constant("table", std::move(table))}, attributes);
    zero_points[y.index] = static_cast<std::int32_t>(zero_point);
    return y;
  }

  // One table, or one for each channel.
  graph::ValueId table(graph::ValueId x) {
    const Shape shape = graph.value(x).type.shape;
    graph::Attributes attributes;
    Shape tables{256};
    if (shape.size() > 1 && draw.coin()) {
      attributes["axis"] = std::int64_t{1};
      tables.insert(tables.begin(), shape[1]);
    }
    const graph::ValueId y = add("dovetail.qtable", {x, graph.add_constant("table", draw.int8(tables))}, attributes);
    zero_points[y.index] = static_cast<std::int32_t>(draw.between(-128, 127));
    return y;
  }
  // Multiplied by another tensor of this shape, by a gate for each channel, or by a constant.
  graph::ValueId product(graph::ValueId a, graph::ValueId same_shape) {
    const Shape shape = graph.value(a).type.shape;
    graph::ValueId b = same_shape;
    if (shape.size() == 4 && draw.coin()) {
      b = draw.coin() ? average(a, true) : graph.add_constant("gate", draw.int8({shape[1], 1, 1}));
      zero_points.emplace(b.index, static_cast<std::int32_t>(draw.between(-128, 127)));
    }
    graph::Attributes attributes = epilogue(a);
    attributes.erase("x_zero_point");
    attributes["a_zero_point"] = std::int64_t{zero_points[a.index]};
    attributes["b_zero_point"] = std::int64_t{zero_points[b.index]};
    attributes["scale"] = static_cast<double>(scale(0.02) * (draw.between(0, 4) == 0 ? -1.0f : 1.0f));
    const bool swap = draw.coin();
    if (swap) std::swap(attributes["a_zero_point"], attributes["b_zero_point"]);
    const graph::ValueId y = add("dovetail.qmul", swap ? std::vector{b, a} : std::vector{a, b}, attributes);
    remember(y, attributes);
    return y;
  }
  // Depthwise, weights of 1: a window or the whole image.
  graph::ValueId average(graph::ValueId x, bool global) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t kh = global ? shape[2] : draw.between(1, shape[2]),
                       kw = global ? shape[3] : draw.between(1, shape[3]), channels = shape[1];
    NdArray ones(DType::int8, {channels, 1, kh, kw}), bias(DType::int32, {channels}),
        scales(DType::float32, {channels});
    for (auto& value : ones.data<std::int8_t>()) value = 1;
    for (auto& value : scales.data<float>()) value = scale(2.0 / static_cast<double>(kh * kw));
    graph::Attributes attributes = epilogue(x);
    attributes["group"] = channels;
    const graph::ValueId y =
        add("dovetail.qconv",
            {x, graph.add_constant("w", std::move(ones)), graph.add_constant("bias", std::move(bias)),
             graph.add_constant("scale", std::move(scales))},
            attributes);
    remember(y, attributes);
    return y;
  }
  // Depthwise with random weights, sometimes with a zero point for each channel.
  graph::ValueId depthwise(graph::ValueId x) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t k = draw.between(1, std::min<std::int64_t>(3, std::min(shape[2], shape[3])));
    graph::Attributes attributes = epilogue(x);
    attributes["group"] = shape[1];
    attributes["pads"] = std::vector<std::int64_t>{k - 1, 0, 0, k - 1};
    std::vector<graph::ValueId> inputs{x};
    weights(inputs, {shape[1] * draw.between(1, 2), 1, k, k});
    if (draw.coin())
      inputs.push_back(graph.add_constant("w_zero_point", draw.int8({graph.value(inputs[1]).type.shape[0]}, -20, 20)));
    const graph::ValueId y = add("dovetail.qconv", std::move(inputs), attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId clip(graph::ValueId x) {
    const std::int64_t low = draw.between(-128, 100);
    return keep(x, add("dovetail.qclip", {x}, {{"y_min", low}, {"y_max", draw.between(low, 127)}}));
  }
  graph::ValueId keep(graph::ValueId x, graph::ValueId y) {
    zero_points[y.index] = zero_points[x.index];
    return y;
  }
  // To uint8 and back, as at the border of a model.
  graph::ValueId through_uint8(graph::ValueId x) {
    return keep(
        x, add("dovetail.recenter", {add("dovetail.recenter", {x}, {{"to", std::int64_t{info(DType::uint8).onnx}}})},
               {{"to", std::int64_t{info(DType::int8).onnx}}}));
  }
  // Rows times the transpose of rows, as in attention.
  graph::ValueId attention(graph::ValueId x) {
    const Shape shape = graph.value(x).type.shape;
    const std::size_t rank = shape.size();
    std::vector<std::int64_t> permutation;
    for (std::size_t i = 0; i < rank; ++i) permutation.push_back(static_cast<std::int64_t>(i));
    std::swap(permutation[rank - 1], permutation[rank - 2]);
    const graph::ValueId transposed = keep(x, add("Transpose", {x}, {{"perm", permutation}}));
    graph::Attributes attributes = epilogue(x);
    attributes.erase("x_zero_point");
    attributes["a_zero_point"] = attributes["b_zero_point"] = std::int64_t{zero_points[x.index]};
    attributes["scale"] = static_cast<double>(scale(0.02 / std::sqrt(static_cast<double>(shape.back()))));
    const graph::ValueId y = add("dovetail.qmatmul", {x, transposed}, attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId softmax(graph::ValueId x) {
    const auto rank = static_cast<std::int64_t>(graph.value(x).type.shape.size());
    NdArray table(DType::uint16, {256});
    const double step = static_cast<double>(draw.between(1, 300)) / 1000.0;
    for (std::int64_t i = 0; i < 256; ++i)
      table.set_int64(i, static_cast<std::int64_t>(65535 * std::exp(-step * static_cast<double>(i))));
    graph::Attributes attributes = epilogue(x);
    attributes.erase("x_zero_point");
    attributes["axis"] = draw.between(0, rank - 1);
    attributes["shift"] = draw.between(0, 14);
    attributes["scale"] = static_cast<double>(scale(0.5));
    std::vector<graph::ValueId> inputs{x, graph.add_constant("table", std::move(table))};
    if (draw.coin()) {
      NdArray visible(DType::boolean, {graph.value(x).type.shape.back()});
      for (std::int64_t i = 0; i < visible.count(); ++i) visible.set_int64(i, draw.between(0, 1));
      inputs.push_back(graph.add_constant("visible", std::move(visible)));
    }
    const graph::ValueId y = add("dovetail.qsoftmax", std::move(inputs), attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId normalization(graph::ValueId x) {
    const Shape& shape = graph.value(x).type.shape;
    const std::int64_t axis = draw.between(0, static_cast<std::int64_t>(shape.size()) - 1);
    std::int64_t n = 1;
    for (std::size_t i = static_cast<std::size_t>(axis); i < shape.size(); ++i) n *= shape[i];
    NdArray factors(DType::float32, {shape.back()}), bias(DType::int32, draw.coin() ? Shape{} : Shape{shape.back()});
    for (auto& value : factors.data<float>()) value = scale(1.0) * (draw.coin() ? 1.0f : -1.0f);
    for (auto& value : bias.data<std::int32_t>()) value = static_cast<std::int32_t>(draw.between(-3000000, 3000000));
    graph::Attributes attributes = epilogue(x);
    attributes["axis"] = axis;
    attributes["bits"] = draw.between(0, 20);
    attributes["center"] = draw.between(0, 1);
    attributes["parts"] = std::int64_t{1} << draw.between(0, n > 2000 ? 0 : 4);
    attributes["epsilon"] = draw.between(0, 9);
    attributes["shift"] = draw.between(0, 16);
    const graph::ValueId y =
        add("dovetail.qnormalize",
            {x, graph.add_constant("factors", std::move(factors)), graph.add_constant("bias", std::move(bias))},
            attributes);
    remember(y, attributes);
    return y;
  }
  // The forms that the accelerator does not take.
  graph::ValueId other_form(graph::ValueId x, graph::ValueId same_shape) {
    const bool image = graph.value(x).type.shape.size() == 4;
    if (draw.one_in(6)) return draw.coin() ? softmax(x) : normalization(x);
    switch (draw.between(0, image ? 9 : 6)) {
      case 0:
      case 1: return table(x);
      case 2: return product(x, same_shape);
      case 3: return clip(x);
      case 4: return through_uint8(x);
      case 5: return attention(x);
      case 6: return keep(x, add(draw.coin() ? "Max" : "Min", {x, graph.add_constant("bound", draw.int8({}))}, {}));
      case 7: return average(x, draw.coin());
      case 8: return depthwise(x);
      default: return keep(x, add("Concat", {x, same_shape}, {{"axis", std::int64_t{1}}}));
    }
  }

  // Queries, keys and values of heads, all from one matrix or each from its own, whose results are joined again: the
  // nodes between blocks differ from graph to graph.
  graph::ValueId heads(graph::ValueId x) {
    const Shape shape = graph.value(x).type.shape;
    const std::int64_t images = shape[0], tokens = shape[1], count = draw.between(1, 3),
                       size = draw.coin() ? 16 * draw.between(1, 2) : draw.between(1, 24);
    const bool together = draw.coin();
    const graph::ValueId all = together ? dense(x, 3 * count * size) : graph::ValueId{};
    const auto part = [&](std::int64_t i, bool keys) {
      const std::int64_t width = count * size;
      const graph::ValueId own =
          together
              ? keep(all, add("Slice", {all, integers({i * width}), integers({(i + 1) * width}), integers({2})}, {}))
              : dense(x, width);
      const graph::ValueId split = keep(own, add("Reshape", {own, integers({images, tokens, count, size})}, {}));
      const std::vector<std::int64_t> order =
          keys ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3};
      return keep(split, add("Transpose", {split}, {{"perm", order}}));
    };
    const graph::ValueId scores = product_of(part(0, false), part(1, true), size),
                         context = product_of(scores, part(2, false), tokens);
    const graph::ValueId by_token =
        keep(context, add("Transpose", {context}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}));
    return keep(context, add("Reshape", {by_token, integers({images, tokens, count * size})}, {}));
  }
  graph::ValueId product_of(graph::ValueId a, graph::ValueId b, std::int64_t terms) {
    graph::Attributes attributes = epilogue(a);
    attributes.erase("x_zero_point");
    attributes["a_zero_point"] = std::int64_t{zero_points[a.index]};
    attributes["b_zero_point"] = std::int64_t{zero_points[b.index]};
    attributes["scale"] = static_cast<double>(scale(0.02 / std::sqrt(static_cast<double>(terms))));
    const graph::ValueId y = add("dovetail.qmatmul", {a, b}, attributes);
    remember(y, attributes);
    return y;
  }
  graph::ValueId dense(graph::ValueId x, std::int64_t outputs) {
    graph::Attributes attributes = epilogue(x);
    std::vector<graph::ValueId> inputs{x};
    weights(inputs, {outputs, graph.value(x).type.shape.back()});
    const graph::ValueId y = add("dovetail.qgemm", std::move(inputs), attributes);
    remember(y, attributes);
    return y;
  }
  // Matrices of [images, tokens, channels], as in transformers.
  void build_of_tokens(int operators) {
    graph::ValueId x =
        input({draw.between(1, 2), draw.coin() ? 16 * draw.between(1, 2) : draw.between(2, 30), draw.between(1, 40)});
    for (int i = 0; i < operators; ++i) {
      switch (draw.between(0, 4)) {
        case 0:
        case 1: x = heads(x); break;
        case 2: x = keep(x, add("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}})); break;
        case 3: x = residual(x, dense(x, graph.value(x).type.shape.back())); break;
        default: x = dense(x, draw.coin() ? 16 * draw.between(1, 4) : draw.between(1, 40));
      }
    }
    graph.outputs = {x};
  }

  void build(int operators) {
    std::vector<graph::ValueId> live{
        input({draw.between(1, 3), draw.between(1, 40), draw.between(1, 12), draw.between(1, 12)})};
    for (int i = 0; i < operators; ++i) {
      const graph::ValueId x =
          live[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(live.size()) - 1))];
      const bool image = graph.value(x).type.shape.size() == 4;
      graph::ValueId y;
      if (forms == Forms::all && draw.coin()) {
        graph::ValueId other = x;
        for (const graph::ValueId candidate : live)
          if (candidate != x && graph.value(candidate).type == graph.value(x).type) other = candidate;
        live.push_back(other_form(x, other));
        continue;
      }
      switch (image ? draw.between(0, 8) : draw.between(4, 5)) {
        case 0:
        case 1:
        case 2: y = conv(x); break;
        case 3: y = graph.value(x).type.shape[2] * graph.value(x).type.shape[3] > 1 ? max_pool(x) : conv(x); break;
        case 4: {
          graph::ValueId other = x;
          for (const graph::ValueId candidate : live)
            if (candidate != x && graph.value(candidate).type == graph.value(x).type) other = candidate;
          y = residual(x, other);
          break;
        }
        case 5: y = gemm(x); break;
        case 6:
        case 7: {
          graph::ValueId other = x;
          for (const graph::ValueId candidate : live)
            if (candidate != x && graph.value(candidate).type.shape == graph.value(x).type.shape) other = candidate;
          y = movement(x, other);
          break;
        }
        default: y = average(x, draw.coin());
      }
      live.push_back(y);
    }
    graph.outputs = {live.back()};
    if (draw.coin() && live.size() > 2) graph.outputs.push_back(live[live.size() - 2]);
    if (graph.outputs.size() == 2 && graph.outputs[1] == graph.inputs[0]) graph.outputs.pop_back();
  }
};

struct ExpectedValues {
  std::map<std::string, NdArray> inputs, outputs;
};
// A random input, and the reference's outputs for it.
inline ExpectedValues expected_values(const RandomInt8Graph& random, std::uint64_t seed) {
  auto reference = Reference::make(random.graph);
  REQUIRE(reference.ok());
  ExpectedValues values{{{"x", Draw(seed).int8(random.graph.value(random.graph.inputs[0]).type.shape)}}, {}};
  auto outputs = reference->run(values.inputs);
  REQUIRE(outputs.ok());
  values.outputs = *std::move(outputs);
  return values;
}

}  // namespace dovetail::test
