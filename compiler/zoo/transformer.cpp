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
//  - stories15m: Karpathy, llama2.c, 2023: Touvron et al., "LLaMA: Open and Efficient Foundation Language Models",
//  2023,
//    section 2.2, with 6 layers, hidden 288, 6 heads and 32,000 tokens. llama_block: one block of this form, hidden
//    256, 4 heads that share keys and values in pairs (Ainslie et al., "GQA", EMNLP 2023, section 2.2).
// Inputs of bert_*, gpt*, stories15m and llama_block are embeddings, float32 [batch, sequence, hidden]: token lookup,
// pooler, attention mask and, except for the last position of stories15m, the product with the vocabulary are not
// included.
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "compiler/zoo/families.h"

namespace dovetail::zoo {
namespace {

using Value = Builder::Value;

using Decoding = std::optional<Builder::Decoding>;

enum class Sees : std::uint8_t { everything, past };

// The values, weighted by the scores of heads of `size` features: [batch, sequence, heads, size].
Value weighted(Builder& b, const std::string& name, Value scores, Value v, std::int64_t size, Sees sees,
               const Decoding& decoding = {}) {
  scores = b.divide(name + ".scaled", scores, std::sqrt(static_cast<float>(size)));
  if (decoding) scores = b.hide_unwritten(name + ".masked", scores, *decoding);
  else if (sees == Sees::past) scores = b.hide_future(name + ".masked", scores);
  const Value context = b.matmul(name + ".context", b.softmax(name + ".softmax", scores), v);
  return b.transpose(name + ".by_position", context, {0, 2, 1, 3});
}

// Scaled dot-product attention (Vaswani et al., section 3.2) of queries, keys and values [batch, sequence, hidden].
Value attention(Builder& b, const std::string& name, const std::vector<Value>& qkv, std::int64_t heads, Sees sees) {
  const Shape whole = b.shape(qkv[0]), split{whole[0], whole[1], heads, whole[2] / heads};
  const auto by_head = [&](const char* part, Value x, const std::vector<std::int64_t>& permutation) {
    const std::string part_name = name + "." + part;
    return b.transpose(part_name + ".by_head", b.reshape(part_name + ".split", x, split), permutation);
  };
  const Value q = by_head("q", qkv[0], {0, 2, 1, 3}), k = by_head("k", qkv[1], {0, 2, 3, 1}),
              v = by_head("v", qkv[2], {0, 2, 1, 3});
  return b.reshape(name + ".merged", weighted(b, name, b.matmul(name + ".scores", q, k), v, split[3], sees), whole);
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

constexpr float kGptEpsilon = 1e-5F, kVitEpsilon = 1e-6F, kLlamaEpsilon = 1e-5F;

struct Llama {
  std::int64_t heads, shared_by, inner;  // heads of queries; how many of them share a head of keys and values
};

// Normalized before each branch by the root mean square, rotary positions, a product of two linear layers (SwiGLU).
// `decoding`: x is one position, and the keys and values of the others are in caches.
Value llama_layer(Builder& b, const std::string& name, Value x, const Llama& form, const Decoding& decoding = {}) {
  constexpr double kBranchScale = 0.5;
  const Shape whole = b.shape(x);
  const std::int64_t hidden = whole[2], size = hidden / form.heads;
  const auto linear = [&](const char* part, Value from, std::int64_t outputs, double scale = 1) {
    return b.linear(name + part, from, outputs, scale, Bias::none);
  };
  const auto by_head = [&](const std::string& part, Value from, std::int64_t heads) {
    return b.transpose(part + ".by_head", b.reshape(part + ".split", from, {whole[0], whole[1], heads, size}),
                       {0, 2, 1, 3});
  };
  const Value normal = b.rms_norm(name + "norm1", x, kLlamaEpsilon);
  const std::string at = name + "attention";
  const std::int64_t pairs = form.heads / form.shared_by;
  const auto cached = [&](const char* part, Value from) {
    return decoding ? b.cache(name + part, from, *decoding) : from;
  };
  const Value q = by_head(at + ".q", linear("attention.query", normal, hidden), form.heads),
              own_k = by_head(at + ".k", linear("attention.key", normal, pairs * size), pairs),
              own_v = by_head(at + ".v", linear("attention.value", normal, pairs * size), pairs);
  const Value turned_q = b.rotate(at + ".q", q, decoding), k = cached("key", b.rotate(at + ".k", own_k, decoding)),
              v = cached("value", own_v);
  const Value keys =
      b.transpose(at + ".k.by_column", b.repeat_heads(at + ".k.repeated", k, form.shared_by), {0, 1, 3, 2});
  const Value context = weighted(b, at, b.matmul(at + ".scores", turned_q, keys),
                                 b.repeat_heads(at + ".v.repeated", v, form.shared_by), size, Sees::past, decoding);
  const Value middle = b.add(
      name + "add1", x, linear("attention.output", b.reshape(at + ".merged", context, whole), hidden, kBranchScale));
  const Value branch = b.rms_norm(name + "norm2", middle, kLlamaEpsilon);
  const Value gated = b.multiply(name + "gated", b.silu(name + "silu", linear("gate", branch, form.inner)),
                                 linear("up", branch, form.inner));
  return b.add(name + "add2", middle, linear("down", gated, hidden, kBranchScale));
}

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

void llama_block(Builder& b, std::int64_t sequence) {
  b.output(llama_layer(b, "", b.input("hidden", {sequence, 256}), {4, 2, 688}));
}

void stories(Builder& b, Value x, const Decoding& decoding) {
  constexpr std::int64_t kTokens = 32000;
  for (int i = 0; i < 6; ++i) x = llama_layer(b, fmt::format("layer{}.", i + 1), x, {6, 1, 768}, decoding);
  x = b.rms_norm("norm", b.take_position("last", x, b.shape(x)[1] - 1), kLlamaEpsilon);
  b.output(b.linear("logits", x, kTokens, 1, Bias::none));
}

void stories15m(Builder& b, std::int64_t sequence) { stories(b, b.input("embeddings", {sequence, 288}), {}); }

void stories15m_decode(Builder& b, std::int64_t positions) {
  const Value x = b.input("embedding", {1, 288});
  stories(b, x, b.decode(positions));
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
