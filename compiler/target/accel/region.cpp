#include "compiler/target/accel/region.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "compiler/target/accel/layer_queue.h"
#include "compiler/target/accel/memory_image.h"
#include "compiler/target/accel/operand_places.h"
#include "compiler/target/accel/placed_program.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/select/operation_program.h"
#include "compiler/target/accel/stream/finish_code.h"
#include "isa/text.h"
#include "loops/print.h"

namespace dovetail::accel {

namespace {

// Turns the programs of a region's operations into layers of its stream, one after another.
class LayerMaker {
 public:
  LayerMaker(const RegionSpec& spec, const isa::HardwareConfig& config, const schedule::FindRecorded& recorded,
             const Dump& dump)
      : tasks(config, spec.memo, recorded, spec.schedules),
        layers(config, spec.memo, dump),
        spec_(spec),
        config_(config),
        intrinsics_(std::make_shared<loops::IntrinsicTable>(make_intrinsics(config))),
        dump_(dump) {}

  TaskScheduler tasks;
  LayerQueue layers;

  Result<void> add(const Operation& operation, int node, MemoryImage& image) {
    if (!image.layout(operation.output).folds.empty()) return {};  // it has the memory of its operand
    std::vector<Places> places = operand_places(operation, image);
    std::vector<TensorLayout> inputs;
    for (const graph::ValueId input : operation.inputs) inputs.push_back(image.layout(input));
    std::vector<loops::Program> programs =
        operation_programs(operation, inputs, image.layout(operation.output), config_);
    for (std::size_t part = 0; part < programs.size(); ++part) {
      if (is_in_place(operation, part)) continue;
      places[part].try_emplace("Y", image.address(operation.output));
      DOVETAIL_TRY(add(kind_of(operation), std::move(programs[part]), std::move(places[part]), node));
    }
    return {};
  }

 private:
  // Whether the source of the part already has the place of its result.
  bool is_in_place(const Operation& operation, std::size_t part) const {
    const auto* move = std::get_if<MoveOperation>(&operation.body);
    if (move == nullptr) return false;
    const auto view = view_of(operation, move->parts[part], spec_.layouts.layouts);
    if (!view) return false;
    const auto known = spec_.layouts.views.find(view->first);
    return known != spec_.layouts.views.end() && known->second == view->second;
  }

  Result<void> add(const Kind& kind, loops::Program program, Places dram, int node) {
    if (dump_) dump_("loops", loops::to_string(program));
    const schedule::Start starts = start(kind, program);
    const schedule::Task task = make_task(kind, std::move(program), config_, intrinsics_, {starts, {}});
    DOVETAIL_ASSIGN(const TaskSchedule* const schedule, tasks.schedule(kind, task));
    schedule::Scheduled scheduled = schedule->scheduled;
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
    layers.add(
        {&kind, task, std::move(scheduled.program), std::move(placements), std::move(lowered), std::move(dram), node},
        !schedule->origin.recorded && !schedule->origin.counted);
    return {};
  }

  schedule::Start start(const Kind& kind, const loops::Program& program) const {
    using enum schedule::Start;
    if (kind.name != kConvolution.name) return after_others;
    for (const loops::Parameter& parameter : program.parameters)
      if (parameter.buffer->name == "W") {
        const auto bytes = static_cast<std::uint64_t>(element_count(parameter.buffer->shape));
        return layers.computed_cycles() * static_cast<std::uint64_t>(config_.bus_bytes) < bytes ? alone : after_others;
      }
    return after_others;
  }

  const RegionSpec& spec_;
  const isa::HardwareConfig& config_;
  const std::shared_ptr<const loops::IntrinsicTable> intrinsics_;
  const Dump& dump_;
};

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

Result<RegionCode> build_region(const graph::Graph& graph, const RegionSpec& spec, const isa::HardwareConfig& config,
                                const schedule::FindRecorded& recorded, DeviceSpace& space, const Dump& dump) {
  MemoryImage image(graph, spec, config, space);
  LayerMaker maker(spec, config, recorded, dump);
  Diagnostics errors;
  for (std::size_t i = 0; i < spec.operations.size(); ++i) {
    if (auto status = maker.add(spec.operations[i], static_cast<int>(i), image); !status.ok())
      errors.insert(errors.end(), status.errors().begin(), status.errors().end());
    if (spec.progress)
      spec.progress("operations of the accelerator", static_cast<std::int64_t>(i + 1),
                    static_cast<std::int64_t>(spec.operations.size()));
  }
  if (!errors.empty()) return errors;
  maker.layers.finish();

  RegionCode made;
  made.code.segments = image.take_segments();
  Stream& stream = maker.layers.stream();
  auto finished = finish_code(stream, spec.name, config, space, made.code, dump);
  if (const std::uint64_t end = space.next + space.kept_free; spec.memory_end != nullptr && end > end_of_memory(config))
    *spec.memory_end = end;
  DOVETAIL_ASSIGN(made.statistics, std::move(finished));
  std::vector<std::string>& names = made.statistics.nodes;
  for (const Operation& operation : spec.operations) names.push_back(graph.node(operation.nodes.back()).name);
  for (const auto& [first, second] : maker.layers.side_by_side())
    made.statistics.side_by_side.push_back({names[first], names[second]});
  made.code.ranges = ranges_of(stream, graph, spec, names);
  if (dump) dump("stream", isa::format_assembly(config, made.code.program));
  made.uses = std::move(maker.tasks.uses);
  made.schedules = std::move(maker.tasks.schedules);
  return made;
}

void prove(const bundle::AccelCode& code, const std::string& name, const DeviceSpace& space) {
  if (const std::string findings = findings_of(code, space); !findings.empty())
    throw InternalError(fmt::format("the program of {} fails verification, {}", name, findings));
}

}  // namespace dovetail::accel
