#include "loops/parse.h"
#include "loops/print.h"
#include "loops/rewrite.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

// The inferred regions of the first block of a program, as text.
std::string regions_of(const std::string& body) {
  const auto program =
      parse_program("program p { input x: int8[8, 16] input k: int64[8] output y: int8[8, 16] " + body + " }", "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  const Block* first = nullptr;
  visit_stmts(program->body, [&](const Stmt& s) {
    if (const auto* block = std::get_if<Block>(&s->node); block != nullptr && first == nullptr) first = block;
  });
  const BlockRegions regions = infer_regions(*first);
  const Stmt shown = make_stmt(Block{"b", {}, nullptr, regions.reads, regions.writes, nullptr, sequence({}), {}});
  const std::string text = to_string(shown);
  return text.substr(text.find('\n') + 1, text.rfind('}') - text.find('\n') - 1);
}

}  // namespace

TEST_CASE("regions are tight boxes in the block's iterators") {
  CHECK(regions_of(
            "for i in 4 { block b { spatial v in 4 = i for j in 3 { y[v * 2, j + 1] = x[v + 1, j * 2 + v] } } }") ==
        "  reads x[v + 1, v +: 5]\n  writes y[v * 2, 1 +: 3]\n");
  CHECK(regions_of("for i in 4 { block b { spatial v in 4 = i y[v, 0] = x[v, v] + x[v, v + 3] + x[v, v - 1] } }") ==
        "  reads x[v, v - 1 +: 5]\n  writes y[v, 0]\n");
  CHECK(regions_of("for i in 4 { block b { spatial v in 4 = i y[v, 0] = x[v, 0] + x[0, v] } }") ==
        "  reads x[v, 0], x[0, v]\n  writes y[v, 0]\n");
  CHECK(regions_of("for i in 4 { block b { spatial v in 4 = i y[v, 0] = x[k[v], v] } }") ==
        "  reads x[0 +: 8, v], k[v]\n  writes y[v, 0]\n");
  CHECK(regions_of("for i in 1 { block b { spatial v in 1 = i reduce r in 4 = 0 init { y[v, 2] = 0 } y[v, 2] = y[v, 2] "
                   "+ x[v, r] } }") == "  reads y[v, 2], x[v, r]\n  writes y[v, 2]\n");
  CHECK(regions_of("for i in 2 { block b { spatial v in 2 = i for j in 4 { block c { spatial w in 8 = v * 4 + j y[w, "
                   "0] = x[w, 1] } } } }") == "  reads x[v * 4 +: 4, 1]\n  writes y[v * 4 +: 4, 0]\n");
  CHECK(regions_of(
            "for i in 2 { block b { spatial v in 2 = i for j in 9 { if j >= 1 { y[v, j - 1] = x[v, j - 1] } } } }") ==
        "  reads x[v, 0 +: 8]\n  writes y[v, 0 +: 8]\n");
}
