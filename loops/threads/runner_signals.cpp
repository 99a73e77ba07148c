// Copies of boxes, and the signals that count their bytes.
#include <optional>

#include "loops/threads/runner.h"

namespace dovetail::loops::adversarial {

void Runner::number_signals(const BufferNode& signals) {
  if (!first_signal_.emplace(&signals, signals_.size()).second) return;
  signals_.resize(signals_.size() + static_cast<std::size_t>(element_count(signals.shape)));
}
std::size_t Runner::number_of(const BufferNode& signals, std::size_t at) const {
  return first_signal_.at(&signals) + at;
}

void Runner::share_observations() {
  for (std::size_t number = 0; number < signals_.size(); ++number) {
    std::int32_t most = 0;
    for (const Thread& thread : threads_) most = std::max(most, thread.observed[number]);
    for (Thread& thread : threads_) thread.observed[number] = most;
  }
}

bool Runner::step_signal(Thread& thread, const CoreSignal& n) {
  using Step = CoreSignal::Step;
  Memory& memory = this->memory(thread, *n.signals);
  const std::size_t at = offset(*n.signals, {index(thread, n.signal)}), number = number_of(*n.signals, at);
  Signal& signal = signals_[number];
  if (n.step == Step::start) {
    if (signal.started) throw Broken{fmt::format("signal {} of {} is started twice", at, n.signals->name)};
    note_write(thread, memory, at);
    signal.started = true;
    return true;
  }
  note_read(thread, memory, at);
  if (n.step == Step::expect) {
    expect(thread, number, n.bytes);
    return true;
  }
  const std::int64_t parity = index(thread, n.parity);
  if (signal.phase % 2 == parity) return false;
  // The thread knows only the parity: of the last phase that it has observed and the next one, the one with that parity
  // has ended.
  std::int32_t& observed = thread.observed[number];
  if (observed % 2 == parity) ++observed;
  return true;
}

void Runner::expect(Thread& thread, std::size_t number, std::int64_t bytes) {
  Signal& signal = signals_[number];
  for (const Thread& other : threads_)
    if (thread.observed[number] < signal.phase || other.observed[number] < signal.phase)
      throw Broken{
          fmt::format("thread {} of block {} begins phase {} of a signal, and thread {} has not waited for the one "
                      "before",
                      thread.id.thread, thread.id.block, signal.phase, other.id.thread)};
  if (signal.expects)
    throw Broken{fmt::format("thread {} of block {} sets twice what phase {} of a signal expects", thread.id.thread,
                             thread.id.block, signal.phase)};
  signal.expects = true;
  signal.expected = bytes;
  end_phase(number);
}

// The unit writes an element for a thread.
void Runner::check_box_write(const Thread& thread, const Memory& into, std::size_t at) const {
  const Shadow& shadow = into.shadow[at];
  check_write(thread, into, at);
  const auto fenced = [&](const ThreadId& id, std::int32_t fences) {
    return id.block < 0 || fences < 0 || threads_[static_cast<std::size_t>(id.thread)].fences_at_barrier > fences;
  };
  const bool written = shadow.defined && shadow.signal < 0;
  if ((written && !fenced(shadow.writer, shadow.fences)) || !fenced(shadow.reader, shadow.reader_fences))
    throw Broken{
        fmt::format("the copy of a box for thread {} of block {} writes element {} of {}, which a thread has "
                    "accessed without a fence before a barrier",
                    thread.id.thread, thread.id.block, at, into.buffer->name)};
}

void Runner::start_box(Thread& thread, const CoreBoxCopy& n) {
  Memory &to = memory(thread, *n.to), &from = memory(thread, *n.from), &signals = memory(thread, *n.signals);
  const std::size_t of_signal = offset(*n.signals, {index(thread, n.signal)}),
                    number = number_of(*n.signals, of_signal);
  note_read(thread, signals, of_signal);
  note_read_by_unit(thread, signals, of_signal);
  Signal& signal = signals_[number];
  const std::int64_t bytes = size_bytes(n.to->dtype), line = n.box.back();
  const auto first = static_cast<std::int64_t>(offset(*n.to, indices(thread, n.to_indices))) * bytes;
  if (n.swizzle != 0 && (n.swizzle != line * bytes || first % (8 * n.swizzle) != 0))
    throw Broken{fmt::format("a box with lines of {} bytes at byte {} of {} does not match a swizzle of {}",
                             line * bytes, first, n.to->name, n.swizzle)};
  const std::vector<std::int64_t> corner = indices(thread, n.from_indices);
  std::vector<std::int64_t> place(n.box.size(), 0);
  const std::int64_t lines = element_count(n.box) / line;
  for (std::int64_t l = 0; l < lines; ++l) {
    BoxFlight flight{&to, &from, {}, number};
    for (place.back() = 0; place.back() < line; ++place.back()) {
      const std::int64_t address = first + (l * line + place.back()) * bytes;
      const auto at = static_cast<std::size_t>((n.swizzle == 0 ? address : exchanged(address, n.swizzle)) / bytes);
      if (at >= to.shadow.size())
        throw Broken{
            fmt::format("the copy of a box writes element {} of {}, which has {}", at, n.to->name, to.shadow.size())};
      check_box_write(thread, to, at);
      ++to.shadow[at].landing;
      signal.written.emplace_back(&to, at);
      std::int64_t source = 0;
      for (std::size_t d = 0; d < corner.size() && source >= 0; ++d) {
        const std::int64_t index = corner[d] + place[d];
        source = index < 0 || index >= n.tensor[d] ? -1 : source * n.tensor[d] + index;
      }
      if (source >= 0) {
        note_read(thread, from, static_cast<std::size_t>(source));
        from.leaves(static_cast<std::size_t>(source), 1);
        signal.read.emplace_back(&from, static_cast<std::size_t>(source));
      }
      flight.elements.emplace_back(at, source);
    }
    in_flight_.push_back(std::move(flight));
    for (std::size_t d = n.box.size() - 1; d-- > 0;) {
      if (++place[d] < n.box[d]) break;
      place[d] = 0;
    }
  }
  signal.issued += element_count(n.box) * bytes;
}

void Runner::land_box() {
  if (in_flight_.empty()) return;
  std::swap(in_flight_[below(in_flight_.size())], in_flight_.back());
  const BoxFlight flight = std::move(in_flight_.back());
  in_flight_.pop_back();
  const std::int64_t bytes = size_bytes(flight.to->buffer->dtype);
  for (const auto& [to, from] : flight.elements)
    if (from < 0) std::memset(flight.to->at(to), 0, static_cast<std::size_t>(bytes));
    else
      std::memcpy(flight.to->at(to), flight.from->at(static_cast<std::size_t>(from)), static_cast<std::size_t>(bytes));
  signals_[flight.signal].landed += static_cast<std::int64_t>(flight.elements.size()) * bytes;
  end_phase(flight.signal);
}

void Runner::end_phase(std::size_t number) {
  Signal& signal = signals_[number];
  if (!signal.expects || signal.landed < signal.expected) return;
  if (signal.issued != signal.expected)
    throw Broken{fmt::format("a signal's phase {} expects {} bytes, and copies of {} were started", signal.phase,
                             signal.expected, signal.issued)};
  for (const auto& [memory, element] : signal.written) {
    Shadow& shadow = memory->shadow[element];
    --shadow.landing;
    shadow.defined = true;
    shadow.writer = {};
    shadow.signal = static_cast<int>(number);
    shadow.phase = signal.phase;
  }
  for (const auto& [memory, element] : signal.read) memory->leaves(element, -1);
  signal = {true, signal.phase + 1, false, 0, 0, 0, {}, {}};
  phase_ended_ = true;
}

std::string Runner::missing_phase(const Thread& waiting) const {
  const auto& n = std::get<CoreSignal>(code_->code[waiting.at].node->node);
  std::string state;
  for (std::size_t i = 0; i < static_cast<std::size_t>(element_count(n.signals->shape)); ++i) {
    const Signal& signal = signals_[number_of(*n.signals, i)];
    state += fmt::format("{}signal {} in phase {}: {} of {} bytes", i == 0 ? "" : "; ", i, signal.phase, signal.landed,
                         signal.expects ? signal.expected : 0);
  }
  return fmt::format("thread {} of block {} waits for a signal of {} whose phase does not end ({})", waiting.id.thread,
                     waiting.id.block, n.signals->name, state);
}

void Runner::land_boxes_for(const Thread& waiting) {
  while (!phase_ended_) {
    if (in_flight_.empty()) throw Broken{missing_phase(waiting)};
    land_box();
  }
}

}  // namespace dovetail::loops::adversarial
