// Two layers side by side in small streams. The tests of models with such layers show that interleaving changes no
// value.
#include "compiler/target/accel/stream/interleave.h"

#include <algorithm>
#include <vector>

#include "tests/catch.h"
#include "tests/unit/compiler/target/accel/stream/row_transfer.h"

namespace dovetail::accel {

namespace {

const isa::HardwareConfig kHardware;

// A tile: a load, a product with the given number of steps, and a store of one element. Addresses on chip, then
// elements of DRAM.
struct Tile {
  std::uint32_t inp, acc;
  std::uint64_t x, y;
  std::uint32_t loads, steps;
};
constexpr std::size_t kOfTile = 3;  // instructions of a tile

void add_tile(Stream& stream, const Tile& tile) {
  stream.instructions.push_back({{{}, isa::Load{row_of(isa::Memory::inp, tile.inp, tile.x, tile.loads)}}});
  isa::Gemm gemm;
  gemm.iter_out = tile.steps;
  gemm.iter_in = 1;
  stream.instructions.push_back({{{}, gemm}, stream.kernel({{.dst = tile.acc, .src = tile.inp, .wgt = 0}})});
  stream.instructions.push_back({{{}, isa::Store{row_of(isa::Memory::out, tile.acc, tile.y, 1)}}});
}

constexpr std::size_t kFirstTiles = 16, kSecondTiles = 6;  // tiles
constexpr std::size_t kBorder = kFirstTiles * kOfTile;
constexpr std::uint64_t kStoredFrom = 5000, kApart = 2000;  // where the first layer's tiles store, in DRAM

// A layer that computes, then one that loads: its tile t begins with the data that the first layer's tile t has stored.
Tile first_tile(std::uint64_t t) {
  const auto slot = static_cast<std::uint32_t>(t % 2);
  return {slot, slot, t, kStoredFrom + kApart * t, 1, 1000};
}
Tile second_tile(std::uint64_t t) { return {500, 2, kStoredFrom + kApart * t, 100000 + t, 600, 500}; }

template <typename Change>
Stream layer_pair(const Change& change) {
  Stream stream;
  for (std::uint64_t t = 0; t < kFirstTiles; ++t) add_tile(stream, first_tile(t));
  for (std::uint64_t t = 0; t < kSecondTiles; ++t) {
    Tile tile = second_tile(t);
    change(tile);
    add_tile(stream, tile);
  }
  return stream;
}
Stream layer_pair() {
  return layer_pair([](Tile&) {});
}

// For each tile of the second layer the number of tiles of the first before it.
std::vector<std::size_t> before_each(const std::vector<std::size_t>& order) {
  std::vector<std::size_t> before;
  std::size_t first = 0;
  for (const std::size_t i : order) {
    if (i % kOfTile != 0) continue;
    if (i < kBorder) ++first;
    else before.push_back(first);
  }
  return before;
}
const std::vector<std::size_t> kBehind(kSecondTiles, kFirstTiles);

}  // namespace

TEST_CASE("interleave: a layer that loads is placed between tiles of one that computes") {
  const Stream stream = layer_pair();
  const Interleaved made = interleave(stream, kBorder, kHardware);
  CHECK(made.cycles + 4000 < estimated_cycles(stream, kHardware));
  const std::vector<std::size_t> before = before_each(made.order);
  REQUIRE(before.size() == kSecondTiles);
  for (std::size_t t = 0; t < kSecondTiles; ++t) CHECK(before[t] > t);
  CHECK(before.front() < kFirstTiles);
  // Each layer keeps its order.
  for (const bool second : {false, true}) {
    std::vector<std::size_t> of_layer;
    std::ranges::copy_if(made.order, std::back_inserter(of_layer),
                         [&](std::size_t i) { return (i >= kBorder) == second; });
    CHECK(std::ranges::is_sorted(of_layer));
    CHECK(of_layer.size() == (second ? kSecondTiles : kFirstTiles) * kOfTile);
  }
}

TEST_CASE("interleave: no tile passes the tile whose results it loads") {
  constexpr std::uint64_t kRead = 9;
  const Stream stream = layer_pair([](Tile& tile) { tile.x = kStoredFrom + kApart * kRead; });
  for (const std::size_t before : before_each(interleave(stream, kBorder, kHardware).order)) CHECK(before > kRead);
}

TEST_CASE("interleave: nothing is stored where the other layer still loads or stores") {
  constexpr std::uint64_t kLoaded = 11;
  const Stream onto_loads = layer_pair([](Tile& tile) { tile.y = kLoaded; });
  for (const std::size_t before : before_each(interleave(onto_loads, kBorder, kHardware).order))
    CHECK(before > kLoaded);
  const Stream onto_stores = layer_pair([](Tile& tile) { tile.y = kStoredFrom + kApart * (kFirstTiles - 1); });
  CHECK(before_each(interleave(onto_stores, kBorder, kHardware).order) == kBehind);
}

TEST_CASE("interleave: no tile is loaded before its place is free") {
  const Stream in_inp = layer_pair([](Tile& tile) { tile.inp = 1; });
  CHECK(before_each(interleave(in_inp, kBorder, kHardware).order) == kBehind);
  const Stream in_acc = layer_pair([](Tile& tile) { tile.acc = 1; });
  CHECK(before_each(interleave(in_acc, kBorder, kHardware).order) == kBehind);
}

TEST_CASE("interleave: the least cycles of layers, separately and together") {
  Stream computes, loads;
  for (std::uint64_t t = 0; t < kFirstTiles; ++t) add_tile(computes, first_tile(t));
  for (std::uint64_t t = 0; t < kSecondTiles; ++t) add_tile(loads, second_tile(t));
  const LeastCycles both = least_cycles(computes, loads, kHardware);
  CHECK(both.apart == kFirstTiles * 1000 + kSecondTiles * (2 * 600 + 4));  // an element of INP takes two cycles
  CHECK(both.together == kFirstTiles * 1000 + kSecondTiles * 500);
  const LeastCycles one_kind = least_cycles(computes, computes, kHardware);
  CHECK(one_kind.apart == one_kind.together);
}

}  // namespace dovetail::accel
