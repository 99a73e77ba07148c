#include "compiler/target/accel/region.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
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

// Turns the scheduled programs of a region into the streams of its launches.
class LaunchMaker {
 public:
  // `images`: by kind of accelerator.
  LaunchMaker(const RegionSpec& spec, const RegionSchedules& schedules, std::vector<MemoryImage>& images,
              const Dump& dump)
      : spec_(spec), schedules_(schedules), images_(images), dump_(dump), places_(spec.operations.size()) {
    for (auto& of_kinds : places_) of_kinds.resize(images.size());
  }

  // Programs in their order. Operations without any are accepted: their results have the memory of their operands.
  Result<void> add(const RegionProgram& program) {
    const Share& share = spec_.shares[program.share];
    if (share.group != group_) finish();
    group_ = share.group;
    const Operation& operation = spec_.operation_of(share);
    const std::size_t kind = spec_.cores.kind(share.accelerator);
    std::vector<Places>& all = places_[share.operation][kind];
    if (all.empty()) all = operand_places(operation, images_[kind]);
    Places places = all[program.part];
    places.try_emplace("Y", images_[kind].address(operation.output));
    for (const auto& [parameter, bytes] : program.shifts)
      if (const auto place = places.find(parameter); place != places.end())
        place->second.address += place->second.int4 ? bytes / 2 : bytes;
    LayerQueue& layers = running_.try_emplace(share.accelerator, spec_.core_of(share), spec_.memo, dump_).first->second;
    return add(program, share, std::move(places), layers);
  }

  // Call after the last add(): the launches, in order.
  std::vector<LaunchStream> launches() {
    finish();
    return std::move(launches_);
  }
  // The group of each launch (Share::group).
  const std::vector<std::size_t>& groups() const { return groups_; }
  // Pairs of operations that are interleaved.
  const std::vector<std::array<std::size_t, 2>>& side_by_side() const { return side_by_side_; }

 private:
  Result<void> add(const RegionProgram& program, const Share& share, Places dram, LayerQueue& layers) {
    const schedule::Task& task = program.task;
    if (dump_) dump_("loops", loops::to_string(task.program));
    const TaskSchedule& schedule = schedules_.schedules.at(program.schedule);
    schedule::Scheduled scheduled = schedule.scheduled;
    scheduled.program.name = task.program.name;
    if (dump_) {
      dump_("trace", fmt::format("# {}\n{}", task.program.name, schedule::to_string(scheduled.trace)));
      dump_("schedule", loops::to_string(scheduled.program));
    }
    const Core& core = spec_.core_of(share);
    const std::shared_ptr<const PlacedProgram> placed = place_program(task, scheduled, core, *spec_.memo);
    DOVETAIL_ASSIGN(Placements placements,
                    place_buffers(scheduled.program, placed->placements, core, layers.history()));
    DOVETAIL_ASSIGN(std::shared_ptr<const Lowered> lowered,
                    spec_.memo->ask(LoweredProgramAt(placed, placements, LoweringFacts(core))));
    layers.add({&kind_of(spec_.operation_of(share)), task, std::move(scheduled.program), std::move(placements),
                std::move(lowered), std::move(dram), static_cast<int>(share.operation)},
               !schedule.origin.recorded && !schedule.origin.counted);
    return {};
  }

  // Ends the group.
  void finish() {
    for (auto& [accelerator, layers] : running_) {
      layers.finish();
      launches_.push_back({std::move(layers.stream()), accelerator, accelerator != running_.begin()->first});
      groups_.push_back(group_);
      side_by_side_.insert(side_by_side_.end(), layers.side_by_side().begin(), layers.side_by_side().end());
    }
    running_.clear();
  }

  const RegionSpec& spec_;
  const RegionSchedules& schedules_;
  std::vector<MemoryImage>& images_;
  const Dump& dump_;
  // Of each operation, by kind of accelerator: the places of its programs, when they are first asked for.
  std::vector<std::vector<std::vector<Places>>> places_;
  std::size_t group_ = 0;
  std::map<std::size_t, LayerQueue> running_;  // the launches of the group, by accelerator
  std::vector<LaunchStream> launches_;
  std::vector<std::size_t> groups_;
  std::vector<std::array<std::size_t, 2>> side_by_side_;
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

// The parts of operations that accelerators divide, by operation, accelerator and group.
std::map<std::array<std::size_t, 3>, bundle::RangePart> parts_of(const RegionSpec& spec) {
  std::map<std::array<std::size_t, 3>, bundle::RangePart> parts;
  std::vector<std::int64_t> pieces(spec.operations.size(), 1);
  for (const Share& share : spec.shares) {
    if (share.slice.axis == SliceAxis::whole && !share.program) continue;
    const auto program = static_cast<std::int64_t>(share.program.value_or(0));
    const bundle::RangePart own =
        share.program ? bundle::RangePart{"programs", program, program + 1}
                      : bundle::RangePart{std::string(kSliceAxisNames[static_cast<std::size_t>(share.slice.axis)]),
                                          share.slice.begin, share.slice.end};
    auto& [by, begin, end, all] =
        parts.try_emplace({share.operation, share.accelerator, share.group}, own).first->second;
    begin = std::min(begin, own.begin);
    end = std::max(end, own.end);
    pieces[share.operation] = std::max(pieces[share.operation], end);
  }
  for (auto& [place, part] : parts) part.pieces = pieces[place[0]];
  return parts;
}

// The ranges of instructions of each operation. `groups`: of each launch.
std::vector<bundle::InstructionRange> ranges_of(std::span<const LaunchStream> launches,
                                                std::span<const std::size_t> groups, const graph::Graph& graph,
                                                const RegionSpec& spec, const std::vector<std::string>& names) {
  const auto parts = parts_of(spec);
  std::vector<bundle::InstructionRange> ranges;
  std::vector<bool> named(spec.operations.size());
  std::size_t i = 0;
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const LaunchStream& launch = launches[l];
    std::optional<int> last;
    for (const StreamInstruction& item : launch.stream.instructions) {
      if (item.node != last) {
        const auto o = static_cast<std::size_t>(item.node);
        bundle::InstructionRange range{i, i, names[o], {}};
        if (!named[o]) range.macs = spec.macs[o];
        named[o] = true;
        if (const auto part = parts.find({o, launch.accelerator, groups[l]}); part != parts.end())
          range.part = part->second;
        for (const graph::NodeId id : spec.operations[o].any().nodes) {
          const auto& origins = graph.node(id).origins;
          range.origins.insert(range.origins.end(), origins.begin(), origins.end());
        }
        ranges.push_back(std::move(range));
      }
      last = item.node;
      ranges.back().end = ++i;
    }
  }
  return ranges;
}

}  // namespace

Result<RegionCode> build_region(const graph::Graph& graph, const RegionSpec& spec, const RegionSchedules& schedules,
                                RegionMemory& memory, const ReportProgress& progress, const Dump& dump) {
  std::vector<MemoryImage> images;
  images.reserve(spec.cores.kinds());  // the others share the first one's values
  images.emplace_back(graph, spec, memory);
  for (std::size_t kind = 1; kind < spec.cores.kinds(); ++kind)
    images.emplace_back(images.front(), spec.cores.of_kind(kind));
  LaunchMaker maker(spec, schedules, images, dump);
  Diagnostics errors;
  for (std::size_t i = 0; i < schedules.programs.size(); ++i) {
    if (const auto status = maker.add(schedules.programs[i]); !status.ok())
      errors.insert(errors.end(), status.errors().begin(), status.errors().end());
    if (progress)
      progress("programs of the accelerator", static_cast<std::int64_t>(i + 1),
               static_cast<std::int64_t>(schedules.programs.size()));
  }
  if (!errors.empty()) return errors;

  RegionCode made;
  std::vector<LaunchStream> launches = maker.launches();
  made.code.segments = images.front().take_segments();
  DeviceSpace& space = memory.space;
  auto finished = finish_code(launches, spec.name, spec.cores.configs(), space, made.code, dump);
  if (const std::uint64_t end = space.next + space.kept_free; end > end_of_memory(spec.cores.first())) memory.end = end;
  DOVETAIL_ASSIGN(made.statistics, std::move(finished));
  std::vector<std::string>& names = made.statistics.nodes;
  for (const OperationForms& forms : spec.operations) names.push_back(name_of(graph, forms.any()));
  for (const auto& [first, second] : maker.side_by_side())
    made.statistics.side_by_side.push_back({names[first], names[second]});
  for (const OperationForms& forms : spec.operations)
    if (const auto* move = std::get_if<MoveOperation>(&forms.any().body); move && move->position) {
      auto& offset = made.code.offset;
      const std::int64_t most = std::min(move->position->most, offset ? offset->most : INT64_MAX);
      offset = {static_cast<std::uint64_t>(images.front().layout(forms.any().output).block), most};
    }
  made.code.ranges = ranges_of(launches, maker.groups(), graph, spec, names);
  if (dump) dump("stream", stream_text(made.code));
  return made;
}

void prove(const bundle::AccelCode& code, const std::string& name, const DeviceSpace& space) {
  if (const std::string findings = findings_of(code, space); !findings.empty())
    throw InternalError(fmt::format("the program of {} fails verification, {}", name, findings));
}

}  // namespace dovetail::accel
