// Primitives that change the iteration space of a block: reindex, matrix_form, stream_k, pad and rfactor.
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;

namespace {

const std::string kConv = R"(program conv { input x: int32[9] input w: int32[3] output y: int32[4]
  for i in 4 { for k in 3 { block c { spatial v in 4 = i reduce r in 3 = k reads y[v], x[v * 2 + r], w[r] writes y[v]
    init { y[v] = 0 } y[v] = y[v] + x[v * 2 + r] * w[r] } } } })";
const std::string kReshapingProduct =
    R"(program p { input x: float32[3, 6] input w: float32[4, 6] output y: float32[3, 4]
  for i in 3 { for j in 4 { for k in 6 { block b { spatial v in 3 = i spatial u in 4 = j reduce q in 6 = k reads y[v, u], x[v, q], w[u, q]
    writes y[v, u] init { y[v, u] = 0.0 } y[v, u] = y[v, u] + w[u, q] * x[v, q] } } } } })";
const std::string kImages = R"(program p { input x: int8[2, 5, 9] input w: int8[6, 5, 3] output y: int32[2, 6, 4]
  for n in 2 { for o in 6 { for i in 4 { for d in 5 { for k in 3 { block c { spatial b in 2 = n spatial u in 6 = o spatial v in 4 = i
    reduce e in 5 = d reduce q in 3 = k reads y[b, u, v], x[b, e, v * 2 + q], w[u, e, q] writes y[b, u, v] init { y[b, u, v] = 0 }
    y[b, u, v] = y[b, u, v] + int32(x[b, e, v * 2 + q]) * int32(w[u, e, q]) } } } } } } })";
const std::string kReshapingCopy =
    "program p { input x: int32[10] output y: int32[10] for i in 10 { block b { spatial v in 10 = i reads x[v] writes "
    "y[v] y[v] = x[v] } } }";
const std::string kReshapingSum = R"(program p { input x: int32[4, 10] output y: int32[4]
  for i in 4 { for k in 10 { block b { spatial v in 4 = i reduce r in 10 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } })";

}  // namespace

TEST_CASE("reindex: a convolution reads a row of its patch matrix") {
  check_becomes(kConv, "reindex c x -> m",
                R"(program conv { input x: int32[9] input w: int32[3] output y: int32[4] alloc m: int32[4, 3]
    for m.0 in 4 { for m.1 in 3 { block m { spatial v in 4 = m.0 spatial r in 3 = m.1 reads x[v * 2 + r] writes m[v, r] m[v, r] = x[v * 2 + r] } } }
    for i in 4 { for k in 3 { block c { spatial v in 4 = i reduce r in 3 = k reads y[v], m[v, r], w[r] writes y[v]
      init { y[v] = 0 } y[v] = y[v] + m[v, r] * w[r] } } } })");
}

TEST_CASE("schedule refusals: reindex") {
  check_refused(kConv, "reindex c y", "the buffer is written in the same nest, so an earlier copy would be stale");
  check_refused(kReshapingCopy, "reindex b y", "block b does not read the buffer");
  check_refused(kConv, "reindex c x -> y", "the name y is already used");
  check_refused(
      "program p { input x: int32[4] output y: int32[3] for i in 3 { block b { spatial v in 3 = i reads x[v +: 2] "
      "writes y[v] y[v] = x[v] + x[v + 1] } } }",
      "reindex b x", "block b reads the buffer at 2 different indices");
  check_refused(
      "program p { input x: int32[4] input j: int64[4] output y: int32[4] for i in 4 { block b { spatial v in 4 = i "
      "reads x[0 +: 4], j[v] writes y[v] y[v] = x[j[v]] } } }",
      "reindex b x", "the buffer's index j[v] depends on more than the block's iterators");
  check_refused(
      "program p { input x: int32[4] output y: int32[6] for i in 6 { block b { spatial v in 6 = i reads x[v] writes "
      "y[v] y[v] = select(v < 4, x[v], 0) } } }",
      "reindex b x",
      "index v of dimension 0 of buffer x cannot be proven in bounds: its range is 0 to 5, the extent is 4. Hint: "
      "compute its mask in a separate block");
  check_refused(R"(program p { output y: int32[4] alloc t: int32[8]
    for i in 4 { block a { spatial v in 4 = i writes t[v] t[v] = 1 } }
    for j in 4 { block b { spatial v in 4 = j reads t[v] writes y[v] y[v] = t[v] } } })",
                "reindex b t", "no earlier block provably writes the whole buffer");
}

TEST_CASE("matrix_form: two copies and their product, rounded up") {
  check_becomes(kReshapingProduct, "matrix_form b 2 4 5 -> l r s out", R"(program p {
    input x: float32[3, 6] input w: float32[4, 6] output y: float32[3, 4]
    alloc l: float32[4, 10] alloc r: float32[4, 10] alloc s: float32[4, 4]
    for l.0 in 4 { for l.1 in 10 { block l { spatial m in 4 = l.0 spatial k in 10 = l.1 reads x[m, k] writes l[m, k]
      l[m, k] = select(m < 3 && k < 6, x[m, k], 0.0) } } }
    for r.0 in 4 { for r.1 in 10 { block r { spatial n in 4 = r.0 spatial k in 10 = r.1 reads w[n, k] writes r[n, k]
      r[n, k] = select(k < 6, w[n, k], -0.0) } } }
    for b.m in 4 { for b.n in 4 { for b.k in 10 { block b { spatial m in 4 = b.m spatial n in 4 = b.n reduce k in 10 = b.k
      reads s[m, n], l[m, k], r[n, k] writes s[m, n] init { s[m, n] = 0.0 } s[m, n] = s[m, n] + l[m, k] * r[n, k] } } } }
    for out.0 in 3 { for out.1 in 4 { block out { spatial m in 3 = out.0 spatial n in 4 = out.1 reads s[m, n] writes y[m, n]
      y[m, n] = s[m, n] } } } })");
}

TEST_CASE("matrix_form: a convolution's rows are its output channels, its columns the pixels of all images") {
  const std::string text = scheduled(kImages, "matrix_form c 1 1 1 -> l r s out");
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("l[m, k] = w[m, k // 3, k % 3]"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("r[k, n] = x[n // 4, k // 3, n % 4 * 2 + k % 3]"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("s[m, n] = s[m, n] + int32(l[m, k]) * int32(r[k, n])"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("y[n // 4, m, n % 4] = s[m, n]"));
}

TEST_CASE("matrix_form: of three iterators that move columns, the first is a batch of the operand that it moves") {
  const std::string text =
      scheduled(R"(program p { input x: int32[2, 3, 4, 5] input w: int32[6, 5] output y: int32[2, 6, 3, 4]
    for a in 2 { for o in 6 { for i in 3 { for j in 4 { for c in 5 { block b { spatial t in 2 = a spatial u in 6 = o
      spatial v in 3 = i spatial z in 4 = j reduce q in 5 = c reads y[t, u, v, z], x[t, v, z, q], w[u, q] writes y[t, u, v, z]
      init { y[t, u, v, z] = 0 } y[t, u, v, z] = y[t, u, v, z] + x[t, v, z, q] * w[u, q] } } } } } } })",
                "matrix_form b 1 1 1 -> l r s out");
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("s[b0, m, n] = s[b0, m, n] + l[m, k] * r[b0, n, k]"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("y[b0, m, n // 4, n % 4] = s[b0, m, n]"));
}

TEST_CASE("stream_k: workers take consecutive pieces of tiles, and the parts of a tile are added up") {
  // 2 x 1 tiles of 3 pieces: three workers have two each, and the second one has the end of a tile and a beginning.
  check_becomes(kReshapingProduct, "stream_k b 2 4 2 3 -> l r s start product part whole joined", R"(program p {
    input x: float32[3, 6] input w: float32[4, 6] output y: float32[3, 4]
    alloc l: float32[3, 2, 2, 2] alloc r: float32[3, 2, 4, 2] alloc s: float32[3, 2, 4] alloc part: float32[3, 2, 2, 4]
    alloc joined: float32[2, 2, 4]
    for product.w in 3 { for product.i in 2 {
      for l.0 in 2 { for l.1 in 2 { block l { spatial w in 3 = product.w spatial i in 2 = product.i spatial m in 2 = l.0 spatial k in 2 = l.1
        reads x[(w * 2 + i) // 3 * 2 + m, (w * 2 + i) % 3 * 2 + k] writes l[w, i, m, k]
        l[w, i, m, k] = select((w * 2 + i) // 3 * 2 + m < 3, x[(w * 2 + i) // 3 * 2 + m, (w * 2 + i) % 3 * 2 + k], 0.0) } } }
      for r.0 in 4 { for r.1 in 2 { block r { spatial w in 3 = product.w spatial i in 2 = product.i spatial n in 4 = r.0 spatial k in 2 = r.1
        reads w[n, (w * 2 + i) % 3 * 2 + k] writes r[w, i, n, k] r[w, i, n, k] = w[n, (w * 2 + i) % 3 * 2 + k] } } }
      for product.u in 1 {
        for start.0 in 2 { for start.1 in 4 { block start { spatial w in 3 = product.w spatial i in 2 = product.i spatial m in 2 = start.0
          spatial n in 4 = start.1 where i == 0 || (w * 2 + i) % 3 == 0 writes s[w, m, n] s[w, m, n] = 0.0 } } }
        for product.m in 2 { for product.n in 4 { for product.k in 2 { block product { spatial w in 3 = product.w reduce i in 2 = product.i
          spatial m in 2 = product.m spatial n in 4 = product.n reduce k in 2 = product.k reads s[w, m, n], l[w, i, m, k], r[w, i, n, k]
          writes s[w, m, n] s[w, m, n] = s[w, m, n] + l[w, i, m, k] * r[w, i, n, k] } } } }
        for part.0 in 2 { for part.1 in 4 { block part { spatial w in 3 = product.w spatial i in 2 = product.i spatial m in 2 = part.0
          spatial n in 4 = part.1 where i == 1 || (w * 2 + i) % 3 == 2 reads s[w, m, n] writes part[w, (w * 2 % 3 + i) // 3, m, n]
          part[w, (w * 2 % 3 + i) // 3, m, n] = s[w, m, n] } } } } } }
    for b.0 in 2 { for b.1 in 2 { for b.2 in 4 { for b.c in 2 { block b { spatial t in 2 = b.0 spatial m in 2 = b.1 spatial n in 4 = b.2 reduce c in 2 = b.c
      reads joined[t, m, n], part[t * 3 // 2 + c, max(t - (t * 3 // 2 * 2 + c * 2) // 3, 0), m, n] writes joined[t, m, n]
      init { joined[t, m, n] = 0.0 }
      joined[t, m, n] = joined[t, m, n] + select((t * 3 // 2 + c) * 2 < (t + 1) * 3, part[max(min(t * 3 // 2 + c, 2), 0),
        max(min(t - (t * 3 // 2 + c) * 2 // 3, 1), 0), m, n], 0.0) } } } } }
    for joined.0 in 2 { for joined.1 in 2 { for joined.2 in 4 { block joined { spatial t in 2 = joined.0 spatial m in 2 = joined.1 spatial n in 4 = joined.2
      where t * 2 + m < 3 reads joined[t, m, n] writes y[t * 2 + m, n] y[t * 2 + m, n] = joined[t, m, n] } } } } })");
}

TEST_CASE("stream_k: each worker computes its own whole tiles first, and the following block joins both forms") {
  // 3 x 2 tiles of 2 pieces: four workers have a tile each, and one of the four pieces of the other two.
  const std::string layer =
      R"(program p { input x: float32[6, 4] input w: float32[4, 4] input c: float32[4] output y: float32[6, 4] alloc t: float32[6, 4]
    for i in 6 { for j in 4 { for k in 4 { block b { spatial v in 6 = i spatial u in 4 = j reduce q in 4 = k reads t[v, u], x[v, q], w[u, q]
      writes t[v, u] init { t[v, u] = 0.0 } t[v, u] = t[v, u] + x[v, q] * w[u, q] } } } }
    for i1 in 6 { for j1 in 4 { block e { spatial v in 6 = i1 spatial u in 4 = j1 reads t[v, u], c[u] writes y[v, u] y[v, u] = max(t[v, u] + c[u], 0.0) } } } })";
  const std::string text =
      scheduled(layer, "stream_k b 2 2 2 4 -> l r s start product part whole joined\nreverse_inline e");
  const auto has = [&](const std::string& part) { CHECK_THAT(text, Catch::Matchers::ContainsSubstring(part)); };
  has("for product.w in 4 {\n    for product.i in 3 {");
  has("where i == 2 || select(i < 2, i % 2, (w + max(i - 2, 0)) % 2) == 0");  // a sum starts
  has("where i == 2 || i >= 2 && (w + max(i - 2, 0)) % 2 == 1");              // a part ends
  has("where i < 2 && i % 2 == 1");                                           // a whole tile ends
  has("y[(min(i, 1) // 2 * 4 + w) // 2 * 2 + m, (min(i, 1) // 2 * 4 + w) % 2 * 2 + n] = max(s[w, m, n] + c[");
  has("y[(t + 4) // 2 * 2 + m, (t + 4) % 2 * 2 + n] = max(joined[t, m, n] + c[");
  CHECK_THAT(text, !Catch::Matchers::ContainsSubstring("block e"));
}

TEST_CASE("schedule refusals: stream_k") {
  check_refused(kReshapingProduct, "stream_k b 0 1 1 1", "the multiple must be an integer of at least 1");
  check_refused(kReshapingProduct, "stream_k b 1 1 1 0", "the number of workers must be an integer of at least 1");
  check_refused(kReshapingProduct, "stream_k b 1 1 1 2 -> l r x a b c d e", "the name x is already used");
  check_refused(kReshapingProduct, "stream_k b 2 2 2 4",
                "with 4 workers no tile is shared. Hint: use matrix_form, or another "
                "number of workers");
  check_refused(kReshapingProduct, "split k 2 -> ko ki\nstream_k b 1 1 1 2",
                "the block is not alone in a nest of one serial loop for each iterator");
  check_refused(kReshapingSum, "stream_k b 1 1 1 2", "the block is not a sum of products that starts at 0");
}

TEST_CASE("schedule refusals: matrix_form") {
  check_refused(kReshapingProduct, "matrix_form b 0 1 1", "the multiple must be an integer of at least 1");
  check_refused(kReshapingProduct, "matrix_form b 1 5000 1", "the multiple 5000 is above 4096");
  check_refused(kReshapingProduct, "matrix_form b 1 1 1 -> l r x o", "the name x is already used");
  check_refused(kReshapingProduct, "split k 2 -> ko ki\nmatrix_form b 1 1 1",
                "the block is not alone in a nest of one serial loop for each iterator. Hint: apply this step first");
  check_refused(kReshapingSum, "matrix_form b 1 1 1", "the block is not a sum of products that starts at 0");
  check_refused(kReshapingCopy, "matrix_form b 1 1 1", "the block is not a sum of products that starts at 0");
  check_refused(R"(program p { input x: int32[4] output y: int32[2]
    for i in 2 { for k in 4 { block b { spatial v in 2 = i reduce r in 4 = k reads y[v], x[r] writes y[v] init { y[v] = 0 }
      y[v] = y[v] + x[r] * x[r] } } } })",
                "matrix_form b 1 1 1", "no factor depends on iterator v");
}

TEST_CASE("pad: extents become multiples, and a predicate leaves out the added elements") {
  check_becomes(kReshapingCopy, "pad b v 4",
                "program p { input x: int32[10] output y: int32[10] for i in 12 { block b { spatial v in 12 = i where "
                "v < 10 reads x[v] writes y[v] y[v] = x[v] } } }");
  check_becomes(kReshapingCopy, "pad b v 5", kReshapingCopy);
  check_becomes(kReshapingSum, "pad b r 16\nsplit k 16 -> ko ki",
                R"(program p { input x: int32[4, 10] output y: int32[4]
    for i in 4 { for ko in 1 { for ki in 16 { block b { spatial v in 4 = i reduce r in 16 = ki where r < 10 reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } } })");
}

TEST_CASE("schedule refusals: pad") {
  check_refused(kReshapingCopy, "pad b w 4", "the block has no iterator w. Hint: its iterators are v");
  check_refused(kReshapingCopy, "pad b v 0", "the multiple must be an integer of at least 1");
  check_refused(kReshapingCopy, "pad b v 2000000", "the multiple 2000000 is above 1048576");
  check_refused(kReshapingCopy, "split i 5 -> a c\npad b v 4", "iterator v is not bound to one loop of its extent");
  check_refused(kReshapingCopy, "bind i block.x\npad b v 4", "loop i is bound to block.x");
  check_refused(
      "program p { output y: int32[4] output z: int32[4] for i in 4 { block a { spatial v in 4 = i writes y[v] y[v] = "
      "0 } block b { spatial v in 4 = i writes z[v] z[v] = 0 } } }",
      "pad a v 3", "loop i contains more than the block");
  check_refused(
      "program p { output y: int32[4, 4] for i in 4 { block a { spatial v in 4 = i spatial w in 4 = i writes y[v, w] "
      "y[v, w] = 0 } } }",
      "pad a v 3", "the iterator's loop i also drives iterator w");
}

TEST_CASE("rfactor: partial sums, joined afterwards") {
  check_becomes(kReshapingSum, "split k 5 -> ko ki\nrfactor b ko -> q",
                R"(program p { input x: int32[4, 10] output y: int32[4] alloc q: int32[2, 4]
    for i in 4 { for ko in 2 { for ki in 5 { block q { spatial vko in 2 = ko spatial v in 4 = i reduce vki in 5 = ki
      reads q[vko, v], x[v, vko * 5 + vki] writes q[vko, v] init { q[vko, v] = 0 } q[vko, v] = q[vko, v] + x[v, vko * 5 + vki] } } } }
    for b.v in 4 { for b.vko in 2 { block b { spatial v in 4 = b.v reduce vko in 2 = b.vko
      reads y[v], q[vko, v] writes y[v] init { y[v] = 0 } y[v] = y[v] + q[vko, v] } } } })");
  // The benefit: the partial sums are independent.
  CHECK_THAT(scheduled(kReshapingSum, "split k 5 -> ko ki\nrfactor b ko -> q\nreorder ko i\nparallel ko"),
             Catch::Matchers::ContainsSubstring("for ko in 2 parallel"));
}

TEST_CASE("schedule: rfactor keeps the parts of a tuple, the better of which is selected") {
  CHECK_THAT(
      scheduled("program p { input x: int32[12] output y: int32[1] output z: int64[1] for i in 1 { for k in 12 { block "
                "b { spatial v in 1 = i reduce r in 12 = k reads y[v], x[r], z[v] writes y[v], z[v] init { y[v], z[v] "
                "= -99, 99 } y[v], z[v] = select(x[r] > y[v] || x[r] == y[v] && r < z[v], x[r], y[v]), select(x[r] > "
                "y[v] || x[r] == y[v] && r < z[v], r, z[v]) } } } }",
                "split k 4 -> ko ki\nrfactor b ki -> q"),
      Catch::Matchers::ContainsSubstring("alloc q: int32[4, 1]") &&
          Catch::Matchers::ContainsSubstring("alloc q.z: int64[4, 1]") &&
          Catch::Matchers::ContainsSubstring("select(q[vki, v] > y[v] || q[vki, v] == y[v] && q.z[vki, v] < z[v]"));
}

TEST_CASE("schedule refusals: rfactor") {
  check_refused(kReshapingSum, "rfactor b i", "loop i drives the spatial iterator v");
  check_refused(kReshapingSum, "rfactor b j", "program p has no loop of this name");
  check_refused(kReshapingCopy, "rfactor b i", "the block is not one store with an init");
  check_refused(kReshapingSum, "pad b r 24\nsplit k 8 -> ko ki\nrfactor b ko -> q",
                "where the predicate r < 10 is false, a partial result would not be initialized");
  check_refused(
      "program p { input x: int32[4] output y: int32[1] for k in 4 { block b { reduce r in 4 = k reads y[0], x[r] "
      "writes y[0] init { y[0] = 3 } y[0] = y[0] + x[r] } } }",
      "rfactor b k", "the reduction starts at int32(3), which partial results cannot do");
  check_refused(
      "program p { input x: int32[4] output y: int32[1] for k in 4 { block b { reduce r in 4 = k reads y[0], x[r] "
      "writes y[0] init { y[0] = 0 } y[0] = y[0] - x[r] } } }",
      "rfactor b k", "the block does not combine its result with a value by +, *, min, max or");
}
