// Transformers. bert_base: the encoder of Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for
// Language Understanding", NAACL 2019, section 3 (BERT-base: 12 layers, hidden 768, 12 heads), normalized after each
// sum as in Vaswani et al., "Attention Is All You Need", NeurIPS 2017, section 3.1. Its inputs are embeddings, float32
// [batch, sequence, 768]: token lookup, pooler and attention mask are not included. gpt_block: one block of Radford et
// al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3 (GPT-2: normalized before each branch,
// causal attention), a third as wide: hidden 256, 4 heads.
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

}  // namespace

void bert_base(Builder& b, std::int64_t sequence) {
  constexpr std::int64_t kLayers = 12, kHidden = 768, kHeads = 12, kInner = 3072;
  constexpr float kEpsilon = 1e-12F;
  Value x = b.input("embeddings", {sequence, kHidden});
  for (std::int64_t i = 0; i < kLayers; ++i) {
    const std::string name = fmt::format("layer{}.", i + 1);
    std::vector<Value> qkv;
    for (const char* part : {"query", "key", "value"}) qkv.push_back(b.linear(name + part, x, kHidden));
    Value y = b.linear(name + "output", attention(b, name + "attention", qkv, kHeads, Sees::everything), kHidden);
    x = b.layer_norm(name + "norm1", b.add(name + "add1", x, y), kEpsilon);
    y = b.gelu(name + "gelu", b.linear(name + "inner", x, kInner), Gelu::exact);
    x = b.layer_norm(name + "norm2", b.add(name + "add2", x, b.linear(name + "outer", y, kHidden)), kEpsilon);
  }
  b.output(x);
}

void gpt_block(Builder& b, std::int64_t sequence) {
  constexpr std::int64_t kHidden = 256, kHeads = 4, kInner = 4 * kHidden;
  constexpr float kEpsilon = 1e-5F;
  constexpr double kBranchScale = 0.5;
  const Value x = b.input("hidden", {sequence, kHidden});
  const Value qkv = b.linear("attention.qkv", b.layer_norm("norm1", x, kEpsilon), 3 * kHidden);
  Value y = attention(b, "attention", b.split_last_axis("attention.parts", qkv, 3), kHeads, Sees::past);
  const Value middle = b.add("add1", x, b.linear("attention.output", y, kHidden, kBranchScale));
  y = b.gelu("gelu", b.linear("inner", b.layer_norm("norm2", middle, kEpsilon), kInner), Gelu::tanh);
  b.output(b.add("add2", middle, b.linear("outer", y, kHidden, kBranchScale)));
}

}  // namespace dovetail::zoo
