#include "compiler/target/accel/region_schedules.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "compiler/schedule/keyed_task.h"
#include "compiler/target/accel/placed_program.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/select/operation_program.h"
#include "compiler/target/accel/stream/instruction_cycles.h"

namespace dovetail::accel {

namespace {

class RegionScheduler {
 public:
  RegionScheduler(const RegionSpec& spec, const schedule::FindRecorded& recorded, const TaskSchedules* known)
      : spec_(spec), recorded_(recorded), known_(known) {
    for (std::size_t kind = 0; kind < spec.cores.kinds(); ++kind)
      intrinsics_.push_back(std::make_shared<loops::IntrinsicTable>(make_intrinsics(spec.cores.of_kind(kind))));
  }

  Result<RegionSchedules> run(const ReportProgress& progress) {
    for (std::size_t i = 0; i < spec_.shares.size(); ++i) add_programs(i);
    for (const RegionProgram& program : result_.programs)
      if (is_convolution(program)) largest_weights_ = std::max(largest_weights_, weight_bytes(program.task));
    Diagnostics errors;
    for (std::size_t i = 0; i < result_.programs.size(); ++i) {
      if (const auto status = schedule(result_.programs[i]); !status.ok())
        errors.insert(errors.end(), status.errors().begin(), status.errors().end());
      if (progress)
        progress("schedules of the accelerator", static_cast<std::int64_t>(i + 1),
                 static_cast<std::int64_t>(result_.programs.size()));
    }
    if (!errors.empty()) return errors;
    return std::move(result_);
  }

 private:
  const Operation& operation_of(const RegionProgram& program) const {
    return spec_.operation_of(spec_.shares[program.share]);
  }
  const Core& core_of(const RegionProgram& program) const { return spec_.core_of(spec_.shares[program.share]); }

  void add_programs(std::size_t index) {
    const Share& share = spec_.shares[index];
    const Operation& operation = spec_.operation_of(share);
    const Core& core = spec_.core_of(share);
    const auto& layouts = spec_.layouts.layouts;
    const TensorLayout& output = layouts.at(operation.output);
    if (!output.folds.empty()) return;  // it has the memory of its operand
    std::vector<TensorLayout> inputs;
    for (const graph::ValueId input : operation.inputs) inputs.push_back(layouts.at(input));
    SlicedOperation sliced = slice_operation(operation, inputs, output, share.slice, core);
    const auto* const conv = std::get_if<ConvOperation>(&operation.body);
    const auto* const move = std::get_if<MoveOperation>(&operation.body);
    const schedule::Intent intent{.int4_weights = conv != nullptr && are_int4(conv->weight, core)};
    for (std::size_t part = 0; part < sliced.programs.size(); ++part)
      if ((!share.program || *share.program == part) &&
          (move == nullptr || !is_in_place(operation, move->parts[part], spec_.layouts)))
        result_.programs.push_back({index, part,
                                    make_task(kind_of(operation), std::move(sliced.programs[part]), core,
                                              intrinsics_[spec_.cores.kind(share.accelerator)], intent),
                                    sliced.shifts});
  }

  Result<void> schedule(RegionProgram& program) {
    program.task.intent.start = start(program);
    DOVETAIL_ASSIGN(const TaskSchedules::value_type* const found,
                    scheduled(kind_of(operation_of(program)), spec_.shares[program.share].accelerator, program.task));
    program.schedule = found->first;
    if (computed_bytes() < largest_weights_) count_cycles(core_of(program), program.task, found->second.scheduled);
    return {};
  }

  Result<const TaskSchedules::value_type*> scheduled(const Kind& kind, std::size_t accelerator,
                                                     const schedule::Task& task) {
    std::string key = schedule::KeyedTask(task, *spec_.memo).text();
    TaskSchedules& schedules = result_.schedules;
    auto at = schedules.find(key);
    if (at == schedules.end() && known_ != nullptr)
      if (const auto known = known_->find(key); known != known_->end()) at = schedules.insert(*known).first;
    if (at == schedules.end()) {
      schedule::Origin origin;
      DOVETAIL_ASSIGN(
          std::optional<schedule::Scheduled> found,
          schedule::try_run(sketch_of(kind, spec_.cores[accelerator], spec_.memo), task, recorded_, origin));
      at = schedules
               .emplace(std::move(key),
                        TaskSchedule{kind, spec_.cores.kind(accelerator), task, *std::move(found), std::move(origin)})
               .first;
    }
    return &*at;
  }

  bool is_convolution(const RegionProgram& program) const {
    return kind_of(operation_of(program)).name == kConvolution.name;
  }
  static std::uint64_t weight_bytes(const schedule::Task& task) {
    for (const loops::Parameter& parameter : task.program.parameters)
      if (parameter.buffer->name == kWeights)
        return static_cast<std::uint64_t>(element_count(parameter.buffer->shape) / (task.intent.int4_weights ? 2 : 1));
    return 0;
  }
  // Earlier programs cannot hide the load of weights that takes longer than they compute.
  schedule::Start start(const RegionProgram& program) const {
    return is_convolution(program) && computed_bytes() < weight_bytes(program.task) ? schedule::Start::alone
                                                                                    : schedule::Start::after_others;
  }
  // What the memory port transfers while the programs so far compute.
  std::uint64_t computed_bytes() const {
    return computed_cycles_ * static_cast<std::uint64_t>(spec_.cores.first().bus_bytes);
  }

  // A program that does not fit is reported when it is lowered for its region.
  void count_cycles(const Core& core, const schedule::Task& task, schedule::Scheduled scheduled) {
    scheduled.program.name = task.program.name;
    const std::shared_ptr<const PlacedProgram> placed = place_program(task, scheduled, core, *spec_.memo);
    const auto placements = place_buffers(scheduled.program, placed->placements, core, SramHistory());
    if (!placements.ok()) return;
    const auto lowered = spec_.memo->ask(LoweredProgramAt(placed, *placements, LoweringFacts(core)));
    if (!lowered.ok()) return;
    const Stream& stream = (*lowered)->stream;
    for (const StreamInstruction& item : stream.instructions)
      if (item.instruction.queue() == isa::Queue::compute) computed_cycles_ += instruction_cycles(core, stream, item);
  }

  const RegionSpec& spec_;
  const schedule::FindRecorded& recorded_;
  const TaskSchedules* known_;
  std::vector<std::shared_ptr<const loops::IntrinsicTable>> intrinsics_;  // by kind of accelerator
  std::uint64_t largest_weights_ = 0;  // bytes, of a convolution; once more is computed, start() is the same for all
  std::uint64_t computed_cycles_ = 0;  // of the compute queue
  RegionSchedules result_;
};

}  // namespace

Result<RegionSchedules> schedule_region(const RegionSpec& spec, const schedule::FindRecorded& recorded,
                                        const TaskSchedules* known, const ReportProgress& progress) {
  return RegionScheduler(spec, recorded, known).run(progress);
}

}  // namespace dovetail::accel
