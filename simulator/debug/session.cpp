#include "simulator/debug/session.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "isa/text.h"
#include "isa/verify/token_use.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"

namespace dovetail::simulator {

namespace {

EngineOptions traced(EngineOptions options) {
  options.trace = true;
  return options;
}

}  // namespace

DebugSession::DebugSession(const isa::HardwareConfig& config, std::span<const isa::Instruction> program,
                           std::vector<isa::Launch> launches, Dram dram, const EngineOptions& options)
    : config_(config),
      program_(program),
      launches_(std::move(launches)),
      dram_(std::move(dram)),
      values_(make_functional(config, {.work = options.work})),
      times_(make_cycle_timing(config, traced(options))) {
  begin_launch();
}

void DebugSession::begin_launch() {
  // An empty launch has no instruction to stop at.
  while (!at_end() && launches_[launch_].count == 0) ++launch_;
  trace_.reset();
  standstill_.clear();
  order_.clear();
  done_ = 0;
  cycle_ = 0;
  if (at_end()) return;
  const isa::Launch& launch = launches_[launch_];
  const auto outcome = times_->launch(program_.subspan(launch.begin, launch.count), dram_, launch.begin);
  if (!outcome.ok()) standstill_ = outcome.errors();
  if (const LaunchTrace* timing = times_->timing(); timing != nullptr && !timing->events.empty()) trace_ = *timing;
  for (std::size_t i = 0; i < launch.count; ++i)
    if (!trace_ || trace_->events[i].start > 0) order_.push_back(launch.begin + i);
  if (trace_)
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return trace_->events[a - launch.begin].start < trace_->events[b - launch.begin].start;
    });
}

std::optional<std::uint64_t> DebugSession::cycle() const { return trace_ ? std::optional(now()) : std::nullopt; }

std::optional<std::uint64_t> DebugSession::launch_cycles() const {
  return trace_ && standstill_.empty() ? std::optional(trace_->cycles) : std::nullopt;
}

std::optional<std::size_t> DebugSession::next() const {
  return done_ < order_.size() ? std::optional(order_[done_]) : std::nullopt;
}

const TraceEvent* DebugSession::event(std::size_t instruction) const {
  if (!trace_ || at_end()) return nullptr;
  const isa::Launch& launch = launches_[launch_];
  const bool is_inside = instruction >= launch.begin && instruction - launch.begin < launch.count;
  return is_inside ? &trace_->events[instruction - launch.begin] : nullptr;
}

Result<void> DebugSession::step() {
  DOVETAIL_CHECK(!at_end(), "the program must not be at its end");
  const auto instruction = next();
  if (!instruction) return standstill_;
  // The instruction's tokens are available, because instructions are executed in the computed order.
  isa::Instruction alone = program_[*instruction];
  alone.flags = {};
  const auto executed = values_->launch(std::span(&alone, 1), dram_, *instruction);
  if (!executed.ok()) return executed.errors();
  counters_ += *executed;
  counters_.tokens += static_cast<unsigned>(std::popcount(isa::token_use(program_[*instruction]).pushes));
  if (const TraceEvent* at = event(*instruction)) cycle_ = at->start;
  ++done_;
  if (done_ == order_.size() && standstill_.empty()) {
    ++launch_;
    begin_launch();
  }
  return {};
}

Result<void> DebugSession::run_to_cycle(std::uint64_t cycle, const std::function<bool()>& goes_on) {
  const std::size_t launch = launch_;
  while (!at_end() && launch_ == launch) {
    const auto instruction = next();
    const TraceEvent* at = instruction ? event(*instruction) : nullptr;
    if (at == nullptr || at->start > cycle) break;
    if (goes_on && !goes_on()) return {};
    DOVETAIL_TRY(step());
  }
  if (launch_ == launch && trace_) cycle_ = std::max(cycle_, cycle);
  return {};
}

const SramReader& DebugSession::sram() const { return dynamic_cast<const SramReader&>(*values_); }

Touched DebugSession::touched(std::size_t instruction) const {
  return touched_by(config_, program_[instruction], sram());
}

std::optional<std::array<DebugSession::QueueState, 3>> DebugSession::queues() const {
  if (!trace_) return std::nullopt;
  std::array<QueueState, 3> queues;
  for (const TraceEvent& at : trace_->events) {
    if (at.issue == 0 || at.issue > now()) continue;
    QueueState& queue = queues[isa::index(at.unit)];
    if (at.start == 0 || at.start > now()) queue.waiting.push_back(at.instruction);
    else if (at.end == 0 || at.end > now()) queue.running.push_back(at.instruction);
  }
  return queues;
}

std::optional<std::array<std::uint64_t, 4>> DebugSession::tokens() const {
  if (!trace_) return std::nullopt;
  std::array<std::uint64_t, 4> tokens{};
  for (const TraceEvent& at : trace_->events) {
    const isa::TokenUse use = isa::token_use(program_[at.instruction]);
    for (const isa::TokenFifo fifo : isa::kAllFifos) {
      const auto f = isa::index(fifo);
      if (use.pushes_to(fifo) && at.end > 0 && at.end <= now()) ++tokens[f];
      if (use.pops_from(fifo) && at.start > 0 && at.start <= now()) --tokens[f];
    }
  }
  return tokens;
}

}  // namespace dovetail::simulator
