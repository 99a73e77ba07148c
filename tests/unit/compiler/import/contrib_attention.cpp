// The forms of attention of the domain com.microsoft, compared with their definitions.
#include "tests/unit/compiler/import/contrib.h"

using namespace dovetail::test::contrib;

namespace dovetail {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::int64_t kImages = 2, kPlaces = 3, kHeadCount = 2, kHeadSize = 4, kAll = kHeadCount * kHeadSize;

// The addend of a mask to each score, for each form of masks.
struct PaddingMask {
  const char* name;
  NdArray array;  // without elements: none
  std::function<bool(std::int64_t image, std::int64_t query, std::int64_t key)> keeps;
};

std::vector<PaddingMask> padding_masks(std::mt19937& rng, std::int64_t total) {
  NdArray flags = drawn_integers(rng, DType::int32, {kImages, total}, 0, 1),
          each = drawn_integers(rng, DType::int32, {kImages, kPlaces, total}, 0, 1);
  // At least one element is kept: in a row that is masked completely, binary32 keeps few digits.
  for (std::int64_t i = 0; i < flags.count(); i += total) flags.set_int64(i, 1);
  for (std::int64_t i = 0; i < each.count(); i += total) each.set_int64(i, 1);
  std::vector<PaddingMask> masks{
      {"none", NdArray(DType::int32, {0}), [](auto, auto, auto) { return true; }},
      {"lengths", NdArray::from<std::int32_t>({kImages}, {2, 3}),
       [](auto n, auto, auto t) { return t < (n == 0 ? 2 : 3); }},
      {"ends and starts", NdArray::from<std::int32_t>({2 * kImages}, {2, 3, 0, 1}),
       [](auto n, auto, auto t) { return t < (n == 0 ? 2 : 3) && t >= n; }},
      {"flags", flags, [=](auto n, auto, auto t) { return flags.as_int64(n * total + t) != 0; }},
      {"flags of queries", each,
       [=](auto n, auto s, auto t) { return each.as_int64((n * kPlaces + s) * total + t) != 0; }}};
  return masks;
}

TEST_CASE("com.microsoft.Attention: projection, masks, past and the causal triangle") {
  std::mt19937 rng(11);
  const NdArray x = drawn_reals(rng, {kImages, kPlaces, 5}), w = drawn_reals(rng, {5, 3 * kAll}, 0.5),
                b = drawn_reals(rng, {3 * kAll});
  for (const std::int64_t past : {0, 2})
    for (const bool causal : {false, true})
      for (const PaddingMask& mask : padding_masks(rng, past + kPlaces)) {
        INFO(mask.name << ", past " << past << ", causal " << causal);
        const NdArray before = drawn_reals(rng, {2, kImages, kHeadCount, past, kHeadSize});
        const Reals projected = added(product(Reals(x), Reals(w)), Reals(b));
        const auto part = [&](std::int64_t i) {
          return heads_first(columns(projected, i * kAll, (i + 1) * kAll), kHeadCount);
        };
        const auto earlier = [&](std::int64_t i) {
          Reals half(Shape{kImages, kHeadCount, past, kHeadSize});
          for (std::int64_t j = 0; j < half.count(); ++j) half[j] = before.as_double(i * half.count() + j);
          return half;
        };
        const Reals k = joined(earlier(0), part(1)), v = joined(earlier(1), part(2));
        const Reals expected = heads_last(attention(part(0), k, v, 0, [&](auto n, auto, auto s, auto t) {
          const double filter = mask.keeps(n, s, t) ? 0 : -10000;
          return causal && t > past + s ? -std::numeric_limits<double>::infinity() : filter;
        }));
        ContribNode node{"Attention"};
        node.outputs = {"y", "present"};
        node.input("x", x).constant("w", w).constant("b", b);
        mask.array.count() > 0 ? node.input("mask", mask.array) : node.omitted();
        if (past > 0) node.input("past", before);
        const auto result = node.with("num_heads", kHeadCount).with("unidirectional", causal ? 1 : 0).run();
        check_close(result.at("y"), expected, 1e-5);
        Reals present(Shape{2, kImages, kHeadCount, past + kPlaces, kHeadSize});
        for (std::int64_t i = 0; i < k.count(); ++i) present[i] = k[i], present[k.count() + i] = v[i];
        check_close(result.at("present"), present, 1e-5);
      }
}

TEST_CASE("com.microsoft.Attention: an unsupported form is named") {
  const NdArray x(DType::float32, {1, 3, 4}), w(DType::float32, {4, 12});
  const auto node = [&] {
    ContribNode made{"Attention"};
    made.input("x", x).constant("w", w).with("num_heads", 2);
    return made;
  };
  CHECK_THAT(node().with("do_rotary", 1).refusal(),
             ContainsSubstring("do_rotary = 1 is not supported") && ContainsSubstring("a separate operator"));
  CHECK_THAT(node().with("past_present_share_buffer", 1).refusal(),
             ContainsSubstring("past_present_share_buffer = 1 is not supported"));
  CHECK_THAT(node().with("qkv_hidden_sizes", std::vector<std::int64_t>{4, 4, 5}).refusal(),
             ContainsSubstring("the queries, keys and values have 12 columns, for 2 heads"));
  ContribNode masked{"Attention"};
  CHECK_THAT(masked.input("x", x)
                 .constant("w", w)
                 .omitted()
                 .input("mask", NdArray(DType::int32, {5}))
                 .with("num_heads", 2)
                 .refusal(),
             ContainsSubstring("the mask has shape [5], for batch 1, 3 queries and 3 keys"));
}

TEST_CASE("com.microsoft.QAttention projects integers exactly") {
  std::mt19937 rng(12);
  const NdArray x = drawn_integers(rng, DType::uint8, {kImages, kPlaces, 5}, 0, 255),
                w = drawn_integers(rng, DType::int8, {5, 3 * kAll}, -128, 127), b = drawn_reals(rng, {3 * kAll}),
                scales = drawn_reals(rng, {3 * kAll}, 0.01);
  Reals projected(Shape{kImages, kPlaces, 3 * kAll});
  for (std::int64_t r = 0; r < kImages * kPlaces; ++r)
    for (std::int64_t c = 0; c < 3 * kAll; ++c) {
      double sum = 0;
      for (std::int64_t i = 0; i < 5; ++i) sum += (x.as_double(r * 5 + i) - 130) * (w.as_double(i * 3 * kAll + c) - 2);
      projected[r * 3 * kAll + c] = sum * 0.02f * scales.as_double(c) + b.as_double(c);
    }
  const auto part = [&](std::int64_t i) {
    return heads_first(columns(projected, i * kAll, (i + 1) * kAll), kHeadCount);
  };
  check_close(ContribNode{"QAttention"}
                  .input("x", x)
                  .constant("w", w)
                  .constant("b", b)
                  .constant("xs", NdArray::scalar(0.02f))
                  .constant("ws", scales)
                  .omitted()
                  .constant("xz", NdArray::scalar(std::uint8_t{130}))
                  .constant("wz", NdArray::scalar(std::int8_t{2}))
                  .with("num_heads", kHeadCount)
                  .run1(),
              heads_last(attention(part(0), part(1), part(2), 0, no_bias)), 1e-5);
}

TEST_CASE("com.microsoft.MultiHeadAttention: packed, cached and joined operands, bias, masks, past") {
  std::mt19937 rng(13);
  const std::int64_t keys = 5;
  const NdArray q = drawn_reals(rng, {kImages, kPlaces, kAll}), k = drawn_reals(rng, {kImages, keys, kAll}),
                v = drawn_reals(rng, {kImages, keys, kAll}), bias = drawn_reals(rng, {3 * kAll}),
                scores = drawn_reals(rng, {1, kHeadCount, kPlaces, keys});
  const auto heads = [](const NdArray& x) { return heads_first(Reals(x), kHeadCount); };
  const auto biased = [&](const NdArray& x, std::int64_t i) {
    Reals part(Shape{kAll});
    for (std::int64_t c = 0; c < kAll; ++c) part[c] = bias.as_double(i * kAll + c);
    return heads_first(added(Reals(x), part), kHeadCount);
  };
  const auto node = [&](const NdArray& a, const NdArray& b, const NdArray& c) {
    ContribNode made{"MultiHeadAttention"};
    made.input("q", a).input("k", b).input("v", c).with("num_heads", kHeadCount);
    return made;
  };
  check_close(node(q, k, v).constant("bias", bias).with("scale", 0.3f).run1(),
              heads_last(attention(biased(q, 0), biased(k, 1), biased(v, 2), 0.3f, no_bias)), 1e-5);
  check_close(node(q, k, v).omitted().omitted().input("scores", scores).run1(),
              heads_last(attention(
                  heads(q), heads(k), heads(v), 0,
                  [&](auto, auto h, auto s, auto t) { return scores.as_double((h * kPlaces + s) * keys + t); })),
              1e-5);
  // Keys and values of a cache have no bias.
  const NdArray kc = drawn_reals(rng, {kImages, kHeadCount, keys, kHeadSize}),
                vc = drawn_reals(rng, {kImages, kHeadCount, keys, kHeadSize});
  check_close(node(q, kc, vc).constant("bias", bias).run1(),
              heads_last(attention(biased(q, 0), Reals(kc), Reals(vc), 0, no_bias)), 1e-5);
  // Packed: [batch, positions, heads, 3, size].
  const NdArray all = drawn_reals(rng, {kImages, kPlaces, kHeadCount, 3, kHeadSize});
  const auto packed = [&](std::int64_t i) {
    Reals part(Shape{kImages, kHeadCount, kPlaces, kHeadSize});
    for (std::int64_t n = 0; n < kImages; ++n)
      for (std::int64_t h = 0; h < kHeadCount; ++h)
        for (std::int64_t s = 0; s < kPlaces; ++s)
          for (std::int64_t d = 0; d < kHeadSize; ++d)
            part[part.place({n, h, s, d})] =
                all.as_double((((n * kPlaces + s) * kHeadCount + h) * 3 + i) * kHeadSize + d);
    return part;
  };
  check_close(ContribNode{"MultiHeadAttention"}.input("q", all).with("num_heads", kHeadCount).run1(),
              heads_last(attention(packed(0), packed(1), packed(2), 0, no_bias)), 1e-5);
  // A past, causal, with a mask of flags.
  const NdArray pk = drawn_reals(rng, {kImages, kHeadCount, 2, kHeadSize}),
                pv = drawn_reals(rng, {kImages, kHeadCount, 2, kHeadSize}),
                own_k = drawn_reals(rng, {kImages, kPlaces, kAll}), own_v = drawn_reals(rng, {kImages, kPlaces, kAll});
  const NdArray flags = NdArray::from<std::int32_t>({kImages, 5}, {1, 0, 1, 1, 0, 0, 1, 1, 1, 1});
  ContribNode late = node(q, own_k, own_v);
  late.outputs = {"y", "present_k", "present_v"};
  const auto result =
      late.omitted().input("mask", flags).omitted().input("pk", pk).input("pv", pv).with("unidirectional", 1).run();
  const Reals all_k = joined(Reals(pk), heads(own_k)), all_v = joined(Reals(pv), heads(own_v));
  check_close(result.at("y"),
              heads_last(attention(heads(q), all_k, all_v, 0,
                                   [&](auto n, auto, auto s, auto t) {
                                     if (t > s + 2) return -std::numeric_limits<double>::infinity();
                                     return flags.as_int64(n * 5 + t) != 0 ? 0.0 : -10000.0;
                                   })),
              1e-5);
  check_close(result.at("present_k"), all_k, 0);
  check_close(result.at("present_v"), all_v, 0);
  CHECK_THAT(ContribNode{"MultiHeadAttention"}
                 .input("q", all)
                 .omitted()
                 .omitted()
                 .constant("bias", bias)
                 .with("num_heads", kHeadCount)
                 .refusal(),
             ContainsSubstring("a bias is not supported with packed queries, keys and values"));
  CHECK_THAT(node(q, k, own_v).refusal(),
             ContainsSubstring("query has shape [2, 3, 8], key [2, 5, 8] and value [2, 3, 8]"));
}

struct GroupForm {
  std::int64_t queries, past, window;
  bool packed, rotates, interleaved, total_known;
  double softcap;
  std::vector<std::int32_t> lasts;  // seqlens_k
};

void check_group_query(const GroupForm& form) {
  constexpr std::int64_t kQueryHeads = 4, kKeyHeads = 2;
  std::mt19937 rng(14);
  const std::int64_t s = form.queries, half = kHeadSize / 2, total = form.past + s;
  const NdArray q = drawn_reals(rng, {kImages, s, kQueryHeads * kHeadSize}),
                k = drawn_reals(rng, {kImages, s, kKeyHeads * kHeadSize}),
                v = drawn_reals(rng, {kImages, s, kKeyHeads * kHeadSize}),
                pk = drawn_reals(rng, {kImages, kKeyHeads, form.past, kHeadSize}),
                pv = drawn_reals(rng, {kImages, kKeyHeads, form.past, kHeadSize}), cos = drawn_reals(rng, {9, half}),
                sin = drawn_reals(rng, {9, half});
  NdArray lasts(DType::int32, {kImages});
  for (std::int64_t i = 0; i < kImages; ++i) lasts.set_int64(i, form.lasts[static_cast<std::size_t>(i)]);
  const auto start = [&](std::int64_t n) { return form.past == 0 ? 0 : lasts.as_int64(n) + 1 - s; };
  Reals qh = heads_first(Reals(q), kQueryHeads), kh = heads_first(Reals(k), kKeyHeads);
  const Reals vh = heads_first(Reals(v), kKeyHeads);
  if (form.rotates) {
    const auto position = [&](std::int64_t n, std::int64_t p) { return start(n) + p; };
    qh = rotated(qh, Reals(cos), Reals(sin), position, form.interleaved);
    kh = rotated(kh, Reals(cos), Reals(sin), position, form.interleaved);
  }
  const auto whole = [&](const NdArray& past, const Reals& fresh) {
    Reals y(Shape{kImages, kKeyHeads, total, kHeadSize});
    for (std::int64_t n = 0; n < kImages; ++n)
      for (std::int64_t h = 0; h < kKeyHeads; ++h)
        for (std::int64_t t = 0; t < total; ++t)
          for (std::int64_t d = 0; d < kHeadSize; ++d) {
            const bool is_new = t >= start(n) && t < start(n) + s;
            y[y.place({n, h, t, d})] = is_new          ? fresh.at({n, h, t - start(n), d})
                                       : t < form.past ? Reals(past).at({n, h, t, d})
                                                       : 0;
          }
    return y;
  };
  const Reals all_k = whole(pk, kh), all_v = whole(pv, vh);
  const Reals expected = heads_last(attention(
      qh, all_k, all_v, 0,
      [&](auto n, auto, auto place, auto t) {
        const std::int64_t own = start(n) + place;
        const bool keeps = t <= own && t <= lasts.as_int64(n) && (form.window < 1 || t > own - form.window);
        return keeps ? 0 : -1e30;
      },
      form.softcap));
  ContribNode node{"GroupQueryAttention"};
  node.outputs = {"y", "present_k", "present_v"};
  if (form.packed) {
    const std::int64_t row = (kQueryHeads + 2 * kKeyHeads) * kHeadSize;
    NdArray all(DType::float32, {kImages, s, row});
    const NdArray* parts[] = {&q, &k, &v};
    std::int64_t from = 0;
    for (const NdArray* part : parts) {
      const std::int64_t width = part->shape()[2];
      for (std::int64_t i = 0; i < part->count(); ++i)
        all.set_double(i / width * row + from + i % width, part->as_double(i));
      from += width;
    }
    node.input("q", all).omitted().omitted();
  } else {
    node.input("q", q).input("k", k).input("v", v);
  }
  form.past > 0 ? node.input("pk", pk).input("pv", pv) : node.omitted().omitted();
  node.input("lasts", lasts);
  const NdArray length = NdArray::scalar(static_cast<std::int32_t>(total));
  form.total_known ? node.constant("total", length) : node.input("total", length);
  if (form.rotates) node.constant("cos", cos).constant("sin", sin).with("do_rotary", 1);
  if (form.interleaved) node.with("rotary_interleaved", 1);
  if (form.window > 0) node.with("local_window_size", form.window);
  if (form.softcap != 0) node.with("softcap", static_cast<float>(form.softcap));
  const auto result = node.with("num_heads", kQueryHeads).with("kv_num_heads", kKeyHeads).run();
  check_close(result.at("y"), expected, 1e-5);
  check_close(result.at("present_k"), all_k, 1e-6);
  check_close(result.at("present_v"), all_v, 1e-6);
}

TEST_CASE("com.microsoft.GroupQueryAttention: prompts and later positions") {
  check_group_query({3, 0, 0, false, false, false, true, 0, {2, 2}});
  check_group_query({3, 0, 0, false, false, false, true, 0, {2, 1}});  // the second sequence is padded
  check_group_query({3, 0, 2, false, false, false, false, 0, {2, 2}});
  check_group_query({3, 0, 0, true, true, false, true, 0, {2, 2}});
  check_group_query({3, 0, 0, false, true, true, true, 2, {2, 2}});
  check_group_query({1, 4, 0, false, false, false, false, 0, {4, 4}});
  check_group_query({1, 4, 0, true, true, false, true, 0, {4, 2}});  // the second past is shorter
  check_group_query({2, 4, 3, false, true, true, false, 0, {5, 5}});
  const NdArray q(DType::float32, {1, 2, 8}), k(DType::float32, {1, 2, 4}), lasts(DType::int32, {1});
  const auto node = [&] {
    ContribNode made{"GroupQueryAttention"};
    made.input("q", q).input("k", k).input("v", k).omitted().omitted().input("lasts", lasts);
    return made.with("num_heads", 2).with("kv_num_heads", 1);
  };
  CHECK_THAT(node().with("smooth_softmax", 1).refusal(), ContainsSubstring("smooth_softmax = 1 is not supported"));
  CHECK_THAT(node().constant("total", NdArray::scalar(std::int32_t{7})).refusal(),
             ContainsSubstring("total_sequence_length is 7, with 2 positions and a past of 0"));
  CHECK_THAT(node().with("do_rotary", 1).refusal(), ContainsSubstring("without cos_cache and sin_cache"));
}

TEST_CASE("com.microsoft.RotaryEmbedding: positions of all, or the first one") {
  std::mt19937 rng(15);
  const NdArray cos = drawn_reals(rng, {6, 2}), sin = drawn_reals(rng, {6, 2}),
                joint = drawn_reals(rng, {kImages, kPlaces, kAll}),
                apart = drawn_reals(rng, {kImages, kHeadCount, kPlaces, kHeadSize});
  const NdArray places = NdArray::from<std::int64_t>({kImages, kPlaces}, {0, 5, 2, 1, 1, 3}),
                first = NdArray::from<std::int64_t>({1}, {2});
  for (const bool interleaved : {false, true}) {
    const auto node = [&](const NdArray& x, const NdArray& ids) {
      ContribNode made{"RotaryEmbedding"};
      made.input("x", x).input("ids", ids).constant("cos", cos).constant("sin", sin);
      return made.with("interleaved", interleaved ? 1 : 0).run1();
    };
    const auto listed = [&](std::int64_t n, std::int64_t p) { return places.as_int64(n * kPlaces + p); };
    const auto counted = [](std::int64_t, std::int64_t p) { return p + 2; };
    const Reals c(cos), s(sin);
    check_close(node(apart, places), rotated(Reals(apart), c, s, listed, interleaved), 1e-6);
    check_close(node(joint, places),
                heads_last(rotated(heads_first(Reals(joint), kHeadCount), c, s, listed, interleaved)), 1e-6);
    check_close(node(joint, first),
                heads_last(rotated(heads_first(Reals(joint), kHeadCount), c, s, counted, interleaved)), 1e-6);
  }
  CHECK_THAT(ContribNode{"RotaryEmbedding"}
                 .input("x", apart)
                 .input("ids", places)
                 .constant("cos", cos)
                 .constant("sin", sin)
                 .with("scale", 2.0f)
                 .refusal(),
             ContainsSubstring("scale is 2"));
}

}  // namespace
}  // namespace dovetail
