// Normalizations of a sum: the SkipLayerNormalization family and EmbedLayerNormalization.
#include <algorithm>

#include "compiler/import/domain_rows.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

constexpr const char* kInference = "export the model for inference: only training uses this output";

// Rejects outputs that the runtime leaves empty at inference.
Result<void> refuse_statistics(const NodeWriter& writer, std::initializer_list<std::size_t> outputs) {
  for (const std::size_t output : outputs)
    if (writer.is_used(output))
      return writer.refused(
          fmt::format("output {} (statistics of the normalization) is used, but not supported", output), kInference);
  return {};
}

// Outputs Y and the inverse deviation; at inference, the second one may be left out only if it is unused.
Result<void> write_simplified(NodeWriter& writer) {
  DOVETAIL_TRY(refuse_statistics(writer, {1}));
  if (writer.integer("stash_type", 1) != 1)
    return writer.refused(fmt::format("stash_type is {}", writer.integer("stash_type", 1)),
                          "only 1 (float32) is supported");
  writer.finish("RMSNormalization", {writer.in(0), writer.in(1)},
                {{"axis", writer.integer("axis", -1)}, {"epsilon", writer.real("epsilon", 1e-5)}});
  return {};
}

// input + skip + bias, normalized; the sum is output 3.
Result<void> write_skip(NodeWriter& writer, std::string_view normalization, std::vector<ValueId> weights,
                        std::size_t bias) {
  DOVETAIL_TRY(refuse_statistics(writer, {1, 2}));
  ValueId sum = writer.op("Add", "sum", {writer.in(0), writer.in(1)}, {}, writer.type(0));
  if (writer.has(bias)) sum = writer.op("Add", "biased_sum", {sum, writer.in(bias)}, {}, writer.type(0));
  if (writer.is_used(3)) writer.give(3, sum);
  std::vector<ValueId> inputs{sum};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  writer.finish(normalization, std::move(inputs),
                {{"axis", std::int64_t{-1}}, {"epsilon", writer.real("epsilon", 1e-12)}});
  return {};
}

Result<void> write_skip_layer(NodeWriter& writer) {
  std::vector<ValueId> weights{writer.in(2)};
  if (writer.has(3)) weights.push_back(writer.in(3));
  return write_skip(writer, "LayerNormalization", std::move(weights), 4);
}

Result<void> write_skip_simplified(NodeWriter& writer) {
  return write_skip(writer, "RMSNormalization", {writer.in(2)}, 3);
}

// input_ids, segment_ids, word, position and segment embedding, gamma, beta, mask, position_ids.
Result<void> write_embed(NodeWriter& writer) {
  for (const std::size_t input : {2, 3, 5, 6})
    if (!writer.has(input)) return writer.refused(fmt::format("input {} is missing", input), "fix the exporter");
  const Shape ids = writer.shape(0), table = writer.shape(2), places = writer.shape(3);
  if (ids.size() != 2 || table.size() != 2 || places.size() != 2)
    return writer.refused(fmt::format("ids has shape {}, word_embedding {}, position_embedding {}", to_string(ids),
                                      to_string(table), to_string(places)),
                          "they must be [batch, positions], [words, columns] and [positions, columns]");
  if (!writer.has(8) && ids[1] > places[0])
    return writer.refused(
        fmt::format("there are {} positions, but position_embedding has only {} rows", ids[1], places[0]),
        "give shorter sequences");
  if (writer.has(1) != writer.has(4))
    return writer.refused("segment_ids and segment_embedding are not given together", "give both or neither");
  ValueId sum = writer.op("Gather", "words", {writer.in(2), writer.in(0)}, {{"axis", std::int64_t{0}}});
  ValueId positions;
  if (writer.has(8)) {
    positions = writer.in(8);
  } else {
    std::vector<std::int64_t> counted;
    for (std::int64_t i = 0; i < ids[1]; ++i) counted.push_back(i);
    positions = writer.integers("places", counted);
  }
  sum = writer.op("Add", "placed",
                  {sum, writer.op("Gather", "positions", {writer.in(3), positions}, {{"axis", std::int64_t{0}}})});
  if (writer.has(1))
    sum = writer.op("Add", "embedding",
                    {sum, writer.op("Gather", "segments", {writer.in(4), writer.in(1)}, {{"axis", std::int64_t{0}}})});
  // The number of mask positions that are 1, in int32; 0 without a mask.
  if (writer.is_used(1)) {
    if (writer.has(7)) {
      const ValueId ones = writer.op("Equal", "ones", {writer.in(7), writer.number("one", writer.type(7).dtype, 1)});
      const ValueId counts = writer.op("Cast", "counts", {ones}, {{"to", std::int64_t{info(DType::int32).onnx}}});
      writer.give(1, writer.op("ReduceSum", "mask_index", {counts, writer.integers("axis", {1})},
                               {{"keepdims", std::int64_t{0}}}));
    } else {
      writer.give(1, writer.constant("mask_index", NdArray(DType::int32, {ids[0]})));
    }
  }
  if (writer.is_used(2)) writer.give(2, sum);
  writer.finish("LayerNormalization", {sum, writer.in(5), writer.in(6)},
                {{"axis", std::int64_t{-1}}, {"epsilon", writer.real("epsilon", 1e-12)}});
  return {};
}

}  // namespace

std::vector<DomainRow> contrib_normalization_rows() {
  constexpr auto integer = ops::AttributeKind::integer, real = ops::AttributeKind::real;
  const std::vector<ops::AttributeRule> simplified{{"axis", integer}, {"epsilon", real}, {"stash_type", integer}};
  return {
      {"SimplifiedLayerNormalization", write_simplified, simplified, 2, 2},
      {"com.microsoft.SimplifiedLayerNormalization", write_simplified, simplified, 2, 2},
      {"com.microsoft.SkipLayerNormalization", write_skip_layer, {{"epsilon", real}}, 5, 3},
      {"com.microsoft.SkipSimplifiedLayerNormalization", write_skip_simplified, {{"epsilon", real}}, 4, 3},
      {"com.microsoft.EmbedLayerNormalization", write_embed, {{"epsilon", real}, {"mask_index_type", integer}}, 9, 1}};
}

}  // namespace dovetail::import
