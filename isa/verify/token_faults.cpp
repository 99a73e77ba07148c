#include "isa/verify/token_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "isa/text.h"

namespace dovetail::isa {
namespace {

std::string fifo_name(TokenFifo fifo) { return fmt::format("{} -> {}", name(producer(fifo)), name(consumer(fifo))); }

// Formats the texts for one launch.
class Describer {
 public:
  Describer(std::span<const Instruction> launch, std::size_t first_index)
      : launch_(launch), first_index_(first_index) {}

  std::string cite(std::size_t instruction) const {
    return fmt::format("#{} `{}`", first_index_ + instruction, format_instruction(launch_[instruction]));
  }
  // A text that says what fetch and each queue wait for.
  std::string standstill(const TokenMachine& machine, QueueDepths depths) const {
    std::string text;
    for (const Queue queue : kAllQueues) {
      if (!text.empty()) text += "; ";
      text += describe(machine, queue, depths);
    }
    if (const auto next = machine.next_fetch()) {
      const Queue queue = machine.use(*next).queue;
      text += fmt::format("; fetch waits at {}, because the {} queue contains {} of {} instructions", cite(*next),
                          name(queue), machine.queues().waiting(queue), depths.commands);
    }
    return text;
  }

 private:
  // "compute waits at #5 `...` for token 3 of load -> compute, which #7 `...` would push".
  std::string describe(const TokenMachine& machine, Queue queue, QueueDepths depths) const {
    std::string text(name(queue));
    const auto oldest = machine.queues().oldest(queue), head = machine.queues().head(queue);
    if (oldest) {
      text += fmt::format(" cannot finish {}", cite(*oldest));
      for (const TokenFifo fifo : kAllFifos)
        if (machine.use(*oldest).pushes_to(fifo) && machine.queues().tokens(fifo) >= depths.tokens)
          text += fmt::format(", because {} contains {} of {} tokens", fifo_name(fifo), machine.queues().tokens(fifo),
                              depths.tokens);
    }
    if (!head) return oldest ? text : text + " is empty";
    const std::string token = missing_tokens(machine, *head);
    text += fmt::format("{} waits at {}", oldest ? ", and" : "", cite(*head));
    return text + (token.empty() ? " until the unit takes it" : token);
  }

  std::string missing_tokens(const TokenMachine& machine, std::size_t head) const {
    std::string text;
    for (const TokenFifo fifo : kAllFifos) {
      if (!machine.use(head).pops_from(fifo) || machine.queues().tokens(fifo) != 0) continue;
      const auto pusher = next_pusher(machine, fifo);
      text += fmt::format(" for token {} of {}, which {}", machine.popped(fifo) + 1, fifo_name(fifo),
                          pusher ? cite(*pusher) + " would push" : std::string("nothing pushes"));
    }
    return text;
  }

  // The first instruction that will push to `fifo` but has not yet.
  static std::optional<std::size_t> next_pusher(const TokenMachine& machine, TokenFifo fifo) {
    std::size_t skip = machine.pushed(fifo);
    for (std::size_t i = 0; i < machine.size(); ++i)
      if (machine.use(i).pushes_to(fifo) && skip-- == 0) return i;
    return std::nullopt;
  }

  std::span<const Instruction> launch_;
  std::size_t first_index_;
};

}  // namespace

TokenFault deadlock_fault(std::span<const Instruction> launch, std::size_t first_index, const TokenMachine& at_rest,
                          QueueDepths depths, const TokenMachine& unlimited, bool token_missing) {
  const Describer words(launch, first_index);
  std::size_t oldest = launch.size() - 1;
  for (const Queue queue : kAllQueues) {
    const auto flying = at_rest.queues().oldest(queue);
    if (const auto stuck = flying ? flying : at_rest.queues().head(queue)) oldest = std::min(oldest, *stuck);
  }
  Diagnostic diagnostic;
  diagnostic.what = token_missing ? "deadlock, as a token is missing" : "deadlock, as queues are too short";
  diagnostic.where = words.cite(oldest);
  diagnostic.why = words.standstill(at_rest, depths);
  if (token_missing) {
    const std::string missing = words.standstill(unlimited, {});
    if (missing != diagnostic.why) diagnostic.why += ". With queues of unlimited depth, " + missing;
    diagnostic.hint = "push the missing tokens before they are popped, or remove the pops";
  } else {
    diagnostic.hint =
        "there is no deadlock with queues of unlimited depth: move consumers closer to their producers in the program, "
        "or raise "
        "command_queue_depth or token_queue_depth";
  }
  return {FindingKind::deadlock, first_index + oldest, std::move(diagnostic)};
}

std::optional<TokenFault> leftover_fault(std::span<const Instruction> launch, std::size_t first_index,
                                         const TokenMachine& ended, TokenFifo fifo) {
  const std::size_t left = ended.queues().tokens(fifo);
  if (left == 0) return std::nullopt;
  const Describer words(launch, first_index);
  const std::size_t pusher = ended.pusher(fifo, ended.popped(fifo));
  // The last pop: this instruction, or a later one, is the likely place of the missing pop.
  std::optional<std::size_t> last_pop;
  for (std::size_t i = 0; i < ended.size(); ++i)
    if (ended.use(i).pops_from(fifo)) last_pop = i;
  Diagnostic diagnostic;
  diagnostic.what = fmt::format("{} token{} left over in {}", left, left == 1 ? "" : "s", fifo_name(fifo));
  diagnostic.where = words.cite(pusher);
  diagnostic.why = fmt::format("{} pushed and {} popped in the launch; the first that is never popped is pushed here",
                               ended.pushed(fifo), ended.popped(fifo));
  if (last_pop) diagnostic.why += fmt::format(", the last pop is at {}", words.cite(*last_pop));
  diagnostic.hint = "add a pop, or remove the push";
  return TokenFault{FindingKind::leftover_token, first_index + pusher, std::move(diagnostic)};
}

std::vector<TokenFault> token_faults(const HardwareConfig& config, std::span<const Instruction> launch,
                                     std::size_t first_index) {
  const QueueDepths depths = queue_depths(config);
  TokenMachine machine(launch, depths);
  std::vector<TokenFault> faults;
  if (!machine.run()) {
    const TokenMachine at_rest = machine;
    machine.set_depths({});
    const bool token_missing = !machine.run();
    faults.push_back(deadlock_fault(launch, first_index, at_rest, depths, machine, token_missing));
    return faults;
  }
  for (const TokenFifo fifo : kAllFifos)
    if (auto fault = leftover_fault(launch, first_index, machine, fifo)) faults.push_back(*std::move(fault));
  return faults;
}

}  // namespace dovetail::isa
