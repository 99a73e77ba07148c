// Calls of operations of warps, and of groups of warps.
#include <optional>
#include <set>

#include "loops/core/dissolve_blocks.h"
#include "loops/threads/runner.h"

namespace dovetail::loops::adversarial {

const WarpOperation& Runner::operation_of(const CoreCall& call) const {
  const WarpOperation* const operation =
      operations_ == nullptr ? nullptr : find_operation(*operations_, call.intrinsic);
  if (operation == nullptr) throw Broken{fmt::format("there is no operation {}", call.intrinsic)};
  return *operation;
}
std::size_t Runner::lanes_of(const CoreCall& call) const {
  const auto lanes = static_cast<std::size_t>(operation_of(call).lanes());
  if (static_cast<std::size_t>(kernel_.threads()) % lanes != 0)
    throw Broken{fmt::format("a block of {} threads does not consist of groups of {} for {}", kernel_.threads(), lanes,
                             call.intrinsic)};
  return lanes;
}

std::size_t Runner::lanes_of(const CoreNode& node) const {
  if (const auto* call = std::get_if<CoreCall>(&node.node)) return lanes_of(*call);
  const auto* barrier = std::get_if<CoreBarrier>(&node.node);
  return barrier != nullptr && barrier->of_warp ? static_cast<std::size_t>(kWarpLanes) : 0;
}

std::string Runner::words_of(const CoreNode& node) {
  const auto* call = std::get_if<CoreCall>(&node.node);
  return call != nullptr ? "a call of " + call->intrinsic : "a barrier of their warp";
}

bool Runner::come_to_call(std::vector<Thread>& threads, std::size_t index, const CoreNode* node, std::size_t lanes,
                          std::map<std::size_t, Calling>& warps) {
  const std::size_t first = index / lanes * lanes;
  Calling& calling = warps[first];
  if (calling.lanes > 0 && calling.node != node)
    throw Broken{
        fmt::format("lanes from thread {} on reach {} and {}", first, words_of(*calling.node), words_of(*node))};
  calling.node = node;
  if (++calling.lanes < lanes) return false;
  warps.erase(first);
  const std::span<Thread> all = std::span(threads).subspan(first, lanes);
  if (const auto* call = std::get_if<CoreCall>(&node->node)) carry_out(all, *call);
  else
    for (Thread& thread : all) ++thread.id.warp_epoch;
  return true;
}

std::vector<Runner::Place> Runner::places_of(std::span<Thread> lanes, const IntrinsicOperand& operand,
                                             const LaneMap& map, const Shape& shape) {
  std::vector<std::vector<std::int64_t>> first;
  for (Thread& lane : lanes) first.push_back(indices(lane, operand.indices));
  std::vector<Place> places;
  std::vector<std::int64_t> element(shape.size(), 0);
  for (std::int64_t left = element_count(shape); left > 0; --left) {
    const auto lane = static_cast<std::size_t>(LaneMap::number_of(map.lanes, element));
    std::vector<std::int64_t> index = first[lane];
    for (std::size_t axis = 0; axis < element.size(); ++axis)
      for (std::size_t d = 0; d < index.size(); ++d) index[d] += operand.steps[axis][d] * element[axis];
    places.push_back({&lanes[lane], &memory(lanes[lane], *operand.buffer), offset(*operand.buffer, index)});
    for (std::size_t axis = element.size(); axis-- > 0;) {
      if (++element[axis] < shape[axis]) break;
      element[axis] = 0;
    }
  }
  return places;
}

// The locations of a matrix's elements, row by row as the unit reads them, from the first element, which must be the
// same for all threads.
std::vector<Runner::Place> Runner::places_of(std::span<Thread> lanes, const IntrinsicOperand& operand,
                                             const CoreMatrix& matrix, const Shape& shape) {
  const BufferNode& buffer = *operand.buffer;
  const std::int64_t bytes = size_bytes(buffer.dtype);
  std::optional<std::size_t> first;
  for (Thread& lane : lanes) {
    const std::size_t own = offset(buffer, indices(lane, operand.indices));
    if (first.value_or(own) != own)
      throw Broken{fmt::format("lanes of a call disagree on where matrix {} begins", buffer.name)};
    first = own;
  }
  constexpr std::int64_t kLines = 8;  // consecutive lines of a panel
  const std::int64_t depth = shape.back(), rows = element_count(shape) / depth, width = matrix.swizzle / bytes;
  std::vector<Place> places;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t line = matrix.depth_inner ? row : k, along = matrix.depth_inner ? k : row;
      const std::int64_t from_first = along / width * matrix.leading + along % width * bytes +
                                      line / kLines * matrix.stride + line % kLines * matrix.swizzle;
      const std::int64_t address = exchanged(static_cast<std::int64_t>(*first) * bytes + from_first, matrix.swizzle);
      const auto at = static_cast<std::size_t>(address / bytes);
      if (address < 0 || at >= static_cast<std::size_t>(element_count(buffer.shape)))
        throw Broken{fmt::format("a call reads byte {} of {}, which has {} elements", address, buffer.name,
                                 element_count(buffer.shape))};
      places.push_back({lanes.data(), &memory(lanes[0], buffer), at});
    }
  return places;
}

// An element in memory that several threads see: any lane of the warp may load it and pass it to the lane that needs
// it.
void Runner::note_read_by_warp(Thread& lane, Memory& from, std::size_t at) {
  const Shadow& shadow = from.shadow[at];
  if (shadow.writer.block == lane.id.block && shadow.writer.warp() == lane.id.warp() &&
      shadow.writer.epoch == lane.id.epoch && shadow.writer.warp_epoch == lane.id.warp_epoch)
    throw Broken{
        fmt::format("a call of the warp of thread {} of block {} reads element {} of {}, which thread {} has "
                    "written without a barrier between them",
                    lane.id.thread, lane.id.block, at, from.buffer->name, shadow.writer.thread)};
  note_read(lane, from, at);
  from.shadow[at].several_threads = true;
}

// ---- Calls that complete later

// The unit reads an element for a call that is issued now.
void Runner::note_read_by_unit(const Thread& lane, const Memory& from, std::size_t at) const {
  const Shadow& shadow = from.shadow[at];
  const std::string what = fmt::format("a call of thread {} of block {} reads element {} of {}", lane.id.thread,
                                       lane.id.block, at, from.buffer->name);
  if (shadow.landing > 0) throw Broken{what + ", to which an asynchronous copy may be in flight"};
  if (!shadow.defined) throw Broken{what + ", which was never written"};
  if (shadow.signal >= 0) return check_observed(lane, from, at);
  if (shadow.writer.block != lane.id.block || shadow.writer.epoch >= lane.id.epoch)
    throw Broken{
        fmt::format("{}, which thread {} has written without a barrier between them", what, shadow.writer.thread)};
  if (threads_[static_cast<std::size_t>(shadow.writer.thread)].fences_at_barrier <= shadow.fences)
    throw Broken{
        fmt::format("{}, which thread {} has written without a fence before a barrier", what, shadow.writer.thread)};
}

// A lane's sum is accessed: several calls of one operation may update it without a wait.
void Runner::note_sum(const Thread& lane, const WarpOperation& operation, const Place& place) const {
  const Shadow& shadow = place.memory->shadow[place.element];
  const std::string what = fmt::format("a call reads element {} of {} of thread {}", place.element,
                                       place.memory->buffer->name, lane.id.thread);
  if (shadow.landing > 0) {
    const auto is_other = [&](const UnderWay& one) {
      return one.operation != &operation &&
             std::ranges::find(one.written, std::pair(place.memory, place.element)) != one.written.end();
    };
    bool other = std::ranges::any_of(lane.called, is_other);
    for (const std::vector<UnderWay>& group : lane.call_groups) other |= std::ranges::any_of(group, is_other);
    if (other) throw Broken{what + ", to which a call of another operation is in flight"};
    return;
  }
  if (!shadow.defined) throw Broken{what + ", which was never written"};
  if (shadow.arrivals >= lane.arrivals) throw Broken{what + ", which it has written since its last arrive"};
}

void Runner::begin_later(std::span<Thread> lanes, const WarpOperation& operation,
                         const std::vector<std::vector<Place>>& places) {
  const std::size_t warps = lanes.size() / kWarpLanes;
  std::map<Thread*, UnderWay> begun;
  const auto share = [&](Thread& lane) -> UnderWay& {
    UnderWay& own = begun[&lane];
    own.operation = &operation;
    return own;
  };
  for (const Place& place : places[0]) {
    ++place.memory->shadow[place.element].landing;
    share(*place.lane).written.emplace_back(place.memory, place.element);
  }
  // Each warp reads its rows of the first matrix, and all of the second, until the wait of any of its lanes.
  for (std::size_t warp = 0; warp < warps; ++warp) {
    Thread& lane = lanes[warp * kWarpLanes + below(kWarpLanes)];
    const std::size_t rows = places[1].size() / warps;
    for (std::size_t i = 1; i < places.size(); ++i)
      for (std::size_t e = 0; e < places[i].size(); ++e) {
        if (i == 1 && e / rows != warp) continue;
        ++places[i][e].memory->shadow[places[i][e].element].leaving;
        share(lane).read.emplace_back(places[i][e].memory, places[i][e].element);
      }
  }
  for (auto& [lane, own] : begun) lane->called.push_back(std::move(own));
}

void Runner::step_calls(Thread& thread, const CoreCallGroup& n) {
  switch (n.step) {
    case CoreCallGroup::Step::arrive: ++thread.arrivals; return;
    case CoreCallGroup::Step::commit: thread.call_groups.push_back(std::exchange(thread.called, {})); return;
    case CoreCallGroup::Step::wait: break;
  }
  while (static_cast<std::int64_t>(thread.call_groups.size()) > n.groups) {
    for (const UnderWay& one : thread.call_groups.front()) {
      for (const auto& [memory, element] : one.written) {
        Shadow& shadow = memory->shadow[element];
        --shadow.landing;
        shadow.defined = true;
        shadow.writer = thread.id;
        shadow.arrivals = -1;
        shadow.signal = -1;
      }
      // The unit may have read the element until now, for all lanes.
      for (const auto& [memory, element] : one.read) {
        Shadow& shadow = memory->shadow[element];
        --shadow.leaving;
        shadow.reader = thread.id;
        shadow.reader_fences = -1;
        shadow.several_threads = true;
      }
    }
    thread.call_groups.pop_front();
  }
}

void Runner::carry_out(std::span<Thread> lanes, const CoreCall& call) {
  const WarpOperation* const operation = &operation_of(call);
  if (operation->later != call.later)
    throw Broken{fmt::format("a call of {} completes differently from its operation", call.intrinsic)};
  auto& meaning = meanings_[operation];
  if (!meaning) {
    meaning = std::make_unique<Meaning>();
    meaning->core = dissolve_blocks(operation->semantics, {});
    for (const Parameter& parameter : operation->semantics.parameters)
      meaning->listing.formulas.buffer(*parameter.buffer);
    meaning->listing.add(meaning->core.body);
  }
  Thread one;  // holds all operands
  one.id = {0, 0, 0};
  std::vector<std::vector<Place>> places;
  std::set<std::pair<int, std::int64_t>> observed;  // signals and their phases that all lanes have observed
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Buffer& parameter = operation->semantics.parameters[i].buffer;
    const bool matrix = i < call.matrices.size() && call.matrices[i].has_value();
    if (call.later && i > 0 && !matrix)
      throw Broken{fmt::format("a call of {} lacks the location of its operand {}", call.intrinsic, i)};
    places.push_back(matrix ? places_of(lanes, call.operands[i], *call.matrices[i], parameter->shape)
                            : places_of(lanes, call.operands[i], operation->operands[i], parameter->shape));
    const bool of_thread = listing_.formulas.buffer(*call.operands[i].buffer) < lanes[0].own.size();
    Memory own(parameter);
    for (std::size_t e = 0; e < places[i].size(); ++e) {
      const Place& place = places[i][e];
      if (const Shadow& shadow = place.memory->shadow[place.element];
          matrix && shadow.signal >= 0 && observed.emplace(shadow.signal, shadow.phase).second)
        for (const Thread& lane : lanes) check_observed(lane, *place.memory, place.element);
      if (matrix) note_read_by_unit(*place.lane, *place.memory, place.element);
      else if (call.later) note_sum(*place.lane, *operation, place);
      else if (of_thread) note_read(*place.lane, *place.memory, place.element);
      else note_read_by_warp(*place.lane, *place.memory, place.element);
      std::memcpy(own.at(e), place.memory->at(place.element), static_cast<std::size_t>(size_bytes(parameter->dtype)));
      own.shadow[e].defined = true;
    }
    one.own.push_back(std::move(own));
  }
  one.values.assign(meaning->listing.formulas.variable_count(), 0);
  code_ = &meaning->listing;
  while (one.at < code_->code.size()) step(one);
  code_ = &listing_;
  Memory& result = one.own.front();
  for (std::size_t e = 0; e < places[0].size(); ++e) {
    const Place& place = places[0][e];
    if (!call.later) note_write(*place.lane, *place.memory, place.element);
    std::memcpy(place.memory->at(place.element), result.at(e),
                static_cast<std::size_t>(size_bytes(result.buffer->dtype)));
  }
  if (call.later) begin_later(lanes, *operation, places);
}

}  // namespace dovetail::loops::adversarial
