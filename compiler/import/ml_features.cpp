// ai.onnx.ml: operators that prepare features or convert results.
#include <algorithm>
#include <cmath>

#include "compiler/import/ml_rules.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

const graph::TensorType kRealValue{DType::float32, {}};

// (x - offset) * scale; each of the two is one number or one per feature.
Result<void> write_scaler(NodeWriter& writer) {
  const Shape x = writer.shape(0);
  const std::int64_t columns = x.empty() ? 1 : x.back();
  const std::vector<double> offset = reals_of(writer, "offset"), scale = reals_of(writer, "scale");
  for (const auto* list : {&offset, &scale})
    if (list->size() != 1 && static_cast<std::int64_t>(list->size()) != columns)
      return writer.refused(
          fmt::format("{} offsets and {} scales are given for {} features", offset.size(), scale.size(), columns),
          "give one of each, or one per feature");
  const ValueId real = writer.cast(writer.in(0), "real", DType::float32);
  const ValueId moved =
      writer.op("Sub", "moved", {real, writer.constant("offset", real_list(DType::float32, offset))}, {}, kRealValue);
  writer.finish("Mul", {moved, writer.constant("scale", real_list(DType::float32, scale))});
  return {};
}

// Each row divided by its largest element, its L1 norm, or its L2 norm; rows of zeros stay.
Result<void> write_normalizer(NodeWriter& writer) {
  const std::string norm = graph::string_attribute(writer.node(), "norm", "MAX");
  const char* reduce = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : norm == "L2" ? "ReduceL2" : nullptr;
  const Shape shape = writer.shape(0);
  if (reduce == nullptr || (shape.size() != 1 && shape.size() != 2))
    return writer.refused(fmt::format("norm {} of an input of shape {} is not supported", norm, to_string(shape)),
                          "use MAX, L1 or L2 of [rows, features]");
  const ValueId real = writer.cast(writer.in(0), "real", DType::float32);
  const ValueId size =
      writer.op(reduce, "size", {real, writer.integers("row", {-1})}, {{"keepdims", std::int64_t{1}}}, kRealValue);
  const ValueId is_zero = writer.op("Equal", "is_zero", {size, writer.number("zero", DType::float32, 0)});
  writer.finish("Div", {real, writer.op("Where", "divisor", {is_zero, writer.number("one", DType::float32, 1), size},
                                        {}, kRealValue)});
  return {};
}

Result<void> write_binarizer(NodeWriter& writer) {
  const DType dtype = writer.type(0).dtype;
  const ValueId above =
      writer.op("Greater", "above", {writer.in(0), writer.number("threshold", dtype, writer.real("threshold", 0))});
  writer.finish("Cast", {above}, {{"to", std::int64_t{info(dtype).onnx}}});
  return {};
}

// Selects columns by their indices.
Result<void> write_array_feature_extractor(NodeWriter& writer) {
  const Shape shape = writer.shape(0), numbers = writer.shape(1);
  if (shape.empty() || element_count(numbers) < 1)
    return writer.refused(
        fmt::format("the input has shape {}, and {} indices are given", to_string(shape), element_count(numbers)),
        "the input must have features, and at least one must be selected");
  const ValueId which = writer.reshape(writer.in(1), "which", {element_count(numbers)});
  ValueId x = writer.in(0);
  if (shape.size() == 1) x = writer.reshape(x, "one_row", {1, shape[0]});
  writer.finish("Gather", {x, which}, {{"axis", std::int64_t{-1}}});
  return {};
}

// The inputs concatenated, each cut or zero-padded to the number of columns in inputdimensions.
Result<void> write_feature_vectorizer(NodeWriter& writer) {
  const std::vector<std::int64_t> counts = integers_of(writer, "inputdimensions");
  if (counts.size() != writer.node().inputs.size() ||
      std::ranges::any_of(counts, [](auto n) { return n < 0 || n > 1 << 24; }))
    return writer.refused(
        fmt::format("{} inputdimensions are given for {} inputs", counts.size(), writer.node().inputs.size()),
        "give one per input, each 0 or more");
  std::vector<ValueId> parts;
  std::int64_t rows = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!writer.has(i)) return writer.refused(fmt::format("input {} is missing", i), "fix the exporter");
    const Shape shape = writer.shape(i);
    if (shape.empty() || (rows >= 0 && shape.size() > 1 && shape[0] != rows))
      return writer.refused(fmt::format("input {} has shape {}", i, to_string(shape)),
                            "all inputs must have the same number of rows");
    rows = shape.size() > 1 ? shape[0] : 1;
    const std::int64_t columns = element_count(shape) / std::max<std::int64_t>(rows, 1);
    const auto named = [&](const char* stem) { return fmt::format("{}{}", stem, i); };
    ValueId part =
        writer.reshape(writer.cast(writer.in(i), named("real"), DType::float32), named("rows"), {rows, columns});
    if (counts[i] != columns)
      part = writer.op("Pad", named("fitted"), {part, writer.integers(named("pads"), {0, 0, 0, counts[i] - columns})},
                       {}, kRealValue);
    parts.push_back(part);
  }
  writer.finish("Concat", std::move(parts), {{"axis", std::int64_t{1}}});
  return {};
}

// ---- LabelEncoder

struct Dictionary {
  bool integers = false;
  NdArray keys, values;
  double otherwise = 0;
};

// keys_* or values_*: a list of integers or reals, or a tensor. Nothing if it is a list of strings or absent.
std::optional<NdArray> dictionary_side(const NodeWriter& writer, const std::string& side) {
  if (const auto tensor = writer.node().attributes.find(side + "_tensor"); tensor != writer.node().attributes.end())
    if (const auto* array = std::get_if<NdArray>(&tensor->second)) return array->reshaped({array->count()});
  if (const auto integers = integers_of(writer, side + "_int64s"); !integers.empty()) return int64_list(integers);
  if (const auto reals = reals_of(writer, side + "_floats"); !reals.empty()) return real_list(DType::float32, reals);
  return std::nullopt;
}

// Maps each element to the value of the first equal key, or to the default.
Result<void> write_label_encoder(NodeWriter& writer) {
  const std::optional<NdArray> keys = dictionary_side(writer, "keys"), values = dictionary_side(writer, "values");
  if (!keys || !values)
    return writer.refused("the keys or values are strings, or missing",
                          "encode labels as numbers: string tensors are not supported");
  if (keys->count() != values->count() || keys->count() < 1)
    return writer.refused(fmt::format("{} keys are given for {} values", keys->count(), values->count()),
                          "give one of each");
  constexpr std::int64_t kMostKeys = 1 << 14;  // each element is compared with each key
  if (keys->count() > kMostKeys)
    return writer.refused(fmt::format("there are {} keys", keys->count()),
                          fmt::format("at most {} are supported", kMostKeys));
  const DType key_dtype = writer.type(0).dtype;
  if (keys->dtype() != key_dtype)
    return writer.refused(fmt::format("the keys are {}, but the input is {}", name(keys->dtype()), name(key_dtype)),
                          "give both the same type");
  NdArray otherwise(values->dtype(), {});
  if (const auto given = writer.node().attributes.find("default_tensor"); given != writer.node().attributes.end()) {
    const auto* array = std::get_if<NdArray>(&given->second);
    if (array == nullptr || array->count() != 1)
      return writer.refused("default_tensor must be one number", "fix the exporter");
    otherwise.set_double(0, array->as_double(0));
  } else if (is_floating(values->dtype())) {
    otherwise.set_double(0, writer.real("default_float", -0.0));
  } else {
    otherwise.set_int64(0, writer.integer("default_int64", -1));
  }
  const Shape shape = writer.shape(0);
  std::vector<std::int64_t> each(shape.begin(), shape.end());
  each.push_back(1);
  const ValueId element = writer.reshape(writer.in(0), "elements", Shape(each.begin(), each.end()));
  const ValueId key_list = writer.constant("keys", *keys);
  ValueId equal = writer.op("Equal", "equal", {element, key_list});
  bool has_nan = false;
  for (std::int64_t i = 0; i < keys->count(); ++i) has_nan = has_nan || std::isnan(keys->as_double(i));
  if (has_nan)  // a NaN key matches every NaN
    equal = writer.op(
        "Or", "equal_or_nan",
        {equal, writer.op("And", "both_nan",
                          {writer.op("IsNaN", "is_nan", {element}), writer.op("IsNaN", "key_is_nan", {key_list})})});
  const ValueId matches = writer.op("Cast", "matches", {equal}, {{"to", std::int64_t{info(DType::int32).onnx}}});
  const graph::Attributes last{{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}};
  const ValueId place = writer.op("ArgMax", "place", {matches}, last);
  const ValueId found =
      writer.op("ReduceMax", "found", {matches, writer.integers("last", {-1})}, {{"keepdims", std::int64_t{0}}});
  const ValueId value = writer.op("Gather", "value", {writer.constant("values", *values), place});
  const ValueId is_found = writer.op("Greater", "is_found", {found, writer.number("none", DType::int32, 0)});
  writer.finish("Where", {is_found, value, writer.constant("otherwise", otherwise)});
  return {};
}

// ---- ZipMap

// A list of dictionaries, one per row: replaced by the tensor of scores that it is made of.
Result<void> write_zip_map(NodeWriter& writer) {
  const ValueId output = writer.node().outputs[0];
  if (!writer.graph().users(output).empty())
    return writer.refused("the result, a list of dictionaries, is used by other nodes",
                          "export without ZipMap (skl2onnx: options={'zipmap': False})");
  std::vector<std::string> classes = texts_of(writer, "classlabels_strings");
  for (const std::int64_t label : integers_of(writer, "classlabels_int64s")) classes.push_back(std::to_string(label));
  std::string names;
  for (std::size_t i = 0; i < classes.size() && i < 8; ++i) names += (i == 0 ? "" : ", ") + classes[i];
  if (classes.size() > 8) names += ", ...";
  writer.note(
      fmt::format("output {}: ZipMap, a list of dictionaries, is removed: the output is the tensor of scores, a "
                  "column for each class ({}); export without ZipMap to match",
                  writer.graph().value(output).name, names));
  writer.finish("Identity", {writer.in(0)});
  return {};
}

}  // namespace

std::vector<DomainRow> ml_feature_rows() {
  constexpr auto integer = ops::AttributeKind::integer, real = ops::AttributeKind::real,
                 text = ops::AttributeKind::text, integers = ops::AttributeKind::integers,
                 reals = ops::AttributeKind::reals, texts = ops::AttributeKind::texts,
                 tensor = ops::AttributeKind::tensor;
  return {
      {"ai.onnx.ml.ArrayFeatureExtractor", write_array_feature_extractor, {}, 2, 2},
      {"ai.onnx.ml.Binarizer", write_binarizer, {{"threshold", real}}, 1, 1},
      {"ai.onnx.ml.FeatureVectorizer", write_feature_vectorizer, {{"inputdimensions", integers}}, 1024, 1},
      {"ai.onnx.ml.LabelEncoder",
       write_label_encoder,
       {{"default_float", real},
        {"default_int64", integer},
        {"default_string", text},
        {"default_tensor", tensor},
        {"keys_floats", reals},
        {"keys_int64s", integers},
        {"keys_strings", texts},
        {"keys_tensor", tensor},
        {"values_floats", reals},
        {"values_int64s", integers},
        {"values_strings", texts},
        {"values_tensor", tensor}},
       1,
       1},
      {"ai.onnx.ml.Normalizer", write_normalizer, {{"norm", text}}, 1, 1},
      {"ai.onnx.ml.Scaler", write_scaler, {{"offset", reals}, {"scale", reals}}, 1, 1},
      {"ai.onnx.ml.ZipMap", write_zip_map, {{"classlabels_int64s", integers}, {"classlabels_strings", texts}}, 1, 1}};
}

}  // namespace dovetail::import
