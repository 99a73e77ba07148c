#include "compiler/target/accel/schedule/sketches.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "compiler/schedule/context.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/schedule/tile_choice.h"
#include "compiler/target/accel/schedule/tile_model.h"
#include "compiler/target/accel/schedule/written_steps.h"
#include "isa/spec/config.h"

namespace dovetail::accel {

namespace {

// The elements of all buffers together, in the memory with the smallest elements: an upper bound.
std::int64_t most_needed(const schedule::Footprint& footprint, const loops::Program& program,
                         std::span<const std::int64_t> tile, const Core& config) {
  const std::int64_t smallest =
      std::min({config.batch * config.block_in, config.batch * config.block_out, config.block_in * config.block_out});
  std::int64_t elements = 0;
  const auto add = [&](const loops::Buffer& buffer) {
    if (footprint.box(buffer->name)) elements += (footprint.elements(buffer->name, tile) + smallest - 1) / smallest;
  };
  for (const loops::Parameter& parameter : program.parameters) add(parameter.buffer);
  for (const loops::Buffer& buffer : program.allocations) add(buffer);
  return elements;
}

// The hardware as the key of a task has it. Extensions that are newer than the first tuning records are absent while
// they are off, so that these records keep their keys.
Json hardware_of_key(const Core& config) {
  using isa::HardwareConfig;
  constexpr std::array kAlways{&HardwareConfig::requant, &HardwareConfig::saturate, &HardwareConfig::overwrite};
  Json json = isa::config_to_json(config);
  for (const isa::spec::Extension& row : isa::spec::kExtensions)
    if (!(config.*row.member) && std::ranges::find(kAlways, row.member) == kAlways.end())
      json.erase(std::string(row.key));
  if (!config.has_own_blocks()) json["dram_block"] = config.dram_block;
  return json;
}

}  // namespace

const Kind& kind_named(std::string_view name) {
  static constexpr std::array kKinds{&kConvolution, &kWindow, &kAddition, &kMaxPooling, &kLines,
                                     &kMove,        &kMatMul, &kTable,    &kSoftmax,    &kNormalization};
  const auto* const found = std::ranges::find(kKinds, name, [](const Kind* kind) { return kind->name; });
  DOVETAIL_CHECK(found != kKinds.end(), fmt::format("{} is a kind of operation", name));
  return **found;
}

schedule::Task make_task(const Kind& kind, loops::Program program, const Core& config,
                         std::shared_ptr<const loops::IntrinsicTable> intrinsics, schedule::Intent intent) {
  return {"accel", std::string(kind.name),  std::move(program),    {},
          {},      hardware_of_key(config), std::move(intrinsics), intent};
}

std::shared_ptr<Memo> make_small_memo() {
  constexpr std::size_t kAnswers = 64;
  return std::make_shared<Memo>(kAnswers);
}

schedule::Sketch sketch_of(const Kind& kind, const Core& config, std::shared_ptr<Memo> memo, const TileCosts& costs) {
  if (!memo) memo = make_small_memo();
  return {kind.name, kind.version, [&kind, config, memo = std::move(memo), costs](schedule::Context& context) {
            TileChoice choice(context, kind, config, costs, *memo);
            if (kind.decide(choice)) choice.take_steps();
            return true;
          }};
}

Result<void> tiles_are_few(const Kind& kind, const loops::Program& program, const Core& config,
                           std::shared_ptr<Memo> memo) {
  const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
  const schedule::Task task = make_task(kind, program, config, intrinsics);
  if (!memo) memo = make_small_memo();
  schedule::Context context(task);
  TileChoice choice(context, kind, config, {}, *memo);
  if (!kind.decide(choice)) return context.s.status().errors();
  const Tile trips = choice.trips(choice.tile);
  const std::int64_t tiles = trips.results() * trips.c;
  if (tiles <= kMostTiles) return {};
  return Diagnostic{fmt::format("cannot tile {}", program.name), program.name,
                    fmt::format("it has {} tiles, because they are small, and the most is {}", tiles, kMostTiles),
                    fmt::format("raise the buffers of {}, or leave the node to the host with --place {}=cpu",
                                config.name, program.name)};
}

Result<double> expected_cycles(const Kind& kind, const loops::Program& program, const Core& config,
                               std::shared_ptr<Memo> memo) {
  const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
  const schedule::Task task = make_task(kind, program, config, intrinsics);
  if (!memo) memo = make_small_memo();
  schedule::Context context(task);
  TileChoice choice(context, kind, config, {}, *memo);
  if (!kind.decide(choice)) return context.s.status().errors();
  DOVETAIL_CHECK(context.cost(), "each sketch of the accelerator decides a tile");
  return *context.cost();
}

Result<void> smallest_tile_fits(const Kind& kind, const loops::Program& program, const Core& config,
                                std::shared_ptr<Memo> memo) {
  constexpr std::array memories{std::pair("inp_buffer_bytes", isa::Memory::inp),
                                std::pair("wgt_buffer_bytes", isa::Memory::wgt),
                                std::pair("acc_buffer_bytes", isa::Memory::acc)};
  const schedule::Footprint footprint = footprint_of(program);
  const TensorLayout layout = make_layout(config, 1, 1, 1, 1);
  LoopExtents extents(footprint, layout);
  Tile least;
  if (const auto channels = footprint.find("out.o"); channels && has_rows(program))
    least.o = footprint.whole()[*channels] / layout.block;
  const std::span<const std::int64_t> smallest = extents.of(least);
  // Nearly always each memory has room for all buffers of the program.
  if (most_needed(footprint, program, smallest, config) <=
      std::min(
          {config.depth(isa::Memory::inp), usable_depth(config, isa::Memory::wgt), config.depth(isa::Memory::acc)}))
    return {};
  const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
  if (!memo) memo = make_small_memo();
  const schedule::KeyedTask task = task_of_steps(make_task(kind, program, config, intrinsics), *memo);
  DOVETAIL_ASSIGN(const auto places, memo->ask(TilePlaces(task, config)));
  const TileModel model(program, *places, config);
  const std::string& name = program.name;
  for (const auto& [parameter, memory] : memories)
    if (const std::int64_t needs = model.needs(memory, smallest, {}), depth = usable_depth(config, memory);
        needs > depth)
      return Diagnostic{fmt::format("cannot tile {}", name), name,
                        fmt::format("its smallest tile needs {} elements, and {} has {}", needs, parameter, depth),
                        fmt::format("raise `{}`, or leave the node to the host with --place {}=cpu", parameter, name)};
  return {};
}

}  // namespace dovetail::accel
