// The elements that a tile accesses, compared with boxes worked out by hand.
#include "compiler/schedule/footprint.h"

#include "loops/parse.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::schedule;

namespace {

// Rows of a convolution by 3 with stride 2, after a copy; two words of k for each channel; c in blocks of 4.
constexpr const char* kConvolution = R"(program conv {
  input x: int32[8, 21]
  constant w: int32[6, 8, 3]
  constant k: int32[6, 2]
  constant t: int32[4]
  output y: int32[6, 10]
  alloc pad: int32[8, 21]
  alloc sum: int32[6, 10]
  for pad.c in 8 { for pad.x in 21 {
    block pad { spatial vc in 8 = pad.c spatial vx in 21 = pad.x reads x[vc, vx] writes pad[vc, vx] pad[vc, vx] = x[vc, vx] }
  } }
  for sum.o in 6 { for sum.x in 10 { for sum.c in 8 { for sum.k in 3 {
    block sum {
      spatial vo in 6 = sum.o spatial vx in 10 = sum.x reduce vc in 8 = sum.c reduce vk in 3 = sum.k
      reads pad[vc, vx * 2 + vk], w[vo, vc, vk], sum[vo, vx] writes sum[vo, vx]
      init { sum[vo, vx] = 0 }
      sum[vo, vx] = sum[vo, vx] + pad[vc, vx * 2 + vk] * w[vo, vc, vk]
    }
  } } } }
  for o in 6 { for x in 10 {
    block out {
      spatial vo in 6 = o spatial vx in 10 = x
      reads sum[vo, vx], k[vo, 0], k[vo, 1], t[vo % 4] writes y[vo, vx]
      y[vo, vx] = sum[vo, vx] * k[vo, 0] + k[vo, 1] + t[vo % 4]
    }
  } }
})";

}  // namespace

TEST_CASE("footprint: boxes of a tile") {
  const auto program = loops::parse_program(kConvolution, "test");
  INFO((program.ok() ? "" : to_string(program.errors())));
  REQUIRE(program.ok());
  const Footprint footprint(*program);
  std::map<std::string, std::int64_t> extents;
  for (std::size_t i = 0; i < footprint.loops().size(); ++i) extents[footprint.loops()[i]] = footprint.whole()[i];
  CHECK(extents == std::map<std::string, std::int64_t>{{"o", 6}, {"x", 10}, {"sum.c", 8}, {"sum.k", 3}});
  CHECK_FALSE(footprint.find("sum.o"));

  std::vector<std::int64_t> tile = footprint.whole();
  const auto cut = [&](const std::string& loop, std::int64_t extent) { tile[*footprint.find(loop)] = extent; };
  CHECK(footprint.elements("x", tile) == 8 * 21);
  CHECK(footprint.elements("w", tile) == 6 * 8 * 3);
  cut("o", 2), cut("x", 4), cut("sum.c", 5);
  CHECK(footprint.elements("sum", tile) == 2 * 4);
  CHECK(footprint.elements("w", tile) == 2 * 5 * 3);
  CHECK(footprint.elements("pad", tile) == 5 * (3 * 2 + 3));  // three strides of 2, and the window
  CHECK(footprint.elements("x", tile) == 5 * (3 * 2 + 3));    // through the copy
  CHECK(footprint.elements("k", tile) == 2 * 2);              // both words, although each load reads one
  CHECK(footprint.elements("t", tile) == 4);                  // not affine: the whole buffer
  cut("sum.k", 1);
  CHECK(footprint.elements("x", tile) == 5 * (3 * 2 + 1));
  CHECK(footprint.box("y") == nullptr);
}

// Groups of three outputs, each of two channels; for the sum of a quotient and its dividend the whole buffer counts.
constexpr const char* kGroups = R"(program groups {
  input x: int32[8]
  input z: int32[24]
  output y: int32[12]
  alloc sum: int32[12]
  for sum.o in 12 { for sum.c in 2 {
    block sum {
      spatial vo in 12 = sum.o reduce vc in 2 = sum.c
      reads x[vo // 3 * 2 + vc], z[vo + vo // 3], sum[vo] writes sum[vo]
      init { sum[vo] = 0 }
      sum[vo] = sum[vo] + x[vo // 3 * 2 + vc] * z[vo + vo // 3]
    }
  } }
  for o in 12 {
    block out { spatial vo in 12 = o reads sum[vo] writes y[vo] y[vo] = sum[vo] }
  }
})";

TEST_CASE("footprint: a quotient counts the groups that an aligned tile accesses") {
  const auto program = loops::parse_program(kGroups, "test");
  INFO((program.ok() ? "" : to_string(program.errors())));
  REQUIRE(program.ok());
  const Footprint footprint(*program);
  std::vector<std::int64_t> tile = footprint.whole();
  const auto channels = [&](std::int64_t outputs, std::int64_t terms) {
    tile[*footprint.find("o")] = outputs, tile[*footprint.find("sum.c")] = terms;
    return footprint.elements("x", tile);
  };
  CHECK(channels(12, 2) == 8);
  CHECK(channels(6, 2) == 4);
  CHECK(channels(6, 1) == 3);  // the channels between are loaded too
  CHECK(channels(3, 2) == 2);
  CHECK(channels(1, 2) == 2);
  CHECK(footprint.elements("z", tile) == 24);
}
// Three sums over x, each with its own loop, and one loop that all share.
TEST_CASE("footprint: loops of only one reader count as a whole for the other readers") {
  const auto program = loops::parse_program(R"(program three {
  input x: int32[6, 8]
  output y: int32[6]
  alloc a: int32[6]
  alloc b: int32[6]
  alloc d: int32[6]
  for a.o in 6 { for a.c in 8 {
    block a {
      spatial vo in 6 = a.o reduce vc in 8 = a.c
      reads x[vo, vc], a[vo] writes a[vo]
      init { a[vo] = 0 }
      a[vo] = a[vo] + x[vo, vc]
    }
  } }
  for b.o in 6 { for b.c in 8 {
    block b {
      spatial vo in 6 = b.o reduce vc in 8 = b.c
      reads x[vo, vc], b[vo] writes b[vo]
      init { b[vo] = 0 }
      b[vo] = b[vo] + x[vo, vc] * x[vo, vc]
    }
  } }
  for d.o in 6 { for d.c in 8 {
    block d {
      spatial vo in 6 = d.o reduce vc in 8 = d.c
      reads x[vo, vc], d[vo] writes d[vo]
      init { d[vo] = 0 }
      d[vo] = d[vo] + x[vo, vc] + 1
    }
  } }
  for o in 6 {
    block out { spatial vo in 6 = o reads a[vo], b[vo], d[vo] writes y[vo] y[vo] = a[vo] + b[vo] + d[vo] }
  }
})",
                                            "test");
  INFO((program.ok() ? "" : to_string(program.errors())));
  REQUIRE(program.ok());
  const Footprint footprint(*program);
  std::vector<std::int64_t> tile = footprint.whole();
  CHECK(footprint.elements("x", tile) == 6 * 8);
  tile[*footprint.find("o")] = 2, tile[*footprint.find("a.c")] = 4;
  CHECK(footprint.elements("x", tile) == 2 * 8);

  // With merged loops all sums read the same elements of a tile.
  const Footprint merged(*program, {"channels", {"a.c", "b.c", "d.c"}});
  CHECK(merged.loops() == std::vector<std::string>{"channels", "o"});
  CHECK(merged.find("b.c") == merged.find("channels"));
  tile = merged.whole();
  CHECK(merged.elements("x", tile) == 6 * 8);
  tile[*merged.find("o")] = 2, tile[*merged.find("channels")] = 4;
  CHECK(merged.elements("x", tile) == 2 * 4);
}
