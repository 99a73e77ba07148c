#include "compiler/zoo/zoo.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/zoo/families.h"

namespace dovetail::zoo {
namespace {

constexpr Range kNone{}, kImageNet{224, 32, 1024}, kCifar{32, 8, 1024};

// clang-format off
constexpr std::array<Row, 16> kRows{{
    {"resnet18", "residual net, basic blocks; ImageNet", kImageNet, kNone, 11689512, 1814073344, resnet18},
    {"resnet50", "residual net, bottlenecks, strides in the 3x3 convolutions; ImageNet", kImageNet, kNone, 25557032, 4089184256, resnet50},
    {"mobilenet_v1", "depthwise-separable convolutions; ImageNet", kImageNet, kNone, 4231976, 568740352, mobilenet_v1},
    {"mobilenet_v2", "inverted residuals, linear bottlenecks; ImageNet", kImageNet, kNone, 3504872, 300774272, mobilenet_v2},
    {"squeezenet1.1", "fire modules, no dense layer; ImageNet", kImageNet, kNone, 1235496, 349151936, squeezenet1_1},
    {"vgg16", "3x3 convolutions and three large dense layers (553 MB); ImageNet", kImageNet, kNone, 138357544, 15470264320, vgg16},
    {"bert_base", "transformer encoder, 12 layers; takes embeddings", kNone, {128, 1, 512}, 85054464, 11173625856, bert_base},
    {"gpt_block", "one transformer block, causal attention, hidden 256; takes embeddings", kNone, {64, 1, 1024}, 789760, 52428800, gpt_block},
    {"gpt2", "transformer decoder, 12 layers, causal attention; takes embeddings", kNone, {128, 1, 1024}, 85056000, 11173625856, gpt2},
    {"llama_block", "one Llama block, grouped queries, causal attention, hidden 256; takes embeddings", kNone, {64, 1, 1024}, 725504, 48496640, llama_block},
    {"stories15m", "Llama decoder, 6 layers, hidden 288, logits of the last position; takes embeddings", kNone, {64, 1, 1024}, 15191712, 405577728, stories15m},
    {"stories15m_decode", "stories15m for one position, with the keys and values of 256 in caches; takes an embedding", kNone, {256, 1, 1024}, 15191712, 16072704, stories15m_decode},
    {"bert_tiny", "transformer encoder, 2 layers, hidden 128; takes embeddings", kNone, {128, 1, 512}, 396544, 58720256, bert_tiny},
    {"vit_tiny", "vision transformer, 12 layers, hidden 192, patches of 16 x 16; ImageNet", kImageNet, kNone, 5717416, 1253683200, vit_tiny},
    {"resnet8", "MLPerf Tiny image classification; CIFAR-10", kCifar, kNone, 78186, 12501632, resnet8},
    {"ds_cnn", "MLPerf Tiny keyword spotting; 49 x 10 MFCC", kNone, kNone, 23756, 2656768, ds_cnn},
}};
// clang-format on

constexpr std::int64_t kGreatestBatch = 1024;

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const Row& row : kRows) all.push_back(row.name);
  return all;
}

Result<void> check(std::string_view model, std::string_view what, std::int64_t value, std::int64_t least,
                   std::int64_t greatest) {
  if (value >= least && value <= greatest) return {};
  return Diagnostic{fmt::format("cannot build {}", model), fmt::format("{} {}", what, value),
                    fmt::format("the value must be from {} to {}", least, greatest), "choose another size"};
}

// The chosen size, or the standard one. Error: out of range, or the model has none.
Result<std::int64_t> choose(std::string_view model, std::string_view what, const Range& range,
                            const std::optional<std::int64_t>& choice) {
  if (!choice) return range.standard;
  if (!range.chosen())
    return Diagnostic{fmt::format("cannot build {}", model), fmt::format("{} {}", what, *choice),
                      fmt::format("{} has no {} size to choose", model, what),
                      "remove the option; `dovetail zoo list` shows the options of each model"};
  DOVETAIL_TRY(check(model, what, *choice, range.least, range.greatest));
  return *choice;
}

}  // namespace

std::span<const Row> all() { return kRows; }

Result<Model> make(std::string_view name, const Choices& choices) {
  const auto row = std::ranges::find(kRows, name, &Row::name);
  if (row == kRows.end())
    return Diagnostic{"cannot build a model", std::string(name), "the zoo has no model of this name",
                      fmt::format("the models are {}", fmt::join(names(), ", "))};
  DOVETAIL_TRY(check(name, "batch", choices.batch, 1, kGreatestBatch));
  DOVETAIL_ASSIGN(const std::int64_t image, choose(name, "image", row->image, choices.image));
  DOVETAIL_ASSIGN(const std::int64_t sequence, choose(name, "sequence", row->sequence, choices.sequence));
  Builder builder(name, choices);
  row->build(builder, row->sequence.chosen() ? sequence : image);
  return std::move(builder).finish();
}

}  // namespace dovetail::zoo
