#include "tests/property/isa/verify/executions.h"

#include <algorithm>

#include "isa/spec/alu_ops.h"
#include "isa/spec/timing.h"

namespace dovetail::test {
namespace {

constexpr std::size_t kLoad = isa::index(isa::Queue::load);

// Section 3: each row from its first beat, no burst beyond the longest or a 4 KiB boundary.
void append_bursts(const isa::HardwareConfig& config, const isa::Transfer& load, std::vector<std::size_t>& bursts) {
  if (load.x_size == 0) return;
  const auto element = static_cast<std::uint64_t>(config.element_bytes(load.memory));
  const auto bus = static_cast<std::uint64_t>(config.bus_bytes);
  const auto longest = static_cast<std::uint64_t>(std::min(config.burst_beats, config.outstanding_beats));
  for (std::uint64_t y = 0; y < load.y_size; ++y) {
    const std::uint64_t begin = (load.dram_base + y * load.x_stride) * element, end = begin + load.x_size * element;
    std::size_t length = 0;
    for (std::uint64_t beat = begin / bus; beat * bus < end; ++beat) {
      if (length == longest || (length != 0 && beat * bus % 4096 == 0)) {
        bursts.push_back(length);
        length = 0;
      }
      ++length;
    }
    bursts.push_back(length);
  }
}

}  // namespace

LaunchModel::LaunchModel(const isa::HardwareConfig& config, std::span<const isa::Instruction> launch, Depths depths)
    : launch_(launch),
      commands_(static_cast<std::size_t>(config.command_queue_depth)),
      tokens_(static_cast<std::size_t>(config.token_queue_depth)),
      beats_(static_cast<std::size_t>(config.outstanding_beats)),
      load_waiting_(static_cast<std::size_t>(isa::spec::kLoadWaiting.value)),
      in_flight_(static_cast<std::size_t>(isa::spec::kComputeInFlight.value)) {
  if (depths == Depths::unlimited) commands_ = tokens_ = beats_ = load_waiting_ = in_flight_ = kUnlimited;
  for (auto* counts : {&pushes_, &pops_})
    for (auto& each : *counts) each.push_back(0);
  granted_beats_.push_back(0);
  for (std::size_t i = 0; i < launch.size(); ++i) {
    const isa::Instruction& instruction = launch[i];
    const isa::DependencyFlags& flags = instruction.flags;
    const std::size_t queue = isa::index(instruction.queue());
    place_.push_back(order_[queue].size());
    order_[queue].push_back(i);
    const auto count = [](std::vector<std::size_t>& counts, bool flag) { counts.push_back(counts.back() + flag); };
    const auto fifo = [](isa::TokenFifo f) { return isa::index(f); };
    switch (instruction.queue()) {
      case isa::Queue::load:
        kinds_.push_back(Kind::load);
        count(pops_[fifo(isa::TokenFifo::compute_to_load)], flags.pop_next);
        count(pushes_[fifo(isa::TokenFifo::load_to_compute)], flags.push_next);
        if (depths == Depths::configured) append_bursts(config, std::get<isa::Load>(instruction.body), bursts_);
        burst_ends_.push_back(bursts_.size());
        break;
      case isa::Queue::compute: {
        const auto* alu = std::get_if<isa::Alu>(&instruction.body);
        const bool gemm = instruction.opcode() == isa::Opcode::gemm || instruction.opcode() == isa::Opcode::window ||
                          instruction.opcode() == isa::Opcode::gemmq;
        kinds_.push_back(gemm                                                            ? Kind::gemm
                         : alu == nullptr                                                ? Kind::serial
                         : isa::spec::info(alu->op).kind == isa::spec::AluKind::alu_long ? Kind::alu_long
                                                                                         : Kind::alu);
        count(pops_[fifo(isa::TokenFifo::load_to_compute)], flags.pop_prev);
        count(pops_[fifo(isa::TokenFifo::store_to_compute)], flags.pop_next);
        count(pushes_[fifo(isa::TokenFifo::compute_to_load)], flags.push_prev);
        count(pushes_[fifo(isa::TokenFifo::compute_to_store)], flags.push_next);
        break;
      }
      case isa::Queue::store:
        kinds_.push_back(Kind::store);
        count(pops_[fifo(isa::TokenFifo::compute_to_store)], flags.pop_prev);
        count(pushes_[fifo(isa::TokenFifo::store_to_compute)], flags.push_prev);
        break;
    }
  }
  for (const std::size_t beats : bursts_) granted_beats_.push_back(granted_beats_.back() + beats);
}

std::size_t LaunchModel::tokens(const State& state, isa::TokenFifo fifo) const {
  return pushes_[isa::index(fifo)][state.ended[isa::index(producer(fifo))]] -
         pops_[isa::index(fifo)][state.started[isa::index(consumer(fifo))]];
}

std::size_t LaunchModel::waiting(const State& state, std::size_t queue) const {
  std::size_t fetched = 0;
  for (std::size_t i = 0; i < state.fetched; ++i) fetched += isa::index(launch_[i].queue()) == queue;
  return fetched - state.started[queue];
}

bool LaunchModel::has_tokens(const State& state, std::size_t i) const {
  const std::size_t at = place_[i];
  return std::all_of(isa::kAllFifos.begin(), isa::kAllFifos.end(), [&](isa::TokenFifo fifo) {
    if (consumer(fifo) != launch_[i].queue()) return true;
    const auto& pops = pops_[isa::index(fifo)];
    return pops[at + 1] == pops[at] || tokens(state, fifo) > 0;
  });
}

bool LaunchModel::has_room(const State& state, std::size_t i) const {
  const std::size_t at = place_[i];
  return std::all_of(isa::kAllFifos.begin(), isa::kAllFifos.end(), [&](isa::TokenFifo fifo) {
    if (producer(fifo) != launch_[i].queue()) return true;
    const auto& pushes = pushes_[isa::index(fifo)];
    return pushes[at + 1] == pushes[at] || tokens(state, fifo) < tokens_;
  });
}

// Sections 8 to 10: whether the unit is free for the next instruction of its queue.
bool LaunchModel::takes(const State& state, std::size_t queue) const {
  const std::size_t next = state.started[queue], flying = next - state.ended[queue];
  switch (static_cast<isa::Queue>(queue)) {
    case isa::Queue::load: {
      const bool requester_idle = next == 0 || state.granted == burst_ends_[next - 1];
      return requester_idle && next - state.taken < load_waiting_;
    }
    case isa::Queue::compute: {
      if (flying == 0) return true;
      const Kind kind = kinds_[order_[queue][next]];
      return kind != Kind::serial && kind == kinds_[order_[queue][next - 1]] && flying < in_flight_;
    }
    case isa::Queue::store: return flying == 0;
  }
  return false;
}

void LaunchModel::successors(const State& state, std::vector<State>& next) const {
  next.clear();
  const auto move = [&](auto&& change) {
    next.push_back(state);
    change(next.back());
  };
  if (state.fetched < size() && waiting(state, isa::index(launch_[state.fetched].queue())) < commands_)
    move([](State& s) { ++s.fetched; });
  for (std::size_t q = 0; q < isa::kQueues; ++q) {
    const std::size_t started = state.started[q], accessed = state.accessed[q], ended = state.ended[q];
    if (waiting(state, q) > 0 && has_tokens(state, order_[q][started]) && takes(state, q))
      move([&](State& s) { ++s.started[q]; });
    // A load is complete when the drainer has it and all its beats have left.
    const bool worked_off =
        q != kLoad || (accessed < state.taken && state.drained == granted_beats_[burst_ends_[accessed]]);
    if (accessed < started && worked_off) move([&](State& s) { ++s.accessed[q]; });
    if (ended < accessed && has_room(state, order_[q][ended])) move([&](State& s) { ++s.ended[q]; });
  }
  // Section 8: the drainer has one load; section 4: a burst is granted when there are credits for all of it.
  if (state.taken == state.ended[kLoad] && state.taken < state.started[kLoad]) move([](State& s) { ++s.taken; });
  const std::size_t started = state.started[kLoad];
  if (started > 0 && state.granted < burst_ends_[started - 1] &&
      granted_beats_[state.granted] - state.drained + bursts_[state.granted] <= beats_)
    move([](State& s) { ++s.granted; });
  if (state.taken > 0 &&
      state.drained < std::min(granted_beats_[state.granted], granted_beats_[burst_ends_[state.taken - 1]]))
    move([](State& s) { ++s.drained; });
}

bool LaunchModel::complete(const State& state) const {
  return std::all_of(isa::kAllQueues.begin(), isa::kAllQueues.end(), [&](isa::Queue queue) {
    return state.ended[isa::index(queue)] == order_[isa::index(queue)].size();
  });
}

std::size_t LaunchModel::oldest(const State& state) const {
  std::size_t first = size();
  for (std::size_t q = 0; q < isa::kQueues; ++q)
    if (state.ended[q] < order_[q].size()) first = std::min(first, order_[q][state.ended[q]]);
  return first;
}

bool LaunchModel::accessed(const State& state, std::size_t i) const {
  return place_[i] < state.accessed[isa::index(launch_[i].queue())];
}

std::optional<Executions> explore(const LaunchModel& model, std::size_t most_states) {
  Executions all;
  all.before.assign(model.size(), std::vector<bool>(model.size(), false));
  std::set<LaunchModel::State> seen{model.initial()};
  std::vector<LaunchModel::State> todo{model.initial()}, next;
  std::set<std::array<std::size_t, isa::kQueues>> progress;  // of the accesses
  std::vector<bool> done(model.size());
  while (!todo.empty()) {
    const LaunchModel::State state = todo.back();
    todo.pop_back();
    model.successors(state, next);
    if (next.empty()) all.ends.insert(state);
    if (progress.insert(state.accessed).second) {
      for (std::size_t i = 0; i < model.size(); ++i) done[i] = model.accessed(state, i);
      for (std::size_t a = 0; a < model.size(); ++a)
        for (std::size_t b = 0; b < model.size(); ++b)
          if (done[a] && !done[b]) all.before[a][b] = true;
    }
    for (const LaunchModel::State& each : next)
      if (seen.insert(each).second) todo.push_back(each);
    if (seen.size() > most_states) return std::nullopt;
  }
  all.states = seen.size();
  return all;
}

LaunchModel::State walk(const LaunchModel& model, Random& random) {
  LaunchModel::State state = model.initial();
  std::vector<LaunchModel::State> next;
  for (;;) {
    model.successors(state, next);
    if (next.empty()) return state;
    state = next[random.below(next.size())];
  }
}

}  // namespace dovetail::test
