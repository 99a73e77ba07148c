#include "compiler/target/accel/schedules.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/intrinsics.h"
#include "compiler/target/accel/tiles.h"

namespace dovetail::accel {

using schedule::Schedule;

namespace {

// The steps that all operators share, over a Schedule. Loops of extent 1 vanish in compute_at, so each step asks
// whether its loop is there.
class Recipe {
 public:
  Recipe(loops::Program program, const loops::IntrinsicTable& intrinsics, const isa::HardwareConfig& config)
      : s_(std::move(program), intrinsics), intrinsics_(intrinsics), config_(config) {}

  Schedule& steps() { return s_; }
  bool has_loop(const std::string& name) const { return schedule::find_loop(s_.program().body, name).has_value(); }
  bool has_block(const std::string& name) const { return schedule::find_block(s_.program().body, name).has_value(); }
  bool has_buffer(const std::string& name) const { return schedule::find_buffer(s_.program(), name) != nullptr; }

  // Names of the blocks in program order.
  std::vector<std::string> blocks() const {
    std::vector<std::string> names;
    for (const auto& path : schedule::blocks_below(s_.program().body))
      names.push_back(schedule::as_block(path.back())->name);
    return names;
  }

  void split(const std::string& loop, std::int64_t factor, const std::string& outer, const std::string& inner) {
    if (has_loop(loop)) s_.split(loop, factor, outer, inner);
  }
  void reorder(const std::vector<std::string>& loops) {
    std::vector<std::string> present;
    for (const std::string& loop : loops)
      if (has_loop(loop)) present.push_back(loop);
    if (present.size() > 1) s_.reorder(present);
  }

  // Tiles the block "out" into loops out.{o,n,y,x}_t around out.{n,o,y,x}.
  void tile_output(const Tile& tile, const TensorLayout& y) {
    const auto split_tile = [&](const std::string& axis, std::int64_t factor) {
      split("out." + axis, factor, "out." + axis + "_t", "out." + axis + "_i");
    };
    split_tile("n", tile.n * y.batch);
    split_tile("o", tile.o * y.block);
    split_tile("y", tile.y);
    split_tile("x", tile.x);
    reorder({"out.o_t", "out.n_t", "out.y_t", "out.x_t", "out.n_i", "out.o_i", "out.y_i", "out.x_i"});
  }

  // Splits a channel loop into groups of a layout block, elements of `element` channels and the channels of an element.
  void split_channels(const std::string& loop, std::int64_t block, std::int64_t element) {
    std::string rest = loop;
    if (element != block) {
      split(rest, block, loop + "_g", loop + "_s");
      rest = loop + "_s";
    }
    split(rest, element, loop + "_b", loop + "_e");
  }
  void split_batch(const std::string& loop) {
    if (config_.batch > 1) split(loop, config_.batch, loop + "_b", loop + "_e");
  }

  // Blocks the loops of an ALU stage or of "out" so that the innermost ones are one ACC element.
  void block_elements(const std::string& n, const std::string& o, const TensorLayout& y,
                      const std::vector<std::string>& inner = {}) {
    split_batch(n);
    split_channels(o, y.block, config_.block_out);
    std::vector<std::string> order = inner;
    order.insert(order.end(), {n + "_e", o + "_e"});
    // Whatever else is there stays outside, in its order: name only what moves to the innermost places.
    move_inside(order);
  }

  // Replaces the element nest of `block` by the first intrinsic that it unifies with.
  void tensorize(const std::string& block, const std::vector<std::string>& element_loops) {
    std::string at = block;
    for (const std::string& loop : element_loops)
      if (has_loop(loop)) {
        at = loop;
        break;
      }
    Diagnostics last;
    for (const loops::Intrinsic& intrinsic : intrinsics_) {
      auto status = s_.apply({"tensorize", {at, intrinsic.name}, {}});
      if (status.ok()) return;
      last = status.errors();
    }
    DOVETAIL_CHECK(false, fmt::format("no intrinsic takes block {}; last: {}", block, to_string(last)));
  }

  Result<Schedule> done() {
    DOVETAIL_TRY(s_.status());
    return s_;
  }

 private:
  void move_inside(const std::vector<std::string>& innermost) {
    std::vector<std::string> present;
    for (const std::string& loop : innermost)
      if (has_loop(loop)) present.push_back(loop);
    if (present.empty()) return;
    // All loops of the nest in order, those to be moved taken out and put last.
    const auto path = schedule::find_loop(s_.program().body, present.front());
    std::vector<std::string> nest;
    const loops::Block* block = schedule::only_block(path->back());
    const auto to_block = schedule::find_block(s_.program().body, block->name);
    for (std::size_t i = to_block->size() - 1; i-- > 0;) {
      const loops::For* loop = schedule::as_for((*to_block)[i]);
      if (!loop) break;
      nest.insert(nest.begin(), loop->var->name);
    }
    std::vector<std::string> order;
    for (const std::string& loop : nest)
      if (std::find(present.begin(), present.end(), loop) == present.end()) order.push_back(loop);
    order.insert(order.end(), present.begin(), present.end());
    if (order != nest) s_.reorder(order);
  }

  Schedule s_;
  const loops::IntrinsicTable& intrinsics_;
  isa::HardwareConfig config_;
};

bool is_constants(const std::string& block) {
  return block == "constants" || block == "a.constants" || block == "b.constants";
}

// ALU stages, constants and widening loads: on chip, computed per tile; constants once per channel tile.
void place_stages(Recipe& r, const std::vector<std::string>& blocks) {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (*block == "out" || *block == "pad") continue;
    r.steps().set_scope(*block, kAccScope);
    if (!is_constants(*block)) r.steps().compute_at(*block, "out.x_t");
  }
  for (const std::string& block : blocks)
    if (is_constants(block)) r.steps().compute_at(block, "out.o_t");
}

std::string constants_map(const isa::HardwareConfig& config) {
  return fmt::format("i1/{0},i2,i0,i1%{0}", config.block_out);
}

// Layouts and intrinsics of everything but the main reduction.
void finish_stages(Recipe& r, const std::vector<std::string>& blocks, const std::string& main, const TensorLayout& y,
                   const isa::HardwareConfig& config) {
  for (const std::string& block : blocks) {
    if (block == main || block == "pad") continue;
    if (is_constants(block)) {
      r.split_channels(block + ".o", config.block_out, config.block_out);
      r.steps().transform_layout(block, constants_map(config));
      continue;
    }
    if (block == "out") r.block_elements("out.n_i", "out.o_i", y);
    else r.block_elements(block + ".n", block + ".o", y);
    if (block != "out") r.steps().transform_layout(block, y.index_map(config.block_out));
  }
  r.steps().transform_layout("Y", y.index_map(config.block_out));
  for (const auto& [parameter, block] :
       {std::pair("K", "constants"), std::pair("KA", "a.constants"), std::pair("KB", "b.constants")})
    if (r.has_block(block)) r.steps().transform_layout(parameter, constants_map(config));
}

bool is_transfer(const std::string& block) {
  return block == "out" || block == "pad" || is_constants(block) || block == "load" || block == "a.load" ||
         block == "b.load";
}
void tensorize_stages(Recipe& r, const std::vector<std::string>& blocks, const std::string& main) {
  for (const std::string& block : blocks)
    if (block != main && !is_transfer(block)) r.tensorize(block, {block + ".n_e", block + ".o_e"});
}

}  // namespace

Result<Schedule> schedule_conv(const ConvSpec& spec, const isa::HardwareConfig& config,
                               const loops::IntrinsicTable& intrinsics) {
  const TileSpace space{{spec.y.padded_n() / spec.y.batch, spec.y.padded_c() / spec.y.block, spec.y.h, spec.y.w,
                         spec.x.padded_c() / spec.x.block},
                        [&](const Tile& tile) { return conv_needs(spec, config, tile); }};
  DOVETAIL_ASSIGN(const Tile tile, choose_tile(spec.name, space, config));
  Recipe r(conv_program(spec, config), intrinsics, config);
  const std::vector<std::string> blocks = r.blocks();
  Schedule& s = r.steps();

  r.tile_output(tile, spec.y);
  place_stages(r, blocks);

  // The accumulation: channel tiles outermost, then all that GEMM's two loops and micro-ops run over, the block
  // innermost.
  s.split("conv.c", tile.c * spec.x.block, "conv.c_t", "conv.c_i");
  r.split_channels("conv.c_i", spec.x.block, config.block_in);
  r.block_elements("conv.n", "conv.o", spec.y);
  r.reorder({"conv.c_t", "conv.n", "conv.n_b", "conv.o_g", "conv.o_b", "conv.y", "conv.x", "conv.c_i_g", "conv.c_i_b",
             "conv.ky", "conv.kx", "conv.n_e", "conv.o_e", "conv.c_i_e"});
  s.decompose_reduction("conv", "conv.c_t", "conv.init");

  // Operands.
  const std::string image = spec.pads_in_load ? "pad" : "X.inp";
  if (spec.pads_in_load) s.set_scope("pad", kInpScope);
  else s.cache_read("conv", "X", kInpScope, image);
  s.compute_at(image, "conv.c_t");
  const std::string channels = spec.pads_in_load ? "pad.c" : "X.inp.1";
  r.split_channels(channels, spec.x.block, config.block_in);
  r.split_batch(spec.pads_in_load ? "pad.n" : "X.inp.0");
  s.cache_read("conv", "W", kWgtScope, "W.wgt");
  const bool weights_resident = tile.c * spec.x.block == spec.x.padded_c();
  s.compute_at("W.wgt", weights_resident ? "out.o_t" : "conv.c_t");
  r.split("W.wgt.0", config.block_out, "W.wgt.0_b", "W.wgt.0_e");
  r.split("W.wgt.1", config.block_in, "W.wgt.1_b", "W.wgt.1_e");

  const std::string weight_map = fmt::format("i0/{0},i1/{1},i2,i3,i0%{0},i1%{1}", config.block_out, config.block_in);
  s.transform_layout("X", spec.x.index_map(config.block_in));
  s.transform_layout(image, spec.x.index_map(config.block_in));
  s.transform_layout("W", weight_map);
  s.transform_layout("W.wgt", weight_map);
  s.transform_layout("conv", spec.y.index_map(config.block_out));
  finish_stages(r, blocks, "conv", spec.y, config);

  DOVETAIL_TRY(s.status());
  tensorize_stages(r, blocks, "conv");
  r.tensorize("conv.init", {"conv.init.conv.n_e", "conv.init.conv.o_e"});
  r.tensorize("conv", {"conv.n_e", "conv.o_e", "conv.c_i_e"});
  return r.done();
}

Result<Schedule> schedule_add(const AddSpec& spec, const isa::HardwareConfig& config,
                              const loops::IntrinsicTable& intrinsics) {
  const TileSpace space{{spec.y.padded_n() / spec.y.batch, spec.y.padded_c() / spec.y.block, spec.y.h, spec.y.w, 1},
                        [&](const Tile& tile) { return add_needs(spec, config, tile); }};
  DOVETAIL_ASSIGN(const Tile tile, choose_tile(spec.name, space, config));
  Recipe r(add_program(spec, config), intrinsics, config);
  const std::vector<std::string> blocks = r.blocks();
  r.tile_output(tile, spec.y);
  place_stages(r, blocks);
  finish_stages(r, blocks, "", spec.y, config);
  r.steps().transform_layout("A", spec.a.index_map(config.block_out));
  r.steps().transform_layout("B", spec.b.index_map(config.block_out));
  DOVETAIL_TRY(r.steps().status());
  tensorize_stages(r, blocks, "");
  return r.done();
}

Result<Schedule> schedule_max_pool(const MaxPoolSpec& spec, const isa::HardwareConfig& config,
                                   const loops::IntrinsicTable& intrinsics) {
  const TileSpace space{{spec.y.padded_n() / spec.y.batch, spec.y.padded_c() / spec.y.block, spec.y.h, spec.y.w, 1},
                        [&](const Tile& tile) { return max_pool_needs(spec, config, tile); }};
  DOVETAIL_ASSIGN(const Tile tile, choose_tile(spec.name, space, config));
  Recipe r(max_pool_program(spec, config), intrinsics, config);
  const std::vector<std::string> blocks = r.blocks();
  r.tile_output(tile, spec.y);
  place_stages(r, blocks);
  Schedule& s = r.steps();

  r.block_elements("pool.n", "pool.o", spec.y);
  r.reorder(
      {"pool.ky", "pool.kx", "pool.n", "pool.n_b", "pool.o_g", "pool.o_b", "pool.y", "pool.x", "pool.n_e", "pool.o_e"});
  s.decompose_reduction("pool", r.has_loop("pool.ky") ? "pool.ky" : "pool.kx", "pool.init");
  s.transform_layout("pool", spec.y.index_map(config.block_out));
  finish_stages(r, blocks, "pool", spec.y, config);
  s.transform_layout("X", spec.x.index_map(config.block_out));
  DOVETAIL_TRY(s.status());
  r.tensorize("pool.init", {"pool.init.pool.n_e", "pool.init.pool.o_e"});
  r.tensorize("pool", {"pool.n_e", "pool.o_e"});
  return r.done();
}

}  // namespace dovetail::accel
