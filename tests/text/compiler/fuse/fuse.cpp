// Which nodes become one kernel, and the reasons for those that do not.
#include "compiler/fuse/fuse.h"

#include <fmt/ranges.h>

#include "loops/verify.h"
#include "tests/text/compiler/passes/rewrite_case.h"

namespace dovetail {
namespace {

// One line for each group, "anchor: node + node", followed by its reasons. Nodes are named after their results.
std::string groups(const std::string& text) {
  const graph::Graph graph = test::RewriteCase(text).graph();
  const auto made = fuse_groups(graph, graph.topological_order());
  if (!made) FAIL(to_string(made.errors()));
  const auto name = [&](graph::NodeId id) { return graph.value(graph.node(id).outputs[0]).name; };
  std::string lines;
  for (const FusedGroup& group : *made) {
    std::vector<std::string> nodes;
    for (const graph::NodeId id : group.nodes) nodes.push_back(name(id));
    lines += fmt::format("{}: {}\n", name(group.anchor), fmt::join(nodes, " + "));
    for (const std::string& reason : group.unfused) lines += "  " + reason + "\n";
  }
  return lines;
}

const std::string kConv = R"(graph g(%x: float32[1, 4, 6, 6], %z: float32[1, 8, 6, 6]) -> (%y)
  constant %w: float32[8, 4, 1, 1]
  %c: float32[1, 8, 6, 6] = Conv(%x, %w)  // c
)";

}  // namespace

TEST_CASE("fuse: a convolution takes the elementwise nodes after it, and the other side of a sum") {
  CHECK(groups(kConv + R"(  %p: float32[1, 8, 6, 6] = Sigmoid(%z)  // p
  %q: float32[1, 8, 6, 6] = Mul(%p, %z)  // q
  %s: float32[1, 8, 6, 6] = Add(%q, %c)  // s
  %y: float32[1, 8, 6, 6] = Relu(%s)  // y
)") == "c: c + p + q + s + y\n");
}

TEST_CASE("fuse: of two convolutions one takes the sum; the other states the reason") {
  CHECK(groups(kConv + R"(  constant %v: float32[8, 8, 1, 1]
  %d: float32[1, 8, 6, 6] = Conv(%z, %v)  // d
  %y: float32[1, 8, 6, 6] = Add(%c, %d)  // y
)") == "d: d\n  d -> y not fused: the reader is already in another kernel\nc: c + y\n");
}

TEST_CASE("fuse: a channel shuffle is one kernel") {
  CHECK(groups(R"(graph g(%z: float32[1, 8, 6, 6]) -> (%y)
  constant %s: int64[5] = [1, 2, 4, 6, 6]
  constant %t: int64[4] = [1, 8, 6, 6]
  %a: float32[1, 2, 4, 6, 6] = Reshape(%z, %s)  // a
  %b: float32[1, 4, 2, 6, 6] = Transpose(%a) {perm=[0, 2, 1, 3, 4]}  // b
  %y: float32[1, 8, 6, 6] = Reshape(%b, %t)  // y
)") == "a: a + b + y\n");
}

TEST_CASE("fuse: a result with several readers, or of the model, is written") {
  CHECK(groups(R"(graph g(%x: float32[1, 4, 6, 6]) -> (%y, %c)
  constant %w: float32[8, 4, 1, 1]
  %c: float32[1, 8, 6, 6] = Conv(%x, %w)  // c
  %p: float32[1, 8, 6, 6] = Sigmoid(%c)  // p
  %q: float32[1, 8, 6, 6] = Tanh(%c)  // q
  %y: float32[1, 8, 6, 6] = Add(%p, %q)  // y
)") == "c: c\n  c -> p not fused: the result is an output of the model\n  c -> q not fused: the result is an output of "
       "the model\np: p + q + y\n");
}

TEST_CASE("fuse: a cheap node is computed again by each reader") {
  CHECK(groups(R"(graph g(%x: float32[1, 8, 6, 6], %z: float32[1, 4, 6, 6]) -> (%s, %t)
  constant %w: float32[8, 4, 1, 1]
  %r: float32[1, 8, 6, 6] = Relu(%x)  // r
  %c: float32[1, 8, 6, 6] = Conv(%z, %w)  // c
  %d: float32[1, 8, 6, 6] = Conv(%z, %w)  // d
  %s: float32[1, 8, 6, 6] = Add(%c, %r)  // s
  %t: float32[1, 8, 6, 6] = Mul(%d, %r)  // t
)") == "c: c + r + s\nd: d + r + t\n");
  // Expensive nodes are not.
  CHECK(
      groups(R"(graph g(%x: float32[1, 8]) -> (%s, %t)
  constant %a: int64[1] = [1]
  %r: float32[1, 8] = Sigmoid(%x)  // r
  %s: float32[1, 1] = ReduceSum(%r, %a)  // s
  %t: float32[1, 8] = Mul(%x, %r)  // t
)") ==
      "r: r\n  r -> s not fused: the result has 2 readers\n  r -> t not fused: the result has 2 readers\ns: s\nt: t\n");
}

TEST_CASE(
    "fuse: cheap nodes are fused before reductions and broadcasts, Concat takes none, a Transpose is fused after") {
  CHECK(groups(R"(graph g(%x: float32[4, 8], %z: float32[4, 8]) -> (%y, %k, %u)
  constant %a: int64[1] = [1]
  %q: float32[4, 8] = Mul(%x, %x)  // q
  %s: float32[4, 1] = ReduceSum(%q, %a)  // s
  %t: float32[4, 1] = Add(%s, %s)  // t
  %y: float32[4, 8] = Sub(%z, %t)  // y
  %n: float32[4, 8] = Neg(%z)  // n
  %k: float32[4, 16] = Concat(%n, %x) {axis=1}  // k
  %m: float32[4, 8] = Abs(%z)  // m
  %u: float32[8, 4] = Transpose(%m)  // u
)") == "s: q + s + t\n  t -> y not fused: Sub makes [4, 8] of [4, 1]\n"
       "y: y\nn: n\n  n -> k not fused: Concat makes [4, 16] of [4, 8]; Concat would compute every operand for each of "
       "its elements\nk: k\nm: m + u\n");
}

TEST_CASE("fuse: a long chain becomes kernels of 64 nodes, each with its reason") {
  std::string text = "graph g(%x0: float32[8]) -> (%x130)\n";
  for (int i = 0; i < 130; ++i)
    text += fmt::format("  %x{}: float32[8] = {}(%x{})  // x{}\n", i + 1, i % 2 == 0 ? "Relu" : "Neg", i, i + 1);
  const graph::Graph graph = test::RewriteCase(text).graph();
  const auto made = fuse_groups(graph, graph.topological_order());
  REQUIRE(made.ok());
  REQUIRE(made->size() == 3);
  CHECK((*made)[0].nodes.size() == 64);
  CHECK((*made)[1].nodes.size() == 64);
  CHECK((*made)[2].nodes.size() == 2);
  CHECK((*made)[0].unfused ==
        std::vector<std::string>{"x64 -> x65 not fused: 128 nodes exceed the limit of 64 per kernel"});
}

TEST_CASE("fuse: a node with very many results becomes several kernels") {
  std::string types, names;
  for (int i = 0; i < 130; ++i) {
    types += fmt::format("{}%y{}: float32[2]", i == 0 ? "" : ", ", i);
    names += fmt::format("{}%y{}", i == 0 ? "" : ", ", i);
  }
  const graph::Graph graph = test::RewriteCase("graph g(%x: float32[260]) -> (" + names + ")\n  " + types +
                                               " = Split(%x) {axis=0}  // split\n")
                                 .graph();
  const auto made = fuse_groups(graph, graph.topological_order());
  REQUIRE(made.ok());
  REQUIRE(made->size() == 3);
  std::vector<graph::ValueId> results;
  for (const FusedGroup& group : *made) {
    CHECK(loops::verify(group.program).ok());
    CHECK(group.program.parameters.size() == 1 + group.results.size());
    results.insert(results.end(), group.results.begin(), group.results.end());
  }
  CHECK(graph.outputs == results);
}

}  // namespace dovetail
