// Transformers.
//  - bert_base, bert_tiny: the encoder of Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for
//    Language Understanding", NAACL 2019, section 3 (BERT-base: 12 layers, hidden 768, 12 heads), normalized after each
//    sum as in Vaswani et al., "Attention Is All You Need", NeurIPS 2017, section 3.1. BERT-Tiny of Turc et al.,
//    "Well-Read Students Learn Better", 2019, has 2 layers, hidden 128, 2 heads.
//  - gpt2: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3 (normalized before
//    each branch, causal attention), the model with 12 layers and hidden 768. gpt_block: one such block, a third as
//    wide: hidden 256, 4 heads.
//  - vit_tiny: Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR 2021, section 3.1, in the size of DeiT-Ti
//    (Touvron et al., "Training data-efficient image transformers", ICML 2021, table 1): 12 layers, hidden 192, 3
//    heads.
// Inputs of bert_* and gpt* are embeddings, float32 [batch, sequence, hidden]: token lookup, pooler, attention mask and
// the product with the vocabulary are not included.
#include <cmath>

#include <fmt/format.h>

#include "compiler/zoo/families.h"

namespace dovetail::zoo {
namespace {

using Value = Builder::Value;

enum class Sees : std::uint8_t { everything, past };

// Scaled dot-product attention (Vaswani et al., section 3.2) of queries, keys and values [batch, sequence, hidden].
Value attention(Builder& b, const std::string& name, const std::vector<Value>& qkv, std::int64_t heads, Sees sees) {
  const Shape whole = b.shape(qkv[0]), split{whole[0], whole[1], heads, whole[2] / heads};
  const auto by_head = [&](const char* part, Value x, const std::vector<std::int64_t>& permutation) {
    const std::string part_name = name + "." + part;
    return b.transpose(part_name + ".by_head", b.reshape(part_name + ".split", x, split), permutation);
  };
  const Value q = by_head("q", qkv[0], {0, 2, 1, 3}), k = by_head("k", qkv[1], {0, 2, 3, 1}),
              v = by_head("v", qkv[2], {0, 2, 1, 3});
  Value scores = b.divide(name + ".scaled", b.matmul(name + ".scores", q, k), std::sqrt(static_cast<float>(split[3])));
  if (sees == Sees::past) scores = b.hide_future(name + ".masked", scores);
  const Value context = b.matmul(name + ".context", b.softmax(name + ".softmax", scores), v);
  return b.reshape(name + ".merged", b.transpose(name + ".by_position", context, {0, 2, 1, 3}), whole);
}

void bert(Builder& b, std::int64_t sequence, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  constexpr float kEpsilon = 1e-12F;
  Value x = b.input("embeddings", {sequence, hidden});
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("layer{}.", i + 1);
    std::vector<Value> qkv;
    for (const char* part : {"query", "key", "value"}) qkv.push_back(b.linear(name + part, x, hidden));
    Value y = b.linear(name + "output", attention(b, name + "attention", qkv, heads, Sees::everything), hidden);
    x = b.layer_norm(name + "norm1", b.add(name + "add1", x, y), kEpsilon);
    y = b.gelu(name + "gelu", b.linear(name + "inner", x, 4 * hidden), Gelu::exact);
    x = b.layer_norm(name + "norm2", b.add(name + "add2", x, b.linear(name + "outer", y, hidden)), kEpsilon);
  }
  b.output(x);
}

// A block that normalizes before each branch.
Value block(Builder& b, const std::string& name, Value x, std::int64_t heads, Sees sees, Gelu gelu, float epsilon) {
  constexpr double kBranchScale = 0.5;
  const std::int64_t hidden = b.shape(x).back();
  const Value qkv = b.linear(name + "attention.qkv", b.layer_norm(name + "norm1", x, epsilon), 3 * hidden);
  Value y = attention(b, name + "attention", b.split_last_axis(name + "attention.parts", qkv, 3), heads, sees);
  const Value middle = b.add(name + "add1", x, b.linear(name + "attention.output", y, hidden, kBranchScale));
  y = b.gelu(name + "gelu", b.linear(name + "inner", b.layer_norm(name + "norm2", middle, epsilon), 4 * hidden), gelu);
  return b.add(name + "add2", middle, b.linear(name + "outer", y, hidden, kBranchScale));
}

constexpr float kGptEpsilon = 1e-5F, kVitEpsilon = 1e-6F;

}  // namespace

void bert_base(Builder& b, std::int64_t sequence) { bert(b, sequence, 12, 768, 12); }
void bert_tiny(Builder& b, std::int64_t sequence) { bert(b, sequence, 2, 128, 2); }

void gpt_block(Builder& b, std::int64_t sequence) {
  b.output(block(b, "", b.input("hidden", {sequence, 256}), 4, Sees::past, Gelu::tanh, kGptEpsilon));
}

void gpt2(Builder& b, std::int64_t sequence) {
  Value x = b.input("embeddings", {sequence, 768});
  for (int i = 0; i < 12; ++i) x = block(b, fmt::format("layer{}.", i + 1), x, 12, Sees::past, Gelu::tanh, kGptEpsilon);
  b.output(b.layer_norm("norm", x, kGptEpsilon));
}

void vit_tiny(Builder& b, std::int64_t image) {
  constexpr std::int64_t kPatch = 16, kHidden = 192, kClasses = 1000;
  const Value patches =
      b.conv("patches", b.input("image", {3, image, image}), kHidden, square(kPatch, kPatch), Bias::present);
  const Shape grid = b.shape(patches);
  Value x = b.transpose("tokens", b.reshape("patches.flat", patches, {grid[0], kHidden, grid[2] * grid[3]}), {0, 2, 1});
  x = b.add_positions("positions", b.prepend_token("class_token", x));
  for (int i = 0; i < 12; ++i)
    x = block(b, fmt::format("layer{}.", i + 1), x, 3, Sees::everything, Gelu::exact, kVitEpsilon);
  b.output(b.dense("head", b.take_position("class", b.layer_norm("norm", x, kVitEpsilon), 0), kClasses));
}

}  // namespace dovetail::zoo
