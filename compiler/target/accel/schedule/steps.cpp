#include "compiler/target/accel/schedule/steps.h"

#include <algorithm>
#include <utility>

#include "compiler/target/accel/programs/intrinsics.h"

namespace dovetail::accel {

Steps::Steps(schedule::Context& context, const WrittenSteps& decided)
    : OperationShape(context, decided.sizes), c(context), tile(decided.tile), decided_(decided) {}

std::string Steps::decided(const std::string& name) const {
  const auto found = decided_.others.find(name);
  return found == decided_.others.end() ? "" : found->second;
}

void Steps::take_slots(std::vector<std::string> inputs, std::vector<std::string> weights) {
  slotted_inputs = std::move(inputs);
  slotted_weights = std::move(weights);
}

void Steps::tile_output(const std::vector<std::string>& axes) {
  const auto split_tile = [&](const std::string& axis, std::int64_t factor) {
    c.split("out." + axis, factor, "out." + axis + "_t", "out." + axis + "_i");
  };
  split_tile("n", tile.n * layout.batch);
  if (groups > 1 && tile.o < group_blocks()) c.split("out.o", group_blocks() * layout.block, "out.g_t", "out.o");
  split_tile("o", (has_rows(c.task.program) ? whole.o : tile.o) * layout.block);
  split_tile("y", tile.y);
  split_tile("x", tile.x);
  std::vector<std::string> tiles;
  for (const std::string& axis : axes) tiles.push_back("out." + axis + "_t");
  innermost_tile_ = tiles.back();
  std::vector<std::string> order{"out.g_t"};
  order.insert(order.end(), tiles.begin(), tiles.end());
  order.insert(order.end(), {"out.n_i", "out.o_i", "out.y_i", "out.x_i"});
  c.reorder(c.present(order));
}

void Steps::tile_output() {
  if (c.task.intent.order == schedule::TileOrder::pixels_first) tile_output({"n", "y", "x", "o"});
  else tile_output({"o", "n", "y", "x"});
}

void Steps::place_stages() {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (*block == "out" || is_copy(*block)) continue;
    c.s.set_scope(*block, is_table(*block) ? kTabScope : is_parameters(*block) ? kWgtScope : kAccScope);
    if (!is_table(*block) && !is_parameters(*block) && !is_constants(*block)) c.s.compute_at(*block, innermost_tile_);
  }
  if (decided_.constants_stay) return;
  for (const std::string& block : blocks)
    if (is_constants(block)) c.s.compute_at(block, "out.o_t");
}

void Steps::split_channels(const std::string& loop, std::int64_t block, std::int64_t element) {
  std::string rest = loop;
  if (element != block && c.extent(loop) > element) {
    c.split(rest, block, loop + "_g", loop + "_s");
    rest = loop + "_s";
  }
  c.split(rest, element, loop + "_b", loop + "_e");
}

std::string Steps::elements_of(const std::string& block) const {
  TensorLayout own = layout;
  own.block = std::min(layout.block, std::max(c.written_by(block)->shape[1], sizes.block_out));
  return own.index_map(sizes.block_out);
}

void Steps::split_batch(const std::string& loop) {
  if (sizes.batch > 1) c.split(loop, sizes.batch, loop + "_b", loop + "_e");
}

void Steps::lay_out_product(const std::string& image, std::size_t dimensions) {
  const bool pads_in_load = image == "pad";
  split_channels(pads_in_load ? "pad.c" : image + ".1", layout.block, sizes.block_in);
  split_batch(pads_in_load ? "pad.n" : image + ".0");
  c.split("W.wgt.0", sizes.block_out, "W.wgt.0_b", "W.wgt.0_e");
  c.split("W.wgt.1", sizes.block_in, "W.wgt.1_b", "W.wgt.1_e");
  const std::string weights = weight_index_map(sizes, dimensions);
  c.lay_out("X", layout.index_map(sizes.block_in));
  c.s.transform_layout(image, layout.index_map(sizes.block_in));
  c.lay_out("W", weights);
  c.s.transform_layout("W.wgt", weights);
}

void Steps::block_elements(const std::string& block, const std::string& n, const std::string& o) {
  split_batch(n);
  split_channels(o, layout.block, sizes.block_out);
  // All other loops stay outside, in their order.
  c.move_inside(block, {n + "_e", o + "_e"});
}

void Steps::widen(const WidenedOperand& widened) {
  const std::string block = widened.prefix + "widen", parameter = widened.parameter, operand = widened.copy();
  if (!widened.by_gemm) return c.lay_out(parameter, layout.index_map(sizes.block_out));
  split_widening(block);
  c.s.cache_read(block, parameter, kInpScope, operand);
  if (layout.block == sizes.block_in) c.s.compute_at(operand, block + ".c_t");
  else if (!innermost_tile_.empty()) c.s.compute_at(operand, innermost_tile_);
  lay_out_in_inp(parameter, operand, operand + ".1", operand + ".0");
  tensorize_widening(block);
}

void Steps::split_widening(const std::string& block) {
  const auto loop = [&](const char* name) { return block + "." + name; };
  c.s.split(loop("c"), sizes.block_in, loop("c_t"), loop("c_e"));
  block_elements(block, loop("n"), loop("o"));
  c.reorder(c.present({loop("c_t"), loop("n"), loop("n_b"), loop("o_g"), loop("o_b"), loop("y"), loop("x"), loop("n_e"),
                       loop("o_e"), loop("c_e")}));
  c.s.decompose_reduction(block, loop("c_t"), block + ".init");
}

void Steps::lay_out_in_inp(const std::string& parameter, const std::string& copy, const std::string& channels,
                           const std::string& images) {
  split_channels(channels, layout.block, sizes.block_in);
  split_batch(images);
  c.lay_out(parameter, layout.index_map(sizes.block_in));
  TensorLayout own = layout;  // of a copy of fewer channels than a block has
  own.block = std::min(layout.block, std::max(c.written_by(copy)->shape[1], sizes.block_in));
  c.s.transform_layout(copy, own.index_map(sizes.block_in));
}

void Steps::tensorize_widening(const std::string& block) {
  const auto loop = [&](const char* name) { return block + "." + name; };
  const std::string init = block + ".init";
  const std::string identity = block + ".identity";
  for (const loops::Region& region : c.reads_of(block)) {
    if (!is_identity(region.buffer->name)) continue;
    const Shape shape = region.buffer->shape;
    c.s.cache_read(block, region.buffer->name, kWgtScope, identity);
    // The copy of a parameter that has its layout, for another operand, has it too.
    if (shape.size() > 2 || shape == Shape{sizes.block_out, sizes.block_in}) continue;
    const std::string elements = weight_index_map(sizes, shape.size());
    c.split(identity + ".0", sizes.block_out, identity + ".0_b", identity + ".0_e");
    c.split(identity + ".1", sizes.block_in, identity + ".1_b", identity + ".1_e");
    c.lay_out(region.buffer->name, elements);
    c.s.transform_layout(identity, elements);
  }
  c.s.transform_layout(block, layout.index_map(sizes.block_out));
  tensorize(init, {init + "." + loop("n_e"), init + "." + loop("o_e")});
  tensorize(block, {loop("n_e"), loop("o_e"), loop("c_e")});
}

void Steps::make_product(const std::string& block) {
  const auto loop = [&](const char* name) { return block + "." + name; };
  c.s.split(loop("c"), c.extent(loop("c")), loop("c_t"), loop("c_i"));
  split_channels(loop("c_i"), layout.block, sizes.block_in);
  block_elements(block, loop("n"), loop("o"));
  c.reorder(c.present({loop("c_t"), loop("n"), loop("n_b"), loop("o_g"), loop("o_b"), loop("y"), loop("x"),
                       loop("c_i_b"), loop("part"), loop("n_e"), loop("o_e"), loop("c_i_e")}));
  c.s.decompose_reduction(block, loop("c_t"), block + ".init");
  c.s.transform_layout(block, elements_of(block));
}

void Steps::tensorize_product(const std::string& block) {
  const auto loop = [&](const char* name) { return block + "." + name; };
  const std::string init = block + ".init";
  tensorize(init, {init + "." + loop("n_e"), init + "." + loop("o_e")});
  tensorize(block, {loop("n_e"), loop("o_e"), loop("c_i_e")});
}

void Steps::finish_stages(const std::string& main) {
  const std::string map = layout.index_map(sizes.block_out);
  for (const std::string& block : blocks) {
    if (block == main || is_copy(block) || is_table(block) || is_product(block)) continue;
    if (is_constants(block)) {
      const std::string parameter = c.reads_of(block).front().buffer->name;
      split_channels(block + ".o", sizes.block_out, sizes.block_out);
      c.lay_out(parameter, parts_index_map(sizes.block_out));
      c.s.transform_layout(block, parts_index_map(sizes.block_out));
      continue;
    }
    if (is_parameters(block)) {
      const std::string elements = weight_index_map(sizes, 2);
      c.split(block + ".o", sizes.block_out, block + ".o_b", block + ".o_e");
      c.split(block + ".byte", sizes.block_in, block + ".byte_b", block + ".byte_e");
      c.lay_out("P", elements);
      c.s.transform_layout(block, elements);
      continue;
    }
    if (block == "out") block_elements(block, "out.n_i", "out.o_i");
    else block_elements(block, block + ".n", block + ".o");
    if (layout.block != sizes.block_out)  // a row's blocks of results
      c.split(block + ".b", layout.block / sizes.block_out, block + ".b_b", block + ".b_e");
    if (c.block(block)->init) c.s.decompose_reduction(block, c.own_loops(block).front(), block + ".init");
    if (block != "out") c.s.transform_layout(block, elements_of(block));
  }
  c.lay_out("Y", map);
}

void Steps::tensorize(const std::string& block, const std::vector<std::string>& element_loops) {
  const std::vector<std::string> there = c.present(element_loops);
  c.tensorize(there.empty() ? block : there.front());
}

void Steps::tensorize_stages(const std::string& main) {
  for (const std::string& block : blocks) {
    if (block == main || is_transfer(block) || is_product(block)) continue;
    if (const std::string init = block + ".init"; c.block(init))
      tensorize(init, {init + "." + block + ".n_e", init + "." + block + ".o_e"});
    tensorize(block, {block + ".n_e", block + ".o_e"});
  }
}

}  // namespace dovetail::accel
