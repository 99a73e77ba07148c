#include "compiler/target/accel/tiles.h"

#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace dovetail::accel {

namespace {

// A transfer costs its start-up besides its bytes: about one memory latency's worth of an 8-byte bus.
constexpr std::int64_t kBytesPerTransfer = 256;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::vector<std::int64_t> divisors(std::int64_t extent) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= extent; ++d)
    if (extent % d == 0) all.push_back(d);
  return all;
}
// Tile extents that give each possible number of tiles with the least imbalance.
std::vector<std::int64_t> even_parts(std::int64_t extent) {
  std::set<std::int64_t> all;
  for (std::int64_t parts = 1; parts <= extent; ++parts) all.insert(ceil_div(extent, parts));
  return {all.begin(), all.end()};
}

// Extent of the input window that `count` outputs read.
std::int64_t window(std::int64_t count, std::int64_t stride, std::int64_t kernel, std::int64_t dilation) {
  return (count - 1) * stride + (kernel - 1) * dilation + 1;
}

struct Trips {
  std::int64_t n, o, y, x, c;
  std::int64_t outer() const { return n * o * y * x; }
};
Trips trips(const Tile& whole, const Tile& tile) {
  return {ceil_div(whole.n, tile.n), ceil_div(whole.o, tile.o), ceil_div(whole.y, tile.y), ceil_div(whole.x, tile.x),
          ceil_div(whole.c, tile.c)};
}

Tile whole_tile(const TensorLayout& y, std::int64_t channel_blocks) {
  return {y.padded_n() / y.batch, y.padded_c() / y.block, y.h, y.w, channel_blocks};
}

}  // namespace

TileNeeds conv_needs(const ConvSpec& spec, const isa::HardwareConfig& config, const Tile& tile) {
  const std::int64_t sub_in = spec.x.block / config.block_in, sub_out = spec.y.block / config.block_out;
  const Tile whole = whole_tile(spec.y, spec.x.padded_c() / spec.x.block);
  const Trips t = trips(whole, tile);
  const std::int64_t rows = window(tile.y, spec.stride_h, spec.kernel_h, spec.dilation_h);
  const std::int64_t columns = window(tile.x, spec.stride_w, spec.kernel_w, spec.dilation_w);
  const std::int64_t outputs = tile.n * tile.o * sub_out * tile.y * tile.x;
  TileNeeds needs;
  needs.inp = tile.n * tile.c * sub_in * rows * columns;
  needs.wgt = tile.o * sub_out * tile.c * sub_in * spec.kernel_h * spec.kernel_w;
  needs.acc = outputs * spec.epilogue.accumulators() + tile.o * sub_out * spec.epilogue.words();
  const std::int64_t weight_loads =
      t.c == 1 ? t.o : t.outer() * t.c;  // resident for all pixels of an output tile where they fit whole
  needs.bytes = t.outer() * t.c * needs.inp * config.element_bytes(isa::Memory::inp) +
                weight_loads * needs.wgt * config.element_bytes(isa::Memory::wgt);
  needs.transfers = t.outer() * t.c * tile.n * tile.c + weight_loads * (t.c == 1 ? 1 : tile.o * sub_out) +
                    t.outer() * tile.n * tile.o + t.o;
  return needs;
}

TileNeeds add_needs(const AddSpec& spec, const isa::HardwareConfig& config, const Tile& tile) {
  const std::int64_t sub_out = spec.y.block / config.block_out;
  const std::int64_t outputs = tile.n * tile.o * sub_out * tile.y * tile.x;
  const Trips t = trips(whole_tile(spec.y, 1), tile);
  TileNeeds needs;
  constexpr std::int64_t kOperandWords = 4;  // at most, of each operand
  needs.acc = outputs * spec.accumulators() + 2 * kOperandWords + spec.epilogue.words();
  needs.bytes = 0;  // every byte moves once, whatever the tile
  needs.transfers = t.outer() * tile.n * tile.o * 3;
  return needs;
}

TileNeeds max_pool_needs(const MaxPoolSpec& spec, const isa::HardwareConfig& config, const Tile& tile) {
  const std::int64_t sub_out = spec.y.block / config.block_out;
  const std::int64_t blocks = tile.n * tile.o * sub_out;
  const Trips t = trips(whole_tile(spec.y, 1), tile);
  const std::int64_t inputs = blocks * window(tile.y, spec.stride_h, spec.kernel_h, spec.dilation_h) *
                              window(tile.x, spec.stride_w, spec.kernel_w, spec.dilation_w);
  TileNeeds needs;
  needs.acc = blocks * tile.y * tile.x + inputs;
  needs.bytes = t.outer() * inputs * config.element_bytes(isa::Memory::acc8);
  needs.transfers = t.outer() * tile.n * tile.o * 2;
  return needs;
}

Result<Tile> choose_tile(const std::string& name, const TileSpace& space, const isa::HardwareConfig& config) {
  const std::int64_t inp = config.depth(isa::Memory::inp), wgt = config.depth(isa::Memory::wgt),
                     acc = config.depth(isa::Memory::acc);
  std::optional<Tile> best;
  std::int64_t best_cost = std::numeric_limits<std::int64_t>::max();
  const Tile& whole = space.whole;
  for (const std::int64_t o : divisors(whole.o))
    for (const std::int64_t c : divisors(whole.c))
      for (const std::int64_t n : divisors(whole.n))
        for (const std::int64_t y : even_parts(whole.y))
          for (const std::int64_t x : even_parts(whole.x)) {
            const Tile tile{n, o, y, x, c};
            const TileNeeds needs = space.needs(tile);
            if (needs.inp > inp || needs.wgt > wgt || needs.acc > acc) continue;
            const std::int64_t cost = needs.bytes + needs.transfers * kBytesPerTransfer;
            if (cost < best_cost) best = tile, best_cost = cost;
          }
  if (best) return *best;
  return smallest_tile_fits(name, space.needs({}), config).errors();
}

Result<void> smallest_tile_fits(const std::string& name, const TileNeeds& least, const isa::HardwareConfig& config) {
  const std::tuple<const char*, std::int64_t, std::int64_t> rows[] = {
      {"inp_buffer_bytes", least.inp, config.depth(isa::Memory::inp)},
      {"wgt_buffer_bytes", least.wgt, config.depth(isa::Memory::wgt)},
      {"acc_buffer_bytes", least.acc, config.depth(isa::Memory::acc)}};
  for (const auto& [parameter, wanted, there] : rows)
    if (wanted > there)
      return Diagnostic{fmt::format("cannot tile {}", name), name,
                        fmt::format("its smallest tile needs {} elements, {} holds {}", wanted, parameter, there),
                        fmt::format("raise `{}`, or leave the node to the host with --place {}=cpu", parameter, name)};
  return {};
}

}  // namespace dovetail::accel
