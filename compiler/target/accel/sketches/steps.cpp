#include "compiler/target/accel/sketches/steps.h"

#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/group_stages.h"
#include "compiler/target/accel/intrinsics.h"
#include "compiler/target/accel/memo.h"
#include "isa/spec/range.h"

namespace dovetail::accel {

namespace {

// A memory that answers as soon as many do; what an instruction of load or store costs the queue besides its bytes; and
// what the compute queue loses when the kind of its instructions changes (timing.md).
constexpr double kLatency = 64, kCyclesPerTransfer = 4, kCyclesPerChange = 10;
// From when a place is free to when what is loaded there can be used, besides its bytes.
constexpr double kTurn = kLatency + 20;
// What a tile takes besides: places change, and queues wait for each other.
constexpr double kCyclesPerTile = 40;
// Tiles are compared with up to so many slots.
constexpr std::int64_t kMostSlotsOfTiles = 3;

constexpr std::array kTileNames{"tile_o", "tile_c", "tile_n", "tile_y", "tile_x"};
constexpr std::array kSlotNames{"slots_inp", "slots_wgt", "slots_acc"};

// Facts of a task: of its start, where it does not lie behind others; that what its tile costs is all that is asked;
// and the order of its tiles.
constexpr const char *kStart = "start", *kCostAlone = "cost_alone", *kPixelsFirst = "pixels_first";

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

Tile tile_of(std::span<const std::int64_t> values) { return {values[0], values[1], values[2], values[3], values[4]}; }

bool holds(const Tile& large, const Tile& small) {
  return large.o >= small.o && large.c >= small.c && large.n >= small.n && large.y >= small.y && large.x >= small.x;
}

schedule::Decisions smallest_tile() {
  schedule::Decisions decisions;
  for (const char* name : kTileNames) decisions[name] = "1";
  for (const char* name : kSlotNames) decisions[name] = "1";
  return decisions;
}

Result<std::vector<OnChip>> places_of(const Kind& kind, schedule::Task task, const isa::HardwareConfig& config) {
  task.facts.erase(kCostAlone);
  DOVETAIL_ASSIGN(const schedule::Scheduled smallest, schedule::run(sketch_of(kind, config), task, smallest_tile()));
  return on_chip_places(task, smallest, config);
}

// Extents of the footprint's loops.
class LoopExtents {
 public:
  LoopExtents(const schedule::Footprint& footprint, const TensorLayout& layout)
      : layout_(layout), extents_(footprint.whole()) {
    for (const auto& [at, loop] : {std::pair(&n_, "out.n"), std::pair(&o_, "out.o"), std::pair(&y_, "out.y"),
                                   std::pair(&x_, "out.x"), std::pair(&c_, kChannelsOfSums)})
      *at = footprint.find(loop);
  }
  std::span<const std::int64_t> of(const Tile& tile) {
    const auto set = [&](const std::optional<std::size_t>& at, std::int64_t extent) {
      if (at) extents_[*at] = extent;
    };
    set(n_, tile.n * layout_.batch), set(o_, tile.o * layout_.block), set(c_, tile.c * layout_.block);
    set(y_, tile.y), set(x_, tile.x);
    return extents_;
  }

 private:
  TensorLayout layout_;
  std::vector<std::int64_t> extents_;
  std::optional<std::size_t> n_, o_, y_, x_, c_;
};

// Elements of the memory with the smallest ones that all buffers together would take.
std::int64_t most_needed(const schedule::Footprint& footprint, const loops::Program& program,
                         std::span<const std::int64_t> tile, const isa::HardwareConfig& config) {
  const std::int64_t smallest =
      std::min({config.batch * config.block_in, config.batch * config.block_out, config.block_in * config.block_out});
  std::int64_t elements = 0;
  const auto add = [&](const loops::Buffer& buffer) {
    if (footprint.box(buffer->name)) elements += ceil_div(footprint.elements(buffer->name, tile), smallest);
  };
  for (const loops::Parameter& parameter : program.parameters) add(parameter.buffer);
  for (const loops::Buffer& buffer : program.allocations) add(buffer);
  return elements;
}

// Into INP or WGT, as the program has it.
bool is_copy(const std::string& block) { return block == "pad" || block.ends_with(".copy"); }
bool is_transfer(const std::string& block) {
  return block == "out" || is_copy(block) || is_constants(block) || block.ends_with("load");
}
bool is_product(const std::string& block) {
  return block == "product" || is_convolution(block) || block.ends_with("widen") || block.ends_with(".sums");
}

}  // namespace

Steps::Steps(schedule::Context& context, const isa::HardwareConfig& hardware, TileModels& models)
    : c(context),
      config(hardware),
      layout(make_layout(hardware, 1, 1, 1, 1)),
      blocks(context.blocks()),
      convolutions(convolutions_of(context.task.program)),
      models_(models),
      most_stride_(isa::spec::range_of<isa::Load, &isa::Load::x_stride>(hardware).most),
      constants_stay_(constants_stay(context.task.program, hardware)) {
  for (const std::string& block : blocks)
    if (is_constants(block)) constants_.push_back(c.written_by(block)->shape);
  std::vector<StageKind> kinds;
  for (const std::string& block : blocks)
    if (const StageKind kind = stage_kind(*c.block(block)); kind != StageKind::transfer) kinds.push_back(kind);
  for (std::size_t i = 0; i < kinds.size(); ++i) changes_ += kinds[i] == kinds[(i + 1) % kinds.size()] ? 0 : 1;
}

double Steps::streamed(double bytes, std::int64_t transfers) const {
  return bytes / static_cast<double>(config.bus_bytes) + static_cast<double>(transfers) * kCyclesPerTransfer;
}

double Steps::exposed(double bytes, std::int64_t transfers) const {
  return streamed(bytes, transfers) + static_cast<double>(transfers) * (kLatency + kCyclesPerChange);
}

double Steps::stored(double bytes, std::int64_t transfers) const {
  const double beats = bytes / static_cast<double>(config.bus_bytes);
  return beats + beats / static_cast<double>(config.longest_burst_beats()) +
         static_cast<double>(transfers) * (kLatency + kCyclesPerChange);
}

std::int64_t Steps::transfers_of(const std::string& parameter, const Tile& at) const {
  const Shape& shape = c.buffer(parameter)->shape;
  const std::int64_t row = shape[3], plane = row * shape[2];
  if (at.x == row) return at.n * (plane <= most_stride_ ? 1 : at.o);
  return at.n * at.o * (row <= most_stride_ ? 1 : at.y);
}

double Steps::constants_cycles(const Tile& at) const {
  if (constants_stay_) return 0;
  double cycles = 0;
  for (const Shape& shape : constants_) {
    const std::int64_t channels = std::min(shape[1], at.o * layout.block);
    cycles += exposed(static_cast<double>(shape[0] * channels * shape[2] * size_bytes(DType::int32)), 1);
  }
  return cycles;
}

double Steps::cycles_of_stage(const std::string& block) const {
  if (is_transfer(block) || is_product(block) || block == "pool") return 0;
  std::int64_t operands = 0;
  for (const loops::Region& region : c.reads_of(block)) operands += is_constants(region.buffer->name) ? 0 : 1;
  const int passes = c.block(block)->init ? 2 : 1;  // what a maximum starts with is one as well
  return passes * (operands > 1 ? 2 : 1);
}

double Steps::stage_cycles() const {
  double cycles = 0;
  for (const std::string& block : blocks) cycles += cycles_of_stage(block);
  return cycles;
}

std::vector<std::pair<std::string, double>> Steps::stage_cycles_by_shape() const {
  std::map<Shape, std::pair<std::string, double>> by_shape;
  for (const std::string& block : blocks)
    if (const double cycles = cycles_of_stage(block); cycles > 0)
      by_shape.try_emplace(c.written_by(block)->shape, block, 0).first->second.second += cycles;
  std::vector<std::pair<std::string, double>> all;
  for (const auto& [shape, cycles] : by_shape) all.push_back(cycles);
  return all;
}

// The queues run beside each other as far as there are slots: a load waits until what its slot held is used, a tile for
// its slot of ACC to be stored. What comes first and last overlaps with nothing of the operation.
double Steps::total(const Pace& pace, const Tile& trips, const Slots& slots) const {
  // Of what runs beside something longer, this part is felt: queues are not always full. What slots hold up takes as
  // much longer.
  constexpr double kFelt = 0.15, kHeldUp = 0.3;
  const auto beside = [](double a, double b) { return std::max(a, b) + kFelt * std::min(a, b); };
  const std::int64_t tiles = trips.results(), sums = tiles * trips.c, c = trips.c;
  const double finish = pace.finish + static_cast<double>(changes_) * kCyclesPerChange,
               compute = static_cast<double>(c) * pace.compute + finish;
  double load = pace.added, each = 0;  // for a tile, on average; for a sum
  std::int64_t ring = INT64_MAX;       // slots of what is loaded for each sum
  for (const auto& [loads, places] : {std::pair(pace.inputs, slots.inp), std::pair(pace.weights, slots.wgt)}) {
    load += loads.cycles * static_cast<double>(loads.times) / static_cast<double>(tiles);
    if (loads.times == sums) each += loads.cycles, ring = std::min(ring, places);
  }
  double period = beside(load, compute);  // of a tile
  // It takes no less than this, of which a part is felt, and what comes besides.
  const auto takes = [&](double cycles, double besides) {
    period = std::max(period, (1 + kHeldUp) * cycles + besides);
  };
  if (sums > 1 && each > 0) {
    // From when a slot may be filled to when it may be filled again.
    const double turn = each + kTurn + pace.compute;
    if (ring == 1) takes(static_cast<double>(c) * turn, finish);
    else takes(static_cast<double>(c) * turn / static_cast<double>(ring), 0);
    if (c > ring) {
      // From the last sum of a tile to that of the next one: in turns of the ring, or loading what is not there yet.
      takes(static_cast<double>(1 + (c - 1) % ring) * pace.compute + static_cast<double>((c - 1) / ring) * turn,
            finish);
      takes(pace.compute + static_cast<double>(c - ring - 1) * each + turn, finish);
    }
  }
  if (tiles > 1)
    takes(slots.inp == 1 && pace.added > 0 ? load + compute : pace.added_turn / static_cast<double>(slots.inp), 0);
  period += kCyclesPerTile;
  if (slots.acc == 1) {
    period += pace.store + kTurn;
  } else {
    period = beside(period, pace.store);
    // A store lasts as long as it says; what it waits for is held up.
    period = std::max(period, ((1 + kHeldUp) * compute + pace.store + kTurn) / static_cast<double>(slots.acc));
  }
  double cycles = static_cast<double>(tiles) * period + pace.first_load;
  // What is loaded less often comes behind loads of the tiles before, which wait for their slots.
  for (const auto& [loads, places] : {std::pair(pace.inputs, slots.inp), std::pair(pace.weights, slots.wgt)}) {
    if (loads.times <= 1 || loads.times == sums) continue;
    const double hidden = places == 1 ? 0 : each == 0 ? period : static_cast<double>(ring) * period - each;
    cycles += static_cast<double>(loads.times - 1) * std::max(0.0, loads.cycles + kTurn - hidden);
  }
  // Weights that take their time for loading begin under the layers before, as far as there are places.
  if (load > compute && pace.weights.times > 1)
    cycles -= kFelt * pace.weights.cycles * static_cast<double>(std::min(slots.wgt, pace.weights.times) - 1);
  return cycles + pace.store + 2 * kLatency;
}

Tile Steps::trips_of(const Tile& at) const {
  return {ceil_div(whole.o, at.o), ceil_div(whole.c, at.c), ceil_div(whole.n, at.n), ceil_div(whole.y, at.y),
          ceil_div(whole.x, at.x)};
}

std::int64_t Steps::elements(const std::string& buffer, isa::Memory memory) const {
  if (!footprint_) footprint_.emplace(footprint_of(c.task.program));
  return footprint_->elements(buffer, LoopExtents(*footprint_, layout).of(tile)) / element_size(memory, config);
}

bool Steps::sample_tile(const Kind& kind, const CountPace& pace) {
  whole = {c.extent("out.o") / layout.block,
           convolutions.empty() ? 1 : c.extent(convolutions.front() + ".c") / layout.block,
           c.extent("out.n") / layout.batch, c.extent("out.y"), c.extent("out.x")};
  const auto candidates = [](std::vector<std::int64_t> all) {
    return [all = std::move(all)](std::span<const std::int64_t>) { return all; };
  };
  std::vector<std::int64_t> channel_tiles = divisors(whole.o);
  std::erase_if(channel_tiles,
                [&](std::int64_t part) { return part % group_blocks() != 0 && group_blocks() % part != 0; });
  const std::array<schedule::Choice, 5> choices{{{kTileNames[0], candidates(channel_tiles)},
                                                 {kTileNames[1], candidates(divisors(whole.c))},
                                                 {kTileNames[2], candidates(divisors(whole.n))},
                                                 {kTileNames[3], candidates(even_parts(whole.y))},
                                                 {kTileNames[4], candidates(even_parts(whole.x))}}};
  const auto cost = [&]() -> Result<schedule::Cost> {
    DOVETAIL_ASSIGN(const std::shared_ptr<const TileModel> model, model_of(kind));
    LoopExtents extents(model->footprint(), layout);
    return schedule::Cost([this, &pace, model, extents, too_large = std::optional<Tile>()](
                              std::span<const std::int64_t> values) mutable -> std::optional<double> {
      const Tile at = tile_of(values), trips = trips_of(at);
      if (too_large && holds(at, *too_large)) return std::nullopt;
      const std::span<const std::int64_t> loops = extents.of(at);
      // More slots never make it slower, but take room from the operations before and behind.
      const std::optional<Slots> slots = model->slots_that_fit(loops, kMostSlotsOfTiles);
      if (!slots) return too_large = at, std::nullopt;
      const Pace here = pace(at, trips, [&](const std::string& buffer, isa::Memory memory) {
        return model->elements(buffer, memory, loops);
      });
      return total(here, trips, *slots);
    });
  };
  const std::vector<std::int64_t> decided = c.sample(choices, cost);
  if (!decided.empty()) {
    tile = tile_of(decided);
    sample_slots(kind, pace);
    return c.s.status().ok();
  }
  if (c.s.status().ok()) {
    const auto fits = smallest_tile_fits(kind, c.task.program, config);
    c.s.fail(fits.ok() ? Diagnostics{schedule::refuse("tile", c.task.program.name, "no tile of those decided fits",
                                                      "decide smaller tiles")}
                       : fits.errors());
  }
  return false;
}

Result<std::shared_ptr<const TileModel>> Steps::model_of(const Kind& kind) {
  return models_.of(c.task, config, [&] { return places_of(kind, c.task, config); });
}

void Steps::sample_slots(const Kind& kind, const CountPace& pace) {
  const Tile trips = trips_of(tile);
  const Pace here =
      pace(tile, trips, [&](const std::string& buffer, isa::Memory memory) { return elements(buffer, memory); });
  const auto candidates = [](bool several) {
    return [several](std::span<const std::int64_t>) {
      return several ? std::vector<std::int64_t>{1, 2, 3, 4} : std::vector<std::int64_t>{1};
    };
  };
  const bool tiles = trips.o * trips.n * trips.y * trips.x > 1;
  const std::array<schedule::Choice, 3> choices{
      {{kSlotNames[0], candidates(here.inputs.times > 1 || (here.added > 0 && trips.results() > 1))},
       {kSlotNames[1], candidates(here.weights.times > 1)},
       {kSlotNames[2], candidates(tiles)}}};
  const auto cost = [&]() -> Result<schedule::Cost> {
    DOVETAIL_ASSIGN(const std::shared_ptr<const TileModel> model, model_of(kind));
    LoopExtents extents(model->footprint(), layout);
    return schedule::Cost(
        [this, &here, trips, model, extents](std::span<const std::int64_t> values) mutable -> std::optional<double> {
          const Slots slots{values[0], values[1], values[2]};
          if (!model->fits(extents.of(tile), slots)) return std::nullopt;
          return total(here, trips, slots);
        });
  };
  const std::vector<std::int64_t> decided = c.sample(choices, cost);
  if (!decided.empty()) slots_ = {decided[0], decided[1], decided[2]};
  else if (c.s.status().ok())
    c.s.fail({schedule::refuse("slots", c.task.program.name, "the slots decided do not fit", "decide fewer")});
}

void Steps::recall(const std::function<void()>& write) {
  if (c.task.facts.contains(kCostAlone)) return;
  c.recall(fmt::format("blocks {} {} {} constants stay {} pixels first {}", config.batch, config.block_in,
                       config.block_out, constants_stay_, c.task.facts.contains(kPixelsFirst)),
           kSlotNames, write);
}

void Steps::take_slots(const Kind& kind, const std::vector<std::string>& inputs, const std::string& weights) {
  if (c.task.facts.contains(kCostAlone)) return;
  const auto give = [&](const std::string& buffer, std::int64_t slots) {
    if (slots > 1) c.s.slots(buffer, slots);
  };
  for (const std::string& input : inputs) give(input, slots_.inp);
  if (!weights.empty()) give(weights, slots_.wgt);
  if (slots_.acc == 1) return;
  const auto model = model_of(kind);
  if (model.ok()) give((*model)->stored(), slots_.acc);
  else c.s.fail(model.errors());
}

void Steps::tile_output(const std::vector<std::string>& axes) {
  const auto split_tile = [&](const std::string& axis, std::int64_t factor) {
    c.split("out." + axis, factor, "out." + axis + "_t", "out." + axis + "_i");
  };
  split_tile("n", tile.n * layout.batch);
  if (groups > 1 && tile.o < group_blocks()) c.split("out.o", group_blocks() * layout.block, "out.g_t", "out.o");
  split_tile("o", tile.o * layout.block);
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
  if (c.task.facts.contains(kPixelsFirst)) tile_output({"n", "y", "x", "o"});
  else tile_output({"o", "n", "y", "x"});
}

void Steps::place_stages() {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (*block == "out" || is_copy(*block)) continue;
    c.s.set_scope(*block, kAccScope);
    if (!is_constants(*block)) c.s.compute_at(*block, innermost_tile_);
  }
  if (constants_stay_) return;
  for (const std::string& block : blocks)
    if (is_constants(block)) c.s.compute_at(block, "out.o_t");
}

void Steps::split_channels(const std::string& loop, std::int64_t block, std::int64_t element) {
  std::string rest = loop;
  if (element != block) {
    c.split(rest, block, loop + "_g", loop + "_s");
    rest = loop + "_s";
  }
  c.split(rest, element, loop + "_b", loop + "_e");
}

void Steps::split_batch(const std::string& loop) {
  if (config.batch > 1) c.split(loop, config.batch, loop + "_b", loop + "_e");
}

void Steps::block_elements(const std::string& block, const std::string& n, const std::string& o) {
  split_batch(n);
  split_channels(o, layout.block, config.block_out);
  // Whatever else there is stays outside, in its order.
  c.move_inside(block, {n + "_e", o + "_e"});
}

Steps::Operand Steps::operand(const std::string& prefix, const std::string& parameter) const {
  return {prefix, parameter, c.block(prefix + "widen") != nullptr};
}

void Steps::add_operand(Pace& pace, const Operand& operand, const Tile& at, const Elements& elements) const {
  const std::int64_t count = elements(operand.parameter, isa::Memory::acc), rows = transfers_of(operand.parameter, at);
  const auto bytes = static_cast<double>(count * config.element_bytes(isa::Memory::acc8));
  if (!operand.by_gemm) {
    pace.finish += exposed(bytes, rows);
    return;
  }
  const std::int64_t products = c.extent(operand.prefix + "widen.c") / config.block_in;
  const auto steps = static_cast<double>(config.overwrite ? products * count : (products + 1) * count);
  pace.added += streamed(bytes, rows);
  pace.added_turn += streamed(bytes, rows) + kTurn + steps;
  pace.first_load += streamed(bytes, rows);
  pace.finish += steps;
}

void Steps::widen(const Operand& widened) {
  const std::string block = widened.prefix + "widen", parameter = widened.parameter, operand = widened.copy();
  if (!widened.by_gemm) return c.lay_out(parameter, layout.index_map(config.block_out));
  split_widening(block);
  c.s.cache_read(block, parameter, kInpScope, operand);
  if (layout.block == config.block_in) c.s.compute_at(operand, block + ".c_t");
  else if (!innermost_tile_.empty()) c.s.compute_at(operand, innermost_tile_);
  lay_out_in_inp(parameter, operand, operand + ".1", operand + ".0");
  tensorize_widening(block);
}

void Steps::split_widening(const std::string& block) {
  const auto loop = [&](const char* name) { return block + "." + name; };
  c.s.split(loop("c"), config.block_in, loop("c_t"), loop("c_e"));
  block_elements(block, loop("n"), loop("o"));
  c.reorder(c.present({loop("c_t"), loop("n"), loop("n_b"), loop("o_g"), loop("o_b"), loop("y"), loop("x"), loop("n_e"),
                       loop("o_e"), loop("c_e")}));
  c.s.decompose_reduction(block, loop("c_t"), block + ".init");
}

void Steps::lay_out_in_inp(const std::string& parameter, const std::string& copy, const std::string& channels,
                           const std::string& images) {
  split_channels(channels, layout.block, config.block_in);
  split_batch(images);
  c.lay_out(parameter, layout.index_map(config.block_in));
  c.s.transform_layout(copy, layout.index_map(config.block_in));
}

void Steps::tensorize_widening(const std::string& block) {
  const auto loop = [&](const char* name) { return block + "." + name; };
  const std::string init = block + ".init";
  const std::string identity = block + ".identity";
  for (const loops::Region& region : c.reads_of(block)) {
    if (!is_identity(region.buffer->name)) continue;
    const Shape shape = region.buffer->shape;
    c.s.cache_read(block, region.buffer->name, kWgtScope, identity);
    if (shape == Shape{config.block_out, config.block_in}) continue;
    const std::string elements = weight_index_map(config, shape.size());
    c.split(identity + ".0", config.block_out, identity + ".0_b", identity + ".0_e");
    c.split(identity + ".1", config.block_in, identity + ".1_b", identity + ".1_e");
    c.lay_out(region.buffer->name, elements);
    c.s.transform_layout(identity, elements);
  }
  c.s.transform_layout(block, layout.index_map(config.block_out));
  tensorize(init, {init + "." + loop("n_e"), init + "." + loop("o_e")});
  tensorize(block, {loop("n_e"), loop("o_e"), loop("c_e")});
}

void Steps::finish_stages(const std::string& main) {
  const std::string map = layout.index_map(config.block_out);
  for (const std::string& block : blocks) {
    if (block == main || is_copy(block) || is_product(block)) continue;
    if (is_constants(block)) {
      split_channels(block + ".o", config.block_out, config.block_out);
      c.s.transform_layout(block, parts_index_map(config.block_out));
      continue;
    }
    if (block == "out") block_elements(block, "out.n_i", "out.o_i");
    else block_elements(block, block + ".n", block + ".o");
    if (c.block(block)->init) c.s.decompose_reduction(block, c.own_loops(block).front(), block + ".init");
    if (block != "out") c.s.transform_layout(block, map);
  }
  c.lay_out("Y", map);
  for (const auto& [parameter, block] : {std::pair("K", "constants"), std::pair("KA", "a.constants"),
                                         std::pair("KB", "b.constants"), std::pair("KS", "sum.constants")})
    if (c.block(block)) c.lay_out(parameter, parts_index_map(config.block_out));
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

schedule::Task make_task(const Kind& kind, loops::Program program, const isa::HardwareConfig& config,
                         std::shared_ptr<const loops::IntrinsicTable> intrinsics, Start start) {
  Json facts = isa::config_to_json(config);
  if (start == Start::alone) facts[kStart] = "alone";
  return {"accel", std::string(kind.name), std::move(program), {}, {}, std::move(facts), std::move(intrinsics)};
}

Start start_of(const schedule::Task& task) { return task.facts.contains(kStart) ? Start::alone : Start::behind_others; }

void go_over_pixels_first(schedule::Task& task) { task.facts[kPixelsFirst] = true; }

std::shared_ptr<TileModels> make_tile_models(const std::shared_ptr<Memo>& memo) {
  return std::make_shared<TileModels>(memo);
}

schedule::Sketch sketch_of(const Kind& kind, const isa::HardwareConfig& config, std::shared_ptr<TileModels> models) {
  if (!models) models = make_tile_models();
  return {kind.name, kind.version, [&kind, config, models = std::move(models)](schedule::Context& context) {
            kind.write(context, config, *models);
            return true;
          }};
}

Result<double> expected_cycles(const Kind& kind, const loops::Program& program, const isa::HardwareConfig& config,
                               std::shared_ptr<TileModels> models) {
  const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
  schedule::Task task = make_task(kind, program, config, intrinsics);
  if (!models) models = make_tile_models();
  task.facts[kCostAlone] = true;
  schedule::Context context(task);
  kind.write(context, config, *models);
  DOVETAIL_TRY(context.s.status());
  DOVETAIL_CHECK(context.cost(), "each sketch of the accelerator decides a tile");
  return *context.cost();
}

Result<void> smallest_tile_fits(const Kind& kind, const loops::Program& program, const isa::HardwareConfig& config,
                                std::shared_ptr<TileModels> models) {
  constexpr std::array memories{std::pair("inp_buffer_bytes", isa::Memory::inp),
                                std::pair("wgt_buffer_bytes", isa::Memory::wgt),
                                std::pair("acc_buffer_bytes", isa::Memory::acc)};
  const schedule::Footprint footprint = footprint_of(program);
  LoopExtents extents(footprint, make_layout(config, 1, 1, 1, 1));
  const std::span<const std::int64_t> smallest = extents.of({});
  // Nearly always there is room for all buffers of the program in each memory.
  if (most_needed(footprint, program, smallest, config) <=
      std::min({config.depth(isa::Memory::inp), config.depth(isa::Memory::wgt), config.depth(isa::Memory::acc)}))
    return {};
  const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
  const schedule::Task task = make_task(kind, program, config, intrinsics);
  if (!models) models = make_tile_models();
  DOVETAIL_ASSIGN(const auto model, models->of(task, config, [&] { return places_of(kind, task, config); }));
  const std::string& name = program.name;
  for (const auto& [parameter, memory] : memories)
    if (const std::int64_t needs = model->needs(memory, smallest, {}); needs > config.depth(memory))
      return Diagnostic{
          fmt::format("cannot tile {}", name), name,
          fmt::format("its smallest tile needs {} elements, {} holds {}", needs, parameter, config.depth(memory)),
          fmt::format("raise `{}`, or leave the node to the host with --place {}=cpu", parameter, name)};
  return {};
}

}  // namespace dovetail::accel
