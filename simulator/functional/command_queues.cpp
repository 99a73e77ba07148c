#include "simulator/functional/command_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "isa/text.h"

namespace dovetail::simulator {

namespace {

constexpr std::array kAllQueues{isa::Queue::load, isa::Queue::compute, isa::Queue::store};

isa::TokenFifo fifo_at(std::size_t index) { return static_cast<isa::TokenFifo>(index); }

std::string fifo_name(isa::TokenFifo fifo) { return fmt::format("{}->{}", name(producer(fifo)), name(consumer(fifo))); }

std::string cite(std::span<const isa::Instruction> program, std::size_t first_index, std::size_t instruction) {
  return fmt::format("{} `{}`", first_index + instruction, isa::format_instruction(program[instruction]));
}

}  // namespace

CommandQueues::CommandQueues(isa::QueueDepths depths) : depths_(depths) {}

void CommandQueues::clear() {
  for (Unit& unit : units_) {
    unit.head = unit.count = 0;
    unit.blocked = false;
  }
  tokens_.fill(0);
  waiting_ = 0;
}

void CommandQueues::fetch(std::size_t instruction, isa::TokenUse use) {
  Unit& at = unit(use.queue);
  if (at.count == at.ring.size()) {
    std::rotate(at.ring.begin(), at.ring.begin() + static_cast<std::ptrdiff_t>(at.head), at.ring.end());
    at.head = 0;
    at.ring.resize(std::min(depths_.commands, std::max<std::size_t>(16, 2 * at.ring.size())));
  }
  at.ring[(at.head + at.count) % at.ring.size()] = {instruction, use};
  ++at.count;
  ++waiting_;
}

std::optional<std::size_t> CommandQueues::ready(isa::Queue queue) const {
  const Unit& at = unit(queue);
  if (at.count == 0 || at.blocked || !can_pop(at.ring[at.head].use)) return std::nullopt;
  return at.ring[at.head].instruction;
}

void CommandQueues::start(isa::Queue queue) {
  Unit& at = unit(queue);
  at.running = at.ring[at.head];
  at.head = (at.head + 1) % at.ring.size();
  --at.count;
  pop(at.running.use);
}

bool CommandQueues::finish(isa::Queue queue) {
  Unit& at = unit(queue);
  at.blocked = true;
  return push_blocked(queue);
}

bool CommandQueues::push_blocked(isa::Queue queue) {
  Unit& at = unit(queue);
  if (!at.blocked || !can_push(at.running.use)) return false;
  push(at.running.use);
  at.blocked = false;
  --waiting_;
  return true;
}

bool CommandQueues::tokens_left() const {
  return std::any_of(tokens_.begin(), tokens_.end(), [](std::size_t count) { return count != 0; });
}

std::string CommandQueues::tokens() const {
  std::string text = "tokens:";
  for (std::size_t i = 0; i < isa::kTokenFifos; ++i)
    text += fmt::format("{} {} {}/{}", i == 0 ? "" : ",", fifo_name(fifo_at(i)), tokens_[i], depths_.tokens);
  return text;
}

std::string CommandQueues::state(std::span<const isa::Instruction> program, std::size_t first_index) const {
  std::string text = "queue heads:";
  for (isa::Queue queue : kAllQueues) {
    const Unit& at = unit(queue);
    text += fmt::format(" {}: {};", name(queue),
                        at.blocked      ? cite(program, first_index, at.running.instruction) + " (done, cannot push)"
                        : at.count != 0 ? cite(program, first_index, at.ring[at.head].instruction)
                                        : "empty");
  }
  return text + " " + tokens();
}

Diagnostic CommandQueues::deadlock(std::span<const isa::Instruction> program, std::size_t first_index,
                                   std::size_t next) const {
  std::string why;
  std::size_t oldest = std::numeric_limits<std::size_t>::max();
  bool overflow = false;
  for (isa::Queue queue : kAllQueues) {
    const Unit& at = unit(queue);
    if (at.blocked) {
      oldest = std::min(oldest, at.running.instruction);
      overflow = true;
      why +=
          fmt::format("the {} unit cannot finish {}:", name(queue), cite(program, first_index, at.running.instruction));
      for (std::size_t i = 0; i < isa::kTokenFifos; ++i)
        if (at.running.use.pushes_to(fifo_at(i)) && tokens_[i] == depths_.tokens)
          why += fmt::format(" the token queue {} is full with {} of {};", fifo_name(fifo_at(i)), tokens_[i],
                             depths_.tokens);
    } else if (at.count != 0) {
      const Command& head = at.ring[at.head];
      oldest = std::min(oldest, head.instruction);
      why += fmt::format("the {} queue's head {} waits for a token that never comes:", name(queue),
                         cite(program, first_index, head.instruction));
      for (std::size_t i = 0; i < isa::kTokenFifos; ++i)
        if (head.use.pops_from(fifo_at(i)) && tokens_[i] == 0)
          why += fmt::format(" {} holds 0;", fifo_name(fifo_at(i)));
    } else {
      why += fmt::format("the {} queue is empty;", name(queue));
    }
    why += ' ';
  }
  bool fetch_stopped = false;
  if (next < program.size()) {
    const isa::Queue full = isa::token_use(program[next]).queue;
    fetch_stopped = true;
    why += fmt::format("fetch cannot go past {}, as the {} queue is full with {} of {}; ",
                       cite(program, first_index, next), name(full), unit(full).count, depths_.commands);
  }
  DOVETAIL_CHECK(oldest < program.size(), "a deadlock without a waiting instruction");
  return {
      .what =
          overflow ? "token overflow: the launch comes to a standstill" : "deadlock: the launch comes to a standstill",
      .where = fmt::format("instruction {}", first_index + oldest),
      .why = why + tokens(),
      .hint = overflow ? "pop these tokens earlier, push fewer, or raise `token_queue_depth`"
              : fetch_stopped
                  ? "the missing push may lie behind the instruction that fetch cannot pass: move it forward, or raise "
                    "`command_queue_depth`"
                  : "add the missing push to the neighbour queue, or remove the pop"};
}

Diagnostic CommandQueues::leftover_tokens(std::size_t first_index, std::size_t size) const {
  std::string why = "token queues must be empty between launches, but";
  const char* separator = " ";
  for (std::size_t i = 0; i < isa::kTokenFifos; ++i) {
    if (tokens_[i] == 0) continue;
    why += fmt::format("{}{} holds {}", separator, fifo_name(fifo_at(i)), tokens_[i]);
    separator = ", ";
  }
  return {.what = "tokens are left over at the end of the launch",
          .where = fmt::format("instructions [{}, {})", first_index, first_index + size),
          .why = why,
          .hint = "pop them, in VTA's manner with a NOP before FINISH, or remove the pushes"};
}

}  // namespace dovetail::simulator
