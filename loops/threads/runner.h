// One kernel on threads that run in adversarial orders, with a record of each element's accesses: run_threads.h lists
// the rules that it checks.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "loops/rewrite.h"
#include "loops/scalar/operations.h"
#include "loops/threads/runner_state.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops::adversarial {

class Runner {
 public:
  Runner(const ThreadKernel& kernel, const std::vector<WarpOperation>* operations,
         std::map<const BufferNode*, Memory*> global, std::uint64_t seed)
      : kernel_(kernel), operations_(operations), memory_(std::move(global)), random_(seed) {
    for (const BoundAxis& axis : kernel.axes) listing_.formulas.variable(*axis.var);
    for (const Buffer& buffer : kernel.local)
      listing_.formulas.buffer(*buffer);  // the first ones are private to a thread
    listing_.add(kernel.body);
    code_ = &listing_;
    for (const Buffer& buffer : kernel.shared) shared_.emplace(buffer.get(), Memory(buffer));
    for (auto& [buffer, memory] : shared_) memory_[buffer] = &memory;
    for (const BufferNode* buffer : listing_.written)
      if (const auto found = memory_.find(buffer); found != memory_.end()) found->second->note_accesses();
    for (const Instruction& i : listing_.code)
      if (i.kind == Instruction::Kind::signal) number_signals(*std::get<CoreSignal>(i.node->node).signals);
      else if (i.kind == Instruction::Kind::box) number_signals(*std::get<CoreBoxCopy>(i.node->node).signals);
  }

  void run() {
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(kernel_.blocks()));
    std::iota(blocks.begin(), blocks.end(), 0);
    shuffle(blocks);
    for (const std::int64_t block : blocks) run_block(block);
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_.next() % count); }
  void shuffle(std::vector<std::int64_t>& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }

  void run_block(std::int64_t block) {
    for (auto& [buffer, memory] : shared_) memory.forget();
    std::vector<Thread> threads(static_cast<std::size_t>(kernel_.threads()));
    threads_ = threads;
    signals_.assign(signals_.size(), {});
    in_flight_.clear();
    for (std::size_t i = 0; i < threads.size(); ++i) start(threads[i], block, static_cast<std::int64_t>(i));
    std::vector<std::size_t> running(threads.size()), waiting, stopped;  // `stopped`: threads at a wait for a signal
    std::iota(running.begin(), running.end(), std::size_t{0});
    const CoreNode* barrier = nullptr;
    std::map<std::size_t, Calling> warps;  // warps in which lanes wait for others
    while (!running.empty() || !stopped.empty()) {
      if (running.empty()) land_boxes_for(threads[stopped.front()]);
      else if (below(4) == 0) land_box();
      if (std::exchange(phase_ended_, false))
        running.insert(running.end(), stopped.begin(), stopped.end()), stopped.clear();
      if (running.empty()) continue;
      // Runs a few statements of one thread, then of another: sometimes one runs far ahead.
      const std::size_t chosen = below(running.size());
      Thread& thread = threads[running[chosen]];
      land_some(thread);
      for (std::size_t steps = below(8) == 0 ? 1000 : 1 + below(4); steps > 0; --steps) {
        const CoreNode* const reached = step(thread);
        const bool done = reached == nullptr && thread.at >= listing_.code.size();
        if (reached == nullptr && !done) continue;
        if (reached != nullptr && std::holds_alternative<CoreSignal>(reached->node)) {
          stopped.push_back(running[chosen]);
          running[chosen] = running.back();
          running.pop_back();
          break;
        }
        if (reached != nullptr && lanes_of(*reached) > 0) {
          const std::size_t index = running[chosen];
          running[chosen] = running.back();
          running.pop_back();
          const std::size_t lanes = lanes_of(*reached);
          if (come_to_call(threads, index, reached, lanes, warps)) {
            const std::size_t first = index / lanes * lanes;
            for (std::size_t lane = 0; lane < lanes; ++lane) running.push_back(first + lane);
          }
          break;
        }
        if (thread.shuffle != nullptr) {
          // The last of its lanes releases the others, and continues itself.
          const std::vector<std::size_t> woken = exchange(threads, running[chosen]);
          running.insert(running.end(), woken.begin(), woken.end());
          if (thread.shuffle == nullptr) continue;
        } else if (reached != nullptr) {
          if (!waiting.empty() && reached != barrier)
            throw Broken{fmt::format("threads {} and {} of block {} wait at different barriers",
                                     threads[waiting.front()].id.thread, thread.id.thread, block)};
          barrier = reached;
          waiting.push_back(running[chosen]);
        } else if (!waiting.empty()) {
          throw Broken{fmt::format("thread {} of block {} ends, thread {} waits for it at a barrier", thread.id.thread,
                                   block, threads[waiting.front()].id.thread)};
        }
        running[chosen] = running.back();
        running.pop_back();
        break;
      }
      if (!running.empty() || !stopped.empty()) continue;
      if (!warps.empty())
        throw Broken{fmt::format("{} of {} lanes from thread {} of block {} on reach {}", warps.begin()->second.lanes,
                                 lanes_of(*warps.begin()->second.node), warps.begin()->first, block,
                                 words_of(*warps.begin()->second.node))};
      for (const Thread& thread : threads)
        if (thread.shuffle != nullptr) throw Broken{missing_lane(threads, thread)};
      if (!waiting.empty() && waiting.size() < threads.size())
        throw Broken{
            fmt::format("{} of {} threads of block {} reach a barrier", waiting.size(), threads.size(), block)};
      for (const std::size_t i : waiting) {
        ++threads[i].id.epoch;
        threads[i].fences_at_barrier = threads[i].fences;
      }
      if (!waiting.empty()) share_observations();
      running = std::exchange(waiting, {});
    }
  }

  // ---- Operations of warps: all lanes reach the same call, which is then executed, or the same barrier of their warp,
  // and then continue (runner_calls.cpp).

  struct Calling {
    const CoreNode* node = nullptr;
    std::size_t lanes = 0;
  };
  // The location of an element of an operand, with the lane that has it.
  struct Place {
    Thread* lane = nullptr;
    Memory* memory = nullptr;
    std::size_t element = 0;
  };
  const WarpOperation& operation_of(const CoreCall& call) const;
  std::size_t lanes_of(const CoreCall& call) const;
  std::size_t lanes_of(const CoreNode& node) const;  // 0: it is neither
  static std::string words_of(const CoreNode& node);
  // A lane reaches a call: whether it was the last lane, and the call is done. Waiting calls are identified by their
  // first thread.
  bool come_to_call(std::vector<Thread>& threads, std::size_t index, const CoreNode* node, std::size_t lanes,
                    std::map<std::size_t, Calling>& warps);
  std::vector<Place> places_of(std::span<Thread> lanes, const IntrinsicOperand& operand, const LaneMap& map,
                               const Shape& shape);
  // The locations of a matrix's elements, row by row as the unit reads them, from the first element, which must be the
  // same for all threads.
  std::vector<Place> places_of(std::span<Thread> lanes, const IntrinsicOperand& operand, const CoreMatrix& matrix,
                               const Shape& shape);
  void note_read_by_warp(Thread& lane, Memory& from, std::size_t at);
  void carry_out(std::span<Thread> lanes, const CoreCall& call);

  // Calls that complete later.
  void note_read_by_unit(const Thread& lane, const Memory& from, std::size_t at) const;
  void note_sum(const Thread& lane, const WarpOperation& operation, const Place& place) const;
  void begin_later(std::span<Thread> lanes, const WarpOperation& operation,
                   const std::vector<std::vector<Place>>& places);
  void step_calls(Thread& thread, const CoreCallGroup& n);

  // ---- Copies of boxes, and signals (runner_signals.cpp). Lines of a box are written in any order after the copy's
  // start. A phase ends when all its expected bytes are written; threads waiting for it then continue.

  void number_signals(const BufferNode& signals);
  std::size_t number_of(const BufferNode& signals, std::size_t at) const;
  void start_box(Thread& thread, const CoreBoxCopy& n);
  bool step_signal(Thread& thread, const CoreSignal& n);  // false: it has to wait
  void expect(Thread& thread, std::size_t number, std::int64_t bytes);
  void land_box();
  void land_boxes_for(const Thread& waiting);  // until a phase ends
  void end_phase(std::size_t number);          // called when all bytes have been written
  void share_observations();                   // at a barrier
  void check_box_write(const Thread& thread, const Memory& into, std::size_t at) const;
  std::string missing_phase(const Thread& waiting) const;
  // A thread that accesses the destination of a copy must have waited for it.
  static void check_observed(const Thread& thread, const Memory& memory, std::size_t at) {
    const Shadow& shadow = memory.shadow[at];
    if (shadow.signal >= 0 && thread.observed[static_cast<std::size_t>(shadow.signal)] <= shadow.phase)
      throw Broken{fmt::format(
          "thread {} of block {} accesses element {} of {}, which the copy of a box wrote, before it knows that the "
          "signal's phase {} has ended",
          thread.id.thread, thread.id.block, at, memory.buffer->name, shadow.phase)};
  }

  // ---- Shuffles. A warp is kWarpLanes neighboring threads.

  static std::int64_t lane_of(const Thread& thread) { return thread.id.thread % kWarpLanes; }
  static bool takes_part(const CoreShuffle& n, std::int64_t lane) { return (n.mask >> lane & 1U) != 0; }

  // The thread has reached a shuffle. Once all lanes have, each receives its value, and the waiting ones are returned.
  std::vector<std::size_t> exchange(std::vector<Thread>& threads, std::size_t last) {
    const CoreShuffle& n = *threads[last].shuffle;
    const std::size_t warp = last - static_cast<std::size_t>(lane_of(threads[last]));
    if (!takes_part(n, lane_of(threads[last])))
      throw Broken{fmt::format("thread {} of block {} reaches a shuffle whose mask {:#x} leaves its lane {} out",
                               threads[last].id.thread, threads[last].id.block, n.mask, lane_of(threads[last]))};
    std::vector<std::size_t> lanes;
    for (std::int64_t lane = 0; lane < kWarpLanes; ++lane) {
      const std::size_t at = warp + static_cast<std::size_t>(lane);
      if (!takes_part(n, lane)) continue;
      if (at >= threads.size() || threads[at].shuffle != &n) return {};
      lanes.push_back(at);
    }
    for (const std::size_t at : lanes) {
      const std::int64_t from = lane_of(threads[at]) ^ n.distance;
      if (from >= kWarpLanes || !takes_part(n, from))
        throw Broken{fmt::format("lane {} of block {} reads from lane {}, which does not participate in the shuffle",
                                 lane_of(threads[at]), threads[at].id.block, from)};
      assign(threads[at], n.to, threads[warp + static_cast<std::size_t>(from)].offered);
    }
    for (const std::size_t at : lanes) threads[at].shuffle = nullptr;
    std::erase(lanes, last);
    return lanes;
  }

  static std::string missing_lane(const std::vector<Thread>& threads, const Thread& waiting) {
    const std::size_t warp = static_cast<std::size_t>(waiting.id.thread - lane_of(waiting));
    std::int64_t lane = 0;
    for (; lane < kWarpLanes; ++lane) {
      const std::size_t at = warp + static_cast<std::size_t>(lane);
      if (takes_part(*waiting.shuffle, lane) && (at >= threads.size() || threads[at].shuffle != waiting.shuffle)) break;
    }
    return fmt::format("thread {} of block {} waits at a shuffle for lane {}, which does not reach it",
                       waiting.id.thread, waiting.id.block, lane);
  }

  void start(Thread& thread, std::int64_t block, std::int64_t index) {
    thread.id = {static_cast<std::int32_t>(block), static_cast<std::int32_t>(index), 0};
    thread.values.assign(listing_.formulas.variable_count(), 0);
    thread.observed.assign(signals_.size(), 0);
    std::int64_t of_block = block, of_thread = index;
    for (const char* axis : {"block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z"}) {
      const auto bound = std::ranges::find(kernel_.axes, axis, &BoundAxis::axis);
      if (bound == kernel_.axes.end()) continue;
      std::int64_t& left = bound->is_block() ? of_block : of_thread;
      thread.values[listing_.formulas.variable(*bound->var)] = left % bound->extent;
      left /= bound->extent;
    }
    thread.own.reserve(kernel_.local.size());
    for (const Buffer& buffer : kernel_.local) thread.own.emplace_back(buffer);
  }

  // Executes one instruction; returns the barrier that the thread now waits at, else null.
  const CoreNode* step(Thread& thread) {
    using Kind = Instruction::Kind;
    if (thread.at >= code_->code.size()) return nullptr;
    const Instruction& i = code_->code[thread.at++];
    switch (i.kind) {
      case Kind::store: store(thread, i); break;
      case Kind::forget: memory(thread, *std::get<CoreForget>(i.node->node).buffer).forget(); break;
      case Kind::barrier:
      case Kind::call: return i.node;
      case Kind::copy: start_copy(thread, std::get<CoreAsyncCopy>(i.node->node)); break;
      case Kind::group: step_groups(thread, std::get<CoreAsyncGroup>(i.node->node)); break;
      case Kind::call_group: step_calls(thread, std::get<CoreCallGroup>(i.node->node)); break;
      case Kind::fence: ++thread.fences; break;
      case Kind::box: start_box(thread, std::get<CoreBoxCopy>(i.node->node)); break;
      case Kind::signal:
        if (step_signal(thread, std::get<CoreSignal>(i.node->node))) break;
        --thread.at;
        return i.node;
      case Kind::shuffle:
        thread.shuffle = &std::get<CoreShuffle>(i.node->node);
        thread.offered = load(thread, code_->access(thread.shuffle->from));
        return i.node;
      case Kind::loop: thread.values[i.variable] = 0; break;
      case Kind::next:
        if (++thread.values[i.variable] < i.extent) thread.at = i.target;
        break;
      case Kind::branch:
        if (!evaluate(thread, i.first).truth()) thread.at = i.target;
        break;
      case Kind::jump: thread.at = i.target; break;
    }
    return nullptr;
  }

  Memory& memory(Thread& thread, std::size_t number) {
    if (number < thread.own.size()) return thread.own[number];
    if (number < places_.size() && places_[number] != nullptr && code_ == &listing_) return *places_[number];
    const BufferNode* const buffer = code_->formulas.buffers[number];
    const auto found = memory_.find(buffer);
    if (found == memory_.end()) throw Broken{fmt::format("buffer {} has no memory", buffer->name)};
    if (code_ == &listing_) {
      places_.resize(std::max(places_.size(), number + 1));
      places_[number] = found->second;
    }
    return *found->second;
  }
  Memory& memory(Thread& thread, const BufferNode& buffer) { return memory(thread, code_->formulas.buffer(buffer)); }

  std::size_t element(Thread& thread, const Access& access) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      const std::int64_t index = evaluate(thread, access.indices[d]).as<std::int64_t>();
      const std::int64_t extent = access.buffer->shape[d];
      if (index < 0 || index >= extent) outside(*access.buffer, d, index);
      offset = offset * extent + index;
    }
    return static_cast<std::size_t>(offset);
  }
  std::int64_t index(Thread& thread, const Expr& expr) {
    return evaluate(thread, code_->formulas.index(expr)).as<std::int64_t>();
  }
  std::vector<std::int64_t> indices(Thread& thread, const std::vector<Expr>& exprs) {
    std::vector<std::int64_t> values;
    for (const Expr& expr : exprs) values.push_back(index(thread, expr));
    return values;
  }
  static std::size_t offset(const BufferNode& buffer, const std::vector<std::int64_t>& indices) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (indices[d] < 0 || indices[d] >= buffer.shape[d]) outside(buffer, d, indices[d]);
      offset = offset * buffer.shape[d] + indices[d];
    }
    return static_cast<std::size_t>(offset);
  }

  [[noreturn]] static void outside(const BufferNode& buffer, std::size_t dimension, std::int64_t index) {
    throw Broken{fmt::format("index {} of {} is outside of 0 <= index < {} (dimension {})", index, buffer.name,
                             buffer.shape[dimension], dimension)};
  }

  [[noreturn]] static void race(const Memory& memory, std::size_t element, const ThreadId& a, const ThreadId& b,
                                bool a_wrote) {
    throw Broken{
        fmt::format("thread {} of block {} {} element {} of {}, which thread {} of block {} writes without a "
                    "barrier between them",
                    a.thread, a.block, a_wrote ? "wrote" : "read", element, memory.buffer->name, b.thread, b.block)};
  }
  static bool ordered(const ThreadId& before, const ThreadId& now) {
    return before.block < 0 ||
           (before.block == now.block && (before.thread == now.thread || before.epoch < now.epoch ||
                                          (before.warp() == now.warp() && before.warp_epoch < now.warp_epoch)));
  }

  // ---- Asynchronous copies. Each element is written at the start, at the wait, or at some time between, as the seed
  // selects. In any case no thread may access the element until the wait.

  void start_copy(Thread& thread, const CoreAsyncCopy& n) {
    Memory& to = memory(thread, *n.to);
    Memory& from = memory(thread, *n.from);
    const bool inside = !n.condition || evaluate(thread, code_->formulas.formula(n.condition)).truth();
    std::vector<std::int64_t> place = indices(thread, n.to_indices), source;
    if (inside) source = indices(thread, n.from_indices);
    const std::size_t to_run = run_dimension(n.to->shape), from_run = run_dimension(n.from->shape);
    for (std::int64_t i = 0; i < n.elements; ++i) {
      Flight flight{&to, inside ? &from : nullptr, offset(*n.to, place), 0};
      ++place[to_run];
      check_write(thread, to, flight.to_element);
      ++to.shadow[flight.to_element].landing;
      if (inside) {
        flight.from_element = offset(*n.from, source);
        ++source[from_run];
        note_read(thread, from, flight.from_element);
        from.leaves(flight.from_element, 1);
      }
      if (below(3) == 0) flight.land();
      thread.started.push_back(flight);
    }
  }

  void step_groups(Thread& thread, const CoreAsyncGroup& n) {
    if (n.step == CoreAsyncGroup::Step::commit) {
      thread.groups.push_back(std::exchange(thread.started, {}));
      return;
    }
    // After the wait the elements count as written by the thread.
    while (static_cast<std::int64_t>(thread.groups.size()) > n.groups) {
      for (Flight& flight : thread.groups.front()) {
        flight.land();
        Shadow& shadow = flight.to->shadow[flight.to_element];
        --shadow.landing;
        note_written(thread, shadow);
        if (flight.from != nullptr) flight.from->leaves(flight.from_element, -1);
      }
      thread.groups.pop_front();
    }
  }

  void land_some(Thread& thread) {
    for (std::vector<Flight>& group : thread.groups)
      for (Flight& flight : group)
        if (below(4) == 0) flight.land();
  }

  ScalarValue load(Thread& thread, std::size_t access) {
    const Access& n = code_->formulas.accesses[access];
    Memory& from = memory(thread, n.number);
    const std::size_t at = element(thread, n);
    note_read(thread, from, at);
    return read(n.buffer->dtype, from.at(at));
  }

  void note_read(Thread& thread, Memory& from, std::size_t at) {
    if (from.shadow.empty()) return;
    Shadow& shadow = from.shadow[at];
    if (shadow.landing > 0)
      throw Broken{fmt::format(
          "thread {} of block {} reads element {} of {}, which an asynchronous copy or a call in flight may "
          "write",
          thread.id.thread, thread.id.block, at, from.buffer->name)};
    if (!shadow.defined)
      throw Broken{fmt::format("element {} of {} is read but was never written", at, from.buffer->name)};
    if (!ordered(shadow.writer, thread.id)) race(from, at, thread.id, shadow.writer, false);
    check_observed(thread, from, at);
    if (shadow.reader.block >= 0 && shadow.reader.block != thread.id.block) {
      shadow.several_blocks = true;
    } else if (shadow.reader.block >= 0 && shadow.reader.epoch == thread.id.epoch) {
      shadow.several_warps |= shadow.reader.warp() != thread.id.warp();
      shadow.several_threads = shadow.reader.warp_epoch == thread.id.warp_epoch &&
                               (shadow.several_threads || shadow.reader.thread != thread.id.thread);
    } else {
      shadow.several_threads = shadow.several_warps = false;
    }
    shadow.reader = thread.id;
    shadow.reader_fences = thread.fences;
  }

  // Checks that the thread may write the element now.
  static void check_write(const Thread& thread, const Memory& into, std::size_t at) {
    const Shadow& shadow = into.shadow[at];
    if (shadow.landing > 0 || shadow.leaving > 0)
      throw Broken{
          fmt::format("thread {} of block {} writes element {} of {}, {} which an asynchronous copy or a call may be "
                      "in flight",
                      thread.id.thread, thread.id.block, at, into.buffer->name, shadow.landing > 0 ? "to" : "from")};
    if (!ordered(shadow.writer, thread.id)) race(into, at, shadow.writer, thread.id, true);
    check_observed(thread, into, at);
    const bool now = shadow.reader.epoch == thread.id.epoch;
    const bool several =
        shadow.several_warps || (shadow.several_threads && shadow.reader.warp_epoch == thread.id.warp_epoch);
    const bool alone = !shadow.several_blocks && !(now && several) && ordered(shadow.reader, thread.id);
    if (!alone) race(into, at, shadow.reader, thread.id, false);
  }

  static void note_write(const Thread& thread, Memory& into, std::size_t at) {
    check_write(thread, into, at);
    note_written(thread, into.shadow[at]);
  }
  static void note_written(const Thread& thread, Shadow& shadow) {
    shadow.defined = true;
    shadow.writer = thread.id;
    shadow.fences = thread.fences;
    shadow.arrivals = thread.arrivals;
    shadow.signal = -1;
  }

  // All values are evaluated before the first one is written.
  void store(Thread& thread, const Instruction& n) {
    std::vector<std::pair<std::size_t, ScalarValue>> values;
    for (std::size_t i = 1; i < n.count; ++i) values.push_back(found(thread, code_->targets[n.first + i]));
    const auto [element, value] = found(thread, code_->targets[n.first]);
    assign(thread, code_->targets[n.first], element, value);
    for (std::size_t i = 1; i < n.count; ++i)
      assign(thread, code_->targets[n.first + i], values[i - 1].first, values[i - 1].second);
  }
  std::pair<std::size_t, ScalarValue> found(Thread& thread, const Target& target) {
    const std::size_t at = element(thread, code_->formulas.accesses[target.access]);
    return {at, evaluate(thread, target.value)};
  }
  void assign(Thread& thread, const Target& target, std::size_t at, ScalarValue value) {
    const Access& access = code_->formulas.accesses[target.access];
    Memory& into = memory(thread, access.number);
    note_write(thread, into, at);
    write(access.buffer->dtype, into.at(at), value);
  }
  void assign(Thread& thread, const LoadExpr& place, ScalarValue value) {
    const Target target{code_->access(place), 0};
    assign(thread, target, element(thread, code_->formulas.accesses[target.access]), value);
  }

  ScalarValue evaluate(Thread& thread, std::size_t formula) {
    using Kind = Formula::Kind;
    const Formula& n = code_->formulas.formulas[formula];
    switch (n.kind) {
      case Kind::constant: return n.value;
      case Kind::variable: return ScalarValue::of(thread.values[n.number]);
      case Kind::sum: {
        std::uint64_t sum = n.value.bits;
        const Term* term = code_->formulas.terms.data() + n.number;
        for (const Term* const end = term + n.count; term != end; ++term)
          sum += term->factor * static_cast<std::uint64_t>(thread.values[term->number]);
        for (const Term* const end = term + n.more; term != end; ++term)
          sum += term->factor * evaluate(thread, term->number).bits;
        return ScalarValue::of(sum);
      }
      case Kind::shift: return ScalarValue::of(evaluate(thread, n.a).as<std::int64_t>() >> n.number);
      case Kind::mask: return ScalarValue::of(evaluate(thread, n.a).bits & n.value.bits);
      case Kind::unary:
      case Kind::convert: return n.function1(evaluate(thread, n.a));
      case Kind::binary: {
        const ScalarValue a = evaluate(thread, n.a);
        ScalarValue result;
        if (!n.function2(a, evaluate(thread, n.b), result)) throw Broken{"integer division by zero"};
        return result;
      }
      case Kind::select: return evaluate(thread, evaluate(thread, n.a).truth() ? n.b : n.c);
      case Kind::load: return load(thread, n.number);
      case Kind::requantize: break;
    }
    const ScalarValue acc = evaluate(thread, n.a), scale = evaluate(thread, n.b);
    return ScalarValue::of(
        scalar::requantize(acc.as<std::int32_t>(), scale.as<float>(), evaluate(thread, n.c).as<std::int32_t>()));
  }

  const ThreadKernel& kernel_;
  const std::vector<WarpOperation>* operations_;  // null: none
  std::map<const BufferNode*, Memory*> memory_;
  std::map<const BufferNode*, Memory> shared_;
  Listing listing_;
  Listing* code_ = nullptr;      // the running code: the kernel's, or an operation's semantics
  std::vector<Memory*> places_;  // memory of the kernel's buffers, by number, once it was used
  std::span<Thread> threads_;    // of the running block
  std::map<const WarpOperation*, std::unique_ptr<Meaning>> meanings_;
  std::map<const BufferNode*, std::size_t> first_signal_;  // number of a buffer's first signal
  std::vector<Signal> signals_;                            // of the running block
  std::vector<BoxFlight> in_flight_;
  bool phase_ended_ = false;  // since threads last observed it
  SplitMix64 random_;
};

}  // namespace dovetail::loops::adversarial
