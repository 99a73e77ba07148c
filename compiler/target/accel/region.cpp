#include "compiler/target/accel/region.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/target/accel/layer_queue.h"
#include "compiler/target/accel/memory_image.h"
#include "compiler/target/accel/operand_places.h"
#include "compiler/target/accel/placed_program.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/select/operation_program.h"
#include "compiler/target/accel/stream/finish_code.h"
#include "isa/text.h"
#include "loops/print.h"

namespace dovetail::accel {

namespace {

// Turns the scheduled programs of a region's operations into layers of its stream, in order.
class LayerMaker {
 public:
  LayerMaker(const RegionSpec& spec, const RegionSchedules& schedules, const isa::HardwareConfig& config,
             const Dump& dump)
      : layers(config, spec.memo, dump), spec_(spec), schedules_(schedules), config_(config), dump_(dump) {}

  LayerQueue layers;

  // `programs`: of the operation, in order.
  Result<void> add(const Operation& operation, std::span<const RegionProgram> programs, MemoryImage& image) {
    if (!image.layout(operation.output).folds.empty()) return {};  // it has the memory of its operand
    std::vector<Places> places = operand_places(operation, image);
    for (const RegionProgram& program : programs) {
      places[program.part].try_emplace("Y", image.address(operation.output));
      DOVETAIL_TRY(add(program, std::move(places[program.part])));
    }
    return {};
  }

 private:
  Result<void> add(const RegionProgram& program, Places dram) {
    const schedule::Task& task = program.task;
    if (dump_) dump_("loops", loops::to_string(task.program));
    const TaskSchedule& schedule = schedules_.schedules.at(program.schedule);
    schedule::Scheduled scheduled = schedule.scheduled;
    scheduled.program.name = task.program.name;
    if (dump_) {
      dump_("trace", fmt::format("# {}\n{}", task.program.name, schedule::to_string(scheduled.trace)));
      dump_("schedule", loops::to_string(scheduled.program));
    }
    const std::shared_ptr<const PlacedProgram> placed = place_program(task, scheduled, config_, *spec_.memo);
    DOVETAIL_ASSIGN(Placements placements,
                    place_buffers(scheduled.program, placed->placements, config_, layers.history()));
    DOVETAIL_ASSIGN(std::shared_ptr<const Lowered> lowered,
                    spec_.memo->ask(LoweredProgramAt(placed, placements, LoweringFacts(config_))));
    layers.add({&kind_of(spec_.operations[program.operation]), task, std::move(scheduled.program),
                std::move(placements), std::move(lowered), std::move(dram), static_cast<int>(program.operation)},
               !schedule.origin.recorded && !schedule.origin.counted);
    return {};
  }

  const RegionSpec& spec_;
  const RegionSchedules& schedules_;
  const isa::HardwareConfig& config_;
  const Dump& dump_;
};

// The names of all nodes that the operation computes, in their order: "conv1+pool1". Nodes that only rearrange elements
// take no time.
std::string name_of(const graph::Graph& graph, const Operation& operation) {
  constexpr std::array<std::string_view, 5> kMovements{"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  std::vector<std::string_view> names;
  for (const graph::NodeId id : operation.nodes)
    if (std::ranges::find(kMovements, graph.node(id).op) == kMovements.end()) names.push_back(graph.node(id).name);
  if (names.empty()) names.push_back(graph.node(operation.nodes.back()).name);
  return fmt::format("{}", fmt::join(names, "+"));
}

// The ranges of instructions of each operation.
std::vector<bundle::InstructionRange> ranges_of(const Stream& stream, const graph::Graph& graph, const RegionSpec& spec,
                                                const std::vector<std::string>& names) {
  std::vector<bundle::InstructionRange> ranges;
  std::vector<bool> named(spec.operations.size());
  for (std::size_t i = 0; i < stream.instructions.size(); ++i) {
    const int node = stream.instructions[i].node;
    if (i == 0 || stream.instructions[i - 1].node != node) {
      const auto o = static_cast<std::size_t>(node);
      bundle::InstructionRange range{i, i, names[o], {}};
      if (!named[o]) range.macs = spec.macs[o];
      named[o] = true;
      for (const graph::NodeId id : spec.operations[o].nodes) {
        const auto& origins = graph.node(id).origins;
        range.origins.insert(range.origins.end(), origins.begin(), origins.end());
      }
      ranges.push_back(std::move(range));
    }
    ranges.back().end = i + 1;
  }
  return ranges;
}

}  // namespace

Result<RegionCode> build_region(const graph::Graph& graph, const RegionSpec& spec, const RegionSchedules& schedules,
                                const isa::HardwareConfig& config, RegionMemory& memory, const ReportProgress& progress,
                                const Dump& dump) {
  MemoryImage image(graph, spec, config, memory);
  LayerMaker maker(spec, schedules, config, dump);
  Diagnostics errors;
  const std::span<const RegionProgram> programs = schedules.programs;
  for (std::size_t i = 0, begin = 0, end = 0; i < spec.operations.size(); ++i, begin = end) {
    while (end < programs.size() && programs[end].operation == i) ++end;
    if (const auto status = maker.add(spec.operations[i], programs.subspan(begin, end - begin), image); !status.ok())
      errors.insert(errors.end(), status.errors().begin(), status.errors().end());
    if (progress)
      progress("operations of the accelerator", static_cast<std::int64_t>(i + 1),
               static_cast<std::int64_t>(spec.operations.size()));
  }
  if (!errors.empty()) return errors;
  maker.layers.finish();

  RegionCode made;
  made.code.segments = image.take_segments();
  Stream& stream = maker.layers.stream();
  DeviceSpace& space = memory.space;
  auto finished = finish_code(stream, spec.name, config, space, made.code, dump);
  if (const std::uint64_t end = space.next + space.kept_free; end > end_of_memory(config)) memory.end = end;
  DOVETAIL_ASSIGN(made.statistics, std::move(finished));
  std::vector<std::string>& names = made.statistics.nodes;
  for (const Operation& operation : spec.operations) names.push_back(name_of(graph, operation));
  for (const auto& [first, second] : maker.layers.side_by_side())
    made.statistics.side_by_side.push_back({names[first], names[second]});
  for (const Operation& operation : spec.operations)
    if (const auto* move = std::get_if<MoveOperation>(&operation.body); move && move->position) {
      auto& offset = made.code.offset;
      const std::int64_t most = std::min(move->position->most, offset ? offset->most : INT64_MAX);
      offset = {static_cast<std::uint64_t>(image.layout(operation.output).block), most};
    }
  made.code.ranges = ranges_of(stream, graph, spec, names);
  if (dump) dump("stream", isa::format_assembly(config, made.code.program));
  return made;
}

void prove(const bundle::AccelCode& code, const std::string& name, const DeviceSpace& space) {
  if (const std::string findings = findings_of(code, space); !findings.empty())
    throw InternalError(fmt::format("the program of {} fails verification, {}", name, findings));
}

}  // namespace dovetail::accel
