#include "compiler/target/accel/region.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "compiler/assemble/plan_memory.h"
#include "compiler/schedule/index_map.h"
#include "compiler/schedule/keyed_task.h"
#include "compiler/target/accel/block_groups.h"
#include "compiler/target/accel/finish_code.h"
#include "compiler/target/accel/instruction_cycles.h"
#include "compiler/target/accel/intrinsics.h"
#include "compiler/target/accel/layer_pair.h"
#include "compiler/target/accel/lower.h"
#include "compiler/target/accel/operation_program.h"
#include "compiler/target/accel/placed_program.h"
#include "isa/text.h"
#include "loops/print.h"

namespace dovetail::accel {

using graph::ValueId;

namespace {

class Builder {
 public:
  Builder(const graph::Graph& graph, const RegionSpec& spec, const isa::HardwareConfig& config, DeviceSpace& space,
          const schedule::FindRecorded& recorded, const Dump& dump)
      : graph_(graph),
        name_(spec.name),
        operations_(spec.operations),
        macs_(spec.macs),
        layouts_(spec.layouts.layouts),
        views_(spec.layouts.views),
        addresses_(spec.addresses),
        config_(config),
        facts_(config),
        intrinsics_(std::make_shared<loops::IntrinsicTable>(make_intrinsics(config))),
        space_(space),
        recorded_(recorded),
        dump_(dump),
        progress_(spec.progress),
        memo_(spec.memo),
        known_(spec.schedules),
        memory_end_(spec.memory_end) {}

  Result<RegionCode> build() {
    place_inner_values();
    // Borders of tensors made here: written once, into the image. What comes from outside brings its own.
    for (const Operation& operation : operations_)
      if (const TensorLayout& layout = layouts_.at(operation.output);
          !layout.border.empty() && views_.count(operation.output) == 0)
        segment("border of " + graph_.value(operation.output).name, addresses_.at(operation.output),
                std::vector<std::byte>(static_cast<std::size_t>(layout.bytes()),
                                       static_cast<std::byte>(layout.border_value)));

    Diagnostics errors;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (auto status = lower_operation(operations_[i], static_cast<int>(i)); !status.ok())
        errors.insert(errors.end(), status.errors().begin(), status.errors().end());
      if (progress_)
        progress_("operations of the accelerator", static_cast<std::int64_t>(i + 1),
                  static_cast<std::int64_t>(operations_.size()));
    }
    if (!errors.empty()) return errors;
    DOVETAIL_TRY(finish());
    return std::move(made_);
  }

 private:
  // ---- Memory
  // -------------------------------------------------------------------------------------------------------------------

  void segment(std::string name, std::uint64_t address, bundle::Blob bytes) {
    if (bytes.size() > 0) code_.segments.push_back({std::move(name), address, std::move(bytes)});
  }
  std::uint64_t constant(const std::string& name, NdArray array) {
    bundle::Blob bytes(std::move(array));
    const std::uint64_t address = space_.allocate(bytes.size());
    segment(name, address, std::move(bytes));
    return address;
  }

  // One for all operations.
  std::uint64_t identity() {
    if (!identity_) identity_ = constant("identity", identity_weights(config_));
    return *identity_;
  }
  // One for all equal ones.
  std::uint64_t selection(const MoveSpec::Term& term) {
    const auto [known, added] = selections_.try_emplace(term.channels, 0);
    if (added) {
      known->second = constant("selection of channels", pack_weight(selection_weights(term)));
    }
    return known->second;
  }

  // Values that do not leave the region share memory as they come and go; those that are within another one come and go
  // with it. A border is part of the image: it must be there from the start. Operations next to each other may be
  // computed side by side: one stores while the one before still loads.
  void place_inner_values() {
    std::map<ValueId, bundle::LiveRange> ranges;  // of what is by itself
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      const auto use = [&](ValueId value) {
        for (auto view = views_.find(value); view != views_.end(); view = views_.find(value)) value = view->second.base;
        if (addresses_.count(value)) return;
        auto& range = ranges.try_emplace(value, bundle::LiveRange{at, at}).first->second;
        if (!layouts_.at(value).border.empty()) range.first = 0;
        range.last = at + 1;
      };
      use(operations_[i].output);
      for (const ValueId input : operations_[i].inputs) use(input);
    }
    std::vector<ValueId> values;
    std::vector<MemoryItem> items;
    for (const auto& [value, range] : ranges) {
      values.push_back(value);
      items.push_back({static_cast<std::uint64_t>(layouts_.at(value).bytes()), range});
    }
    constexpr std::uint64_t kPage = 4096;
    const std::uint64_t base = space_.allocate(place_items(items, kPage));
    for (std::size_t i = 0; i < values.size(); ++i) addresses_[values[i]] = base + items[i].offset;
    for (const auto& [value, view] : views_) place_view(value);
  }
  std::uint64_t place_view(ValueId value) {
    if (const auto known = addresses_.find(value); known != addresses_.end()) return known->second;
    const View& view = views_.at(value);
    const TensorLayout& layout = layouts_.at(value);
    const std::int64_t block_bytes = layout.bytes() / (layout.padded_c() / layout.block);
    return addresses_[value] = place_view(view.base) + static_cast<std::uint64_t>(view.block * block_bytes);
  }

  // ---- Operations
  // ---------------------------------------------------------------------------------------------------------------

  static NdArray packed(const NdArray& array, const std::string& map) {
    return schedule::pack(array, *schedule::parse_index_map(map, array.shape()));
  }
  NdArray pack_weight(const NdArray& weight) const {
    return packed(weight, weight_index_map(config_, weight.shape().size()));
  }
  NdArray pack_constants(const NdArray& constants) const {
    return packed(constants, parts_index_map(config_.block_out));
  }

  using Places = std::map<std::string, std::uint64_t>;  // parameters of a program, in DRAM

  Places places_of(const Operation& operation, const ConvOperation& conv) {
    ConvSpec spec = conv.spec;
    spec.x = layouts_.at(operation.inputs[0]);
    spec.y = layouts_.at(operation.output);
    const NdArray weight = block_weights(spec, conv.weight);
    const std::string& name = conv.spec.name;
    const NdArray constants =
        epilogue_constants(spec.epilogue, config_.batch, spec.y.padded_c(), conv.bias, conv.scale);
    Places places{{"X", addresses_.at(operation.inputs[0])},
                  {"W", constant("weights of " + name, pack_weight(weight))},
                  {"K", constant("constants of " + name, pack_constants(constants))}};
    if (conv.addition) {
      if (!conv.addition->spec.constant_b) places["B"] = addresses_.at(operation.inputs[1]);
      places.merge(sum_constants(operation, *conv.addition, "KS"));
    }
    return places;
  }

  Places places_of(const Operation& operation, const AddOperation& add) {
    Places places{{"A", addresses_.at(operation.inputs[0])}};
    if (!add.spec.constant_b) places["B"] = addresses_.at(operation.inputs[1]);
    places.merge(sum_constants(operation, add, "K"));
    return places;
  }

  Places places_of(const Operation& operation, const MaxPoolOperation& pool) {
    Places places{{"X", addresses_.at(operation.inputs[0])}};
    if (pool.spec.widening == Widening::gemm) places["I"] = identity();
    return places;
  }

  Places places_of(const Operation& operation, const LinesOperation& lines) {
    LinesSpec spec = lines.spec;
    spec.y = layouts_.at(operation.output);
    const std::uint64_t x = addresses_.at(operation.inputs[0]);
    Places places{{"X0", x},
                  {"X1", x},
                  {"K", constant("constants of " + spec.name, pack_constants(lines_constants(spec, config_)))}};
    if (spec.widening == Widening::gemm) places["I"] = identity();
    return places;
  }

  // Of one part of what is moved.
  Places places_of(const Operation& operation, const MoveSpec& part) {
    Places places;
    for (std::size_t t = 0; t < part.terms.size(); ++t) {
      const MoveSpec::Term& term = part.terms[t];
      places[fmt::format("X{}", t)] = addresses_.at(operation.inputs[term.input]);
      if (term.selects()) places[fmt::format("I{}", t)] = selection(term);
      else if (part.widening == Widening::gemm) places["I"] = identity();
    }
    return places;
  }

  // Of each program.
  template <typename Body>
  std::vector<Places> all_places(const Operation& operation, const Body& body) {
    return {places_of(operation, body)};
  }
  std::vector<Places> all_places(const Operation& operation, const MoveOperation& move) {
    std::vector<Places> all;
    for (const MoveSpec& part : move.parts) all.push_back(places_of(operation, part));
    return all;
  }

  std::uint64_t identity_as_rows() {
    if (!identity_as_rows_)
      identity_as_rows_ = constant("identity, as rows", packed(transposing_identity(config_), "i2,i0,i1"));
    return *identity_as_rows_;
  }
  std::vector<Places> all_places(const Operation& operation, const TransposeOperation& transpose) {
    return {transpose.parts.size(), Places{{"W", addresses_.at(operation.inputs[0])}, {"IX", identity_as_rows()}}};
  }

  // The transpositions, then the products.
  std::vector<Places> all_places(const Operation& operation, const MatMulOperation& matmul) {
    std::uint64_t b = addresses_.at(operation.inputs[1]);
    std::vector<Places> all;
    if (!matmul.transposes.empty()) {
      const std::uint64_t x = b;
      b = space_.allocate(static_cast<std::uint64_t>(transposed_layout(matmul, config_).bytes()));
      all.assign(matmul.transposes.size(), {{"W", x}, {"IX", identity_as_rows()}, {"Y", b}});
    }
    const MatMulSpec& spec = matmul.products.front();
    const std::vector<std::int32_t> bias(static_cast<std::size_t>(config_.block_out), spec.bias());
    const NdArray constants =
        epilogue_constants(spec.epilogue, config_.batch, config_.block_out, bias, std::array{spec.scale});
    Places places{{"X", addresses_.at(operation.inputs[0])},
                  {"W", b},
                  {"K", constant("constants of " + spec.name, pack_constants(constants))},
                  {"Y", addresses_.at(operation.output)}};
    const auto zero_points = [&](const std::string& name, std::int64_t elements, std::int32_t zero_point) {
      if (zero_point == 0) return;
      places[name] = constant(
          "zero points of " + spec.name,
          packed(zero_point_operand(elements, spec.depth, zero_point, config_), parts_index_map(config_.block_in)));
    };
    zero_points("IZ", config_.batch, spec.a_zero_point);
    zero_points("IJ", config_.block_out, spec.b_zero_point);
    all.insert(all.end(), matmul.products.size(), places);
    return all;
  }

  Places sum_constants(const Operation& operation, const AddOperation& add, const std::string& epilogue) {
    const std::string& name = add.spec.name;
    const auto operand = [&](std::int32_t zero_point, float multiplier, const SplitMultiplier& split) {
      return pack_constants(operand_constants(add.spec, config_, zero_point, multiplier, split));
    };
    // The addends of all channels, or those of one block for all.
    const bool constant_b = add.spec.constant_b;
    const std::int64_t channels = constant_b ? layouts_.at(operation.output).padded_c() : config_.block_out;
    const std::array scale{add.y_multiplier};
    const NdArray sum = epilogue_constants(add.spec.epilogue, config_.batch, channels, add.constant, scale);
    Places places{{"KA", constant("constants of a of " + name,
                                  operand(add.a_zero_point, add.a_multiplier, add.spec.a_multiplier))}};
    if (!constant_b)
      places["KB"] =
          constant("constants of b of " + name, operand(add.b_zero_point, add.b_multiplier, add.spec.b_multiplier));
    places[epilogue] = constant("constants of " + name, pack_constants(sum));
    if (add.spec.widening == Widening::gemm) places["I"] = identity();
    return places;
  }

  Result<void> lower_operation(const Operation& operation, int node) {
    if (!layouts_.at(operation.output).folds.empty()) return {};  // it is stored as its operand does
    std::vector<Places> places =
        std::visit([&](const auto& body) { return all_places(operation, body); }, operation.body);
    std::vector<TensorLayout> inputs;
    for (const ValueId input : operation.inputs) inputs.push_back(layouts_.at(input));
    std::vector<loops::Program> programs =
        operation_programs(operation, inputs, layouts_.at(operation.output), config_);
    for (std::size_t part = 0; part < programs.size(); ++part) {
      if (is_in_place(operation, part)) continue;
      places[part].try_emplace("Y", addresses_.at(operation.output));
      DOVETAIL_TRY(lower_program(kind_of(operation), std::move(programs[part]), places[part], node));
    }
    return {};
  }

  // Whether the part is stored where it is moved to.
  bool is_in_place(const Operation& operation, std::size_t part) const {
    const auto* move = std::get_if<MoveOperation>(&operation.body);
    if (move == nullptr) return false;
    const auto view = view_of(operation, move->parts[part], layouts_);
    if (!view) return false;
    const auto known = views_.find(view->first);
    return known != views_.end() && known->second == view->second;
  }

  // Networks repeat their layers: equal programs have one schedule. Anyone who records is asked once for each content.
  Result<schedule::Scheduled> schedule_of(const Kind& kind, const schedule::Task& task) {
    std::string content = schedule::KeyedTask(task, *memo_).text();
    auto at = made_.schedules.find(content);
    if (at == made_.schedules.end() && known_ != nullptr)
      if (const auto known = known_->find(content); known != known_->end()) at = made_.schedules.insert(*known).first;
    if (at == made_.schedules.end()) {
      schedule::Origin origin;
      DOVETAIL_ASSIGN(std::optional<schedule::Scheduled> found,
                      schedule::try_run(sketch_of(kind, config_, memo_), task, recorded_, origin));
      at = made_.schedules.emplace(content, TaskSchedule{kind, task, *std::move(found), std::move(origin)}).first;
    }
    made_.uses.push_back({task.program.name, std::move(content)});
    schedule::Scheduled scheduled = at->second.scheduled;
    scheduled.program.name = task.program.name;
    return scheduled;
  }

  Result<void> lower_program(const Kind& kind, loops::Program program, const Places& dram, int node) {
    if (dump_) dump_("loops", loops::to_string(program));
    const schedule::Start starts = start(kind, program);
    const schedule::Task task = make_task(kind, std::move(program), config_, intrinsics_, {starts, {}});
    DOVETAIL_ASSIGN(schedule::Scheduled scheduled, schedule_of(kind, task));
    if (dump_) {
      dump_("trace", fmt::format("# {}\n{}", task.program.name, schedule::to_string(scheduled.trace)));
      dump_("schedule", loops::to_string(scheduled.program));
    }
    const std::shared_ptr<const PlacedProgram> placed = place_program(task, scheduled, config_, *memo_);
    SramHistory history = history_;
    if (waiting_) touch(*waiting_->lowered, stream_.instructions.size(), history);
    DOVETAIL_ASSIGN(Placements placements, place_buffers(scheduled.program, placed->placements, config_, history));
    DOVETAIL_ASSIGN(const std::shared_ptr<const Lowered> made,
                    memo_->ask(LoweredProgramAt(placed, placements, facts_)));
    for (const StreamInstruction& item : made->stream.instructions)
      if (item.instruction.queue() == isa::Queue::compute)
        computed_cycles_ += instruction_cycles(config_, made->stream, item);
    add_layer({&kind, task, scheduled.program, std::move(placements), made, dram, node},
              made_.schedules.at(made_.uses.back().content).origin);
    return {};
  }

  // It waits for the next one, which it may be computed interleaved with, and is through once it was.
  void add_layer(Layer layer, const schedule::Origin& origin) {
    const bool analytic = !origin.recorded && !origin.counted;
    if (waiting_ && analytic)
      if (const std::optional<LayerPair> pair = side_by_side(*waiting_, layer, config_, memo_)) {
        waiting_.reset();
        const std::size_t before = stream_.instructions.size();
        append(pair->first);
        append(pair->second);
        std::vector<StreamInstruction> ordered;
        for (const std::size_t i : pair->order) ordered.push_back(stream_.instructions[before + i]);
        std::ranges::move(ordered, stream_.instructions.begin() + static_cast<std::ptrdiff_t>(before));
        side_by_side_.push_back(
            {static_cast<std::size_t>(pair->first.node), static_cast<std::size_t>(pair->second.node)});
        return;
      }
    append_waiting();
    if (analytic) waiting_ = std::move(layer);
    else append(layer);
  }
  void append_waiting() {
    if (waiting_) append(*waiting_);
    waiting_.reset();
  }
  void append(const Layer& layer) {
    if (dump_)
      dump_("places", fmt::format("# {}\n{}", layer.program.name, places_text(layer.program, layer.placements)));
    accel::append(*layer.lowered, layer.program, facts_, layer.dram, layer.node, history_, stream_);
  }

  schedule::Start start(const Kind& kind, const loops::Program& program) const {
    if (kind.name != kConvolution.name) return schedule::Start::after_others;
    for (const loops::Parameter& parameter : program.parameters)
      if (parameter.buffer->name == "W") {
        const auto bytes = static_cast<std::uint64_t>(element_count(parameter.buffer->shape));
        return computed_cycles_ * static_cast<std::uint64_t>(config_.bus_bytes) < bytes ? schedule::Start::alone
                                                                                        : schedule::Start::after_others;
      }
    return schedule::Start::after_others;
  }

  // ---- The whole step
  // -----------------------------------------------------------------------------------------------------------

  Result<void> finish() {
    append_waiting();
    auto finished = finish_code(stream_, name_, config_, space_, code_, dump_);
    if (const std::uint64_t end = space_.next + space_.kept_free;
        memory_end_ != nullptr && end > end_of_memory(config_))
      *memory_end_ = end;
    DOVETAIL_ASSIGN(made_.statistics, std::move(finished));
    std::vector<std::string>& names = made_.statistics.nodes;
    for (const Operation& operation : operations_) names.push_back(graph_.node(operation.nodes.back()).name);
    for (const auto& [first, second] : side_by_side_)
      made_.statistics.side_by_side.push_back({names[first], names[second]});
    add_ranges();
    if (dump_) dump_("stream", isa::format_assembly(config_, code_.program));
    return {};
  }

  void add_ranges() {
    std::vector<bool> named(operations_.size());
    for (std::size_t i = 0; i < stream_.instructions.size(); ++i) {
      const int node = stream_.instructions[i].node;
      auto& ranges = code_.ranges;
      if (i == 0 || stream_.instructions[i - 1].node != node) {
        const Operation& operation = operations_[static_cast<std::size_t>(node)];
        const auto o = static_cast<std::size_t>(node);
        bundle::InstructionRange range{i, i, made_.statistics.nodes[static_cast<std::size_t>(node)], {}};
        if (!named[o]) range.macs = macs_[o];
        named[o] = true;
        for (const graph::NodeId id : operation.nodes) {
          const auto& origins = graph_.node(id).origins;
          range.origins.insert(range.origins.end(), origins.begin(), origins.end());
        }
        ranges.push_back(std::move(range));
      }
      ranges.back().end = i + 1;
    }
  }

  const graph::Graph& graph_;
  const std::string& name_;
  const std::vector<Operation>& operations_;
  const std::vector<std::uint64_t>& macs_;
  const std::map<ValueId, TensorLayout>& layouts_;
  const std::map<ValueId, View>& views_;
  std::map<ValueId, std::uint64_t> addresses_;
  const isa::HardwareConfig& config_;
  const LoweringFacts facts_;
  std::shared_ptr<const loops::IntrinsicTable> intrinsics_;
  DeviceSpace& space_;
  const schedule::FindRecorded& recorded_;
  const Dump& dump_;
  const ReportProgress& progress_;
  std::shared_ptr<Memo> memo_;
  RegionCode made_;
  bundle::AccelCode& code_ = made_.code;
  SramHistory history_;
  std::optional<Layer> waiting_;                          // for the next one
  std::vector<std::array<std::size_t, 2>> side_by_side_;  // operations
  Stream stream_;
  std::uint64_t computed_cycles_ = 0;  // of the compute queue, so far
  const TaskSchedules* known_;
  std::uint64_t* memory_end_;
  std::optional<std::uint64_t> identity_, identity_as_rows_;       // addresses
  std::map<std::vector<std::int64_t>, std::uint64_t> selections_;  // address, by MoveSpec::Term::channels
};

}  // namespace

Result<RegionCode> build_region(const graph::Graph& graph, const RegionSpec& spec, const isa::HardwareConfig& config,
                                const schedule::FindRecorded& recorded, DeviceSpace& space, const Dump& dump) {
  return Builder(graph, spec, config, space, recorded, dump).build();
}

void prove(const bundle::AccelCode& code, const std::string& name, const DeviceSpace& space) {
  if (const std::string findings = findings_of(code, space); !findings.empty())
    throw InternalError(fmt::format("the program of {} does not verify, {}", name, findings));
}

}  // namespace dovetail::accel
