// How accelerators divide layers, from the ranges and launches of a program.
#include "bundle/code/divided_layers.h"

#include "tests/catch.h"

namespace dovetail::bundle {

namespace {

// A program of `launches` with one instruction each, all on one layer.
AccelCode program_of(const std::vector<isa::Launch>& launches, const std::vector<InstructionRange>& ranges) {
  AccelCode code;
  code.program.resize(launches.size());
  code.launches = launches;
  code.ranges = ranges;
  return code;
}

}  // namespace

TEST_CASE("divided layers: one accelerator divides nothing") {
  CHECK(divided_layers("r", program_of({{0, 1}, {1, 1}}, {{0, 2, "conv", {}}})).empty());
}

TEST_CASE("divided layers: the pieces of each accelerator, and a layer that one computes alone") {
  const auto layers = divided_layers("r", program_of({{0, 1, 0, false}, {1, 1, 1, true}, {2, 1, 1, false}},
                                                     {{0, 1, "conv", {}, {}, RangePart{"rows", 0, 5, 8}},
                                                      {1, 2, "conv", {}, {}, RangePart{"rows", 5, 8, 8}},
                                                      {2, 3, "dense", {}}}));
  REQUIRE(layers.size() == 2);
  CHECK(layers[0].name == "conv");
  CHECK(layers[0].by == "rows");
  CHECK(layers[0].pieces == 8);
  CHECK(layers[0].parts == std::vector<DividedLayer::Part>{{0, 0, 5}, {1, 5, 8}});
  CHECK(layers[0].pieces_of(0) == 5);
  CHECK(layers[0].pieces_of(1) == 3);
  CHECK(layers[1].by.empty());
  CHECK(layers[1].parts == std::vector<DividedLayer::Part>{{1, 0, 1}});
}

TEST_CASE("divided layers: a stage has the images of all groups, phases have pieces that are not neighbors") {
  const auto layers =
      divided_layers("r", program_of({{0, 1, 0, false}, {1, 1, 1, false}, {2, 1, 1, false}, {3, 1, 0, false}},
                                     {{0, 1, "softmax", {}, {}, RangePart{"programs", 0, 1, 4}},
                                      {1, 2, "conv", {}, {}, RangePart{"images", 0, 1, 2}},
                                      {2, 3, "conv", {}, {}, RangePart{"images", 1, 2, 2}},
                                      {3, 4, "softmax", {}, {}, RangePart{"programs", 2, 3, 4}}}));
  REQUIRE(layers.size() == 2);
  CHECK(layers[0].parts == std::vector<DividedLayer::Part>{{0, 0, 1}, {0, 2, 3}});
  CHECK(layers[0].pieces_of(0) == 2);
  CHECK(layers[1].parts == std::vector<DividedLayer::Part>{{1, 0, 2}});
}

}  // namespace dovetail::bundle
