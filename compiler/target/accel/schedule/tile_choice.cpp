#include "compiler/target/accel/schedule/tile_choice.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/accel/programs/group_stages.h"
#include "compiler/target/accel/schedule/written_steps.h"
#include "isa/spec/range.h"

namespace dovetail::accel {

namespace {

// Tiles are compared with at most this number of slots.
constexpr std::int64_t kMostSlotsOfTiles = 3;

constexpr std::array kTileNames{"tile_o", "tile_c", "tile_n", "tile_y", "tile_x"};
constexpr std::array kSlotNames{"slots_inp", "slots_wgt", "slots_acc"};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::vector<std::int64_t> divisors(std::int64_t extent) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= extent; ++d)
    if (extent % d == 0) all.push_back(d);
  return all;
}
// For each possible number of tiles, the tile extent with the least imbalance.
std::vector<std::int64_t> even_parts(std::int64_t extent) {
  std::set<std::int64_t> all;
  for (std::int64_t parts = 1; parts <= extent; ++parts) all.insert(ceil_div(extent, parts));
  return {all.begin(), all.end()};
}

Tile tile_of(std::span<const std::int64_t> values) { return {values[0], values[1], values[2], values[3], values[4]}; }

bool holds(const Tile& large, const Tile& small) {
  return large.o >= small.o && large.c >= small.c && large.n >= small.n && large.y >= small.y && large.x >= small.x;
}

}  // namespace

TileChoice::TileChoice(schedule::Context& context, const Kind& kind, const Core& hardware, const TileCosts& tile_costs,
                       Memo& memo)
    : OperationShape(context, hardware),
      c(context),
      config(hardware),
      costs(hardware, tile_costs),
      kind_(kind),
      memo_(memo),
      most_stride_(isa::spec::range_of<isa::Load, &isa::Load::x_stride>(hardware).most),
      constants_stay_(constants_stay(context.task.program, hardware)) {
  for (const std::string& block : blocks)
    if (is_constants(block)) constants_.push_back(c.written_by(block)->shape);
  std::vector<StageKind> kinds;
  for (const std::string& block : blocks)
    if (const StageKind kind = stage_kind(*c.block(block)); kind != StageKind::transfer) kinds.push_back(kind);
  for (std::size_t i = 0; i < kinds.size(); ++i) changes_ += kinds[i] == kinds[(i + 1) % kinds.size()] ? 0 : 1;
}

double TileChoice::weights_cycles(std::int64_t transfers, const Elements& elements) const {
  const isa::Memory in_dram = c.task.intent.int4_weights ? isa::Memory::wgt4 : isa::Memory::wgt;
  return costs.streamed(static_cast<double>(elements(kWeights, isa::Memory::wgt) * config.element_bytes(in_dram)),
                        transfers);
}

std::int64_t TileChoice::transfers_of(const std::string& parameter, const Tile& at) const {
  const Shape& shape = c.buffer(parameter)->shape;
  const std::int64_t row = shape[3], plane = row * shape[2];
  if (at.x == row) return at.n * (plane <= most_stride_ ? 1 : at.o);
  return at.n * at.o * (row <= most_stride_ ? 1 : at.y);
}

double TileChoice::constants_cycles(const Tile& at) const {
  if (constants_stay_) return 0;
  double cycles = 0;
  for (const Shape& shape : constants_) {
    const std::int64_t channels = std::min(shape[1], at.o * layout.block);
    cycles += costs.exposed(static_cast<double>(shape[0] * channels * shape[2] * size_bytes(DType::int32)), 1);
  }
  return cycles;
}

double TileChoice::cycles_of_stage(const std::string& block) const {
  if (is_transfer(block) || is_product(block) || block == "pool" || block == "epilogue") return 0;
  std::int64_t operands = 0;
  for (const loops::Region& region : c.reads_of(block))
    operands += is_constants(region.buffer->name) || is_table(region.buffer->name) ? 0 : 1;
  const int passes = c.block(block)->init ? 2 : 1;  // initializing a maximum is a pass too
  return passes * (operands > 1 ? 2 : 1);
}

double TileChoice::stage_cycles() const {
  double cycles = 0;
  for (const std::string& block : blocks) cycles += cycles_of_stage(block);
  return cycles;
}

std::vector<std::pair<std::string, double>> TileChoice::stage_cycles_by_shape() const {
  std::map<Shape, std::pair<std::string, double>> by_shape;
  for (const std::string& block : blocks)
    if (const double cycles = cycles_of_stage(block); cycles > 0)
      by_shape.try_emplace(c.written_by(block)->shape, block, 0).first->second.second += cycles;
  std::vector<std::pair<std::string, double>> all;
  for (const auto& [shape, cycles] : by_shape) all.push_back(cycles);
  return all;
}

void TileChoice::add_operand(Pace& pace, const WidenedOperand& operand, const Tile& at,
                             const Elements& elements) const {
  const std::int64_t count = elements(operand.parameter, isa::Memory::acc), rows = transfers_of(operand.parameter, at);
  const auto bytes = static_cast<double>(count * config.element_bytes(isa::Memory::acc8));
  if (!operand.by_gemm) {
    pace.finish += costs.exposed(bytes, rows);
    return;
  }
  const std::int64_t products = c.extent(operand.prefix + "widen.c") / config.block_in;
  const auto steps = static_cast<double>(config.overwrite ? products * count : (products + 1) * count);
  pace.added += costs.streamed(bytes, rows);
  pace.added_turn += costs.streamed(bytes, rows) + costs.costs().slot_turnaround_cycles() + steps;
  pace.first_load += costs.streamed(bytes, rows);
  pace.finish += steps;
}

std::int64_t TileChoice::elements(const std::string& buffer, isa::Memory memory) const {
  if (!model_ && !footprint_) footprint_.emplace(footprint_of(c.task.program));
  const schedule::Footprint& footprint = model_ ? model_->footprint() : *footprint_;
  return footprint.elements(buffer, LoopExtents(footprint, layout).of(tile)) / element_size(memory, sizes);
}

bool TileChoice::sample_tile(const CountPace& pace) {
  const auto candidates = [](std::vector<std::int64_t> all) {
    return [all = std::move(all)](std::span<const std::int64_t>) { return all; };
  };
  std::vector<std::int64_t> channel_tiles = has_rows(c.task.program) ? std::vector{whole.o} : divisors(whole.o);
  std::erase_if(channel_tiles,
                [&](std::int64_t part) { return part % group_blocks() != 0 && group_blocks() % part != 0; });
  const std::array<schedule::Choice, 5> choices{{{kTileNames[0], candidates(channel_tiles)},
                                                 {kTileNames[1], candidates(divisors(whole.c))},
                                                 {kTileNames[2], candidates(divisors(whole.n))},
                                                 {kTileNames[3], candidates(even_parts(whole.y))},
                                                 {kTileNames[4], candidates(even_parts(whole.x))}}};
  const auto cost = [&]() -> Result<schedule::Cost> {
    DOVETAIL_ASSIGN(const TileModel* const tile_model, model());
    LoopExtents extents(tile_model->footprint(), layout);
    return schedule::Cost([this, &pace, tile_model, extents, too_large = std::optional<Tile>()](
                              std::span<const std::int64_t> values) mutable -> std::optional<double> {
      const Tile at = tile_of(values), count = trips(at);
      if (too_large && holds(at, *too_large)) return std::nullopt;
      const std::span<const std::int64_t> loops = extents.of(at);
      // More slots never make the operation slower, but take room from the operations before and after.
      const std::optional<Slots> slots = tile_model->slots_that_fit(loops, kMostSlotsOfTiles);
      if (!slots) return too_large = at, std::nullopt;
      const Pace here = pace(at, count, [&](const std::string& buffer, isa::Memory memory) {
        return tile_model->elements(buffer, memory, loops);
      });
      return costs.operation(here, count, *slots, changes_);
    });
  };
  const std::vector<std::int64_t> decided = c.sample(choices, cost);
  if (!decided.empty()) {
    tile = tile_of(decided);
    sample_slots(pace);
    return c.s.status().ok();
  }
  if (c.s.status().ok()) {
    const auto fits = smallest_tile_fits(kind_, c.task.program, config);
    c.s.fail(fits.ok() ? Diagnostics{schedule::refuse("tile", c.task.program.name, "no tile with these decisions fits",
                                                      "decide smaller tiles")}
                       : fits.errors());
  }
  return false;
}

const schedule::KeyedTask& TileChoice::keyed() {
  if (!keyed_) keyed_.emplace(task_of_steps(c.task, memo_));
  return *keyed_;
}

Result<const TileModel*> TileChoice::model() {
  if (!model_) {
    DOVETAIL_ASSIGN(const auto places, memo_.ask(TilePlaces(keyed(), config)));
    model_.emplace(c.task.program, *places, config);
  }
  return &*model_;
}

void TileChoice::sample_slots(const CountPace& pace) {
  const Tile count = trips(tile);
  const Pace here =
      pace(tile, count, [&](const std::string& buffer, isa::Memory memory) { return elements(buffer, memory); });
  const auto candidates = [](bool several) {
    return [several](std::span<const std::int64_t>) {
      return several ? std::vector<std::int64_t>{1, 2, 3, 4} : std::vector<std::int64_t>{1};
    };
  };
  const bool tiles = count.results() > 1;
  const std::array<schedule::Choice, 3> choices{
      {{kSlotNames[0], candidates(here.inputs.times > 1 || (here.added > 0 && count.results() > 1))},
       {kSlotNames[1], candidates(here.weights.times > 1)},
       {kSlotNames[2], candidates(tiles)}}};
  const auto cost = [&]() -> Result<schedule::Cost> {
    DOVETAIL_ASSIGN(const TileModel* const tile_model, model());
    LoopExtents extents(tile_model->footprint(), layout);
    return schedule::Cost([this, &here, count, tile_model,
                           extents](std::span<const std::int64_t> values) mutable -> std::optional<double> {
      const Slots slots{values[0], values[1], values[2]};
      if (!tile_model->fits(extents.of(tile), slots)) return std::nullopt;
      return costs.operation(here, count, slots, changes_);
    });
  };
  const std::vector<std::int64_t> decided = c.sample(choices, cost);
  if (!decided.empty()) slots_ = {decided[0], decided[1], decided[2]};
  else if (c.s.status().ok())
    c.s.fail({schedule::refuse("slots", c.task.program.name, "the decided number of slots does not fit",
                               "decide fewer slots")});
}

void TileChoice::take_steps() {
  WrittenSteps asked{keyed(), config, constants_stay_, tile, {}};
  for (const schedule::Decision& decision : c.s.decisions())
    if (std::ranges::find(kTileNames, decision.name) == kTileNames.end() &&
        std::ranges::find(kSlotNames, decision.name) == kSlotNames.end())
      asked.others[decision.name] = decision.value;
  const auto written = memo_.ask(asked);
  if (!written.ok()) return c.s.fail(written.errors());
  c.take((*written)->steps);
  const auto give = [&](const std::string& buffer, std::int64_t slots) {
    if (slots > 1) c.s.slots(buffer, slots);
  };
  for (const std::string& input : (*written)->inputs) give(input, slots_.inp);
  for (const std::string& weights : (*written)->weights) give(weights, slots_.wgt);
  if (slots_.acc == 1) return;
  const auto tile_model = model();
  if (tile_model.ok()) give((*tile_model)->stored(), slots_.acc);
  else c.s.fail(tile_model.errors());
}

}  // namespace dovetail::accel
