// The words for launches whose tokens do not add up.
#include <fmt/format.h>

#include <algorithm>

#include "isa/verify/findings.h"

namespace dovetail::isa {
namespace {

std::string fifo_name(TokenFifo fifo) { return fmt::format("{} -> {}", name(producer(fifo)), name(consumer(fifo))); }

constexpr std::array<TokenFifo, kTokenFifos> kAllFifos = {TokenFifo::load_to_compute, TokenFifo::compute_to_load,
                                                          TokenFifo::compute_to_store, TokenFifo::store_to_compute};

// The first instruction that will push to `fifo` and has not.
std::optional<std::size_t> next_pusher(const TokenMachine& machine, TokenFifo fifo) {
  std::size_t skip = machine.pushed(fifo);
  for (std::size_t i = 0; i < machine.size(); ++i)
    if (machine.use(i).pushes_to(fifo) && skip-- == 0) return i;
  return std::nullopt;
}

// "compute waits at #5 `...` for token 3 of load -> compute, which #7 `...` would push".
std::string describe_queue(std::span<const Instruction> program, std::size_t begin, const TokenMachine& machine,
                           Queue queue, QueueDepths depths) {
  std::string text(name(queue));
  if (const auto busy = machine.pushing(queue)) {
    text += fmt::format(" cannot finish {}", cite(program, begin + *busy));
    for (const TokenFifo fifo : kAllFifos)
      if (machine.use(*busy).pushes_to(fifo) && machine.pushed(fifo) - machine.popped(fifo) >= depths.tokens)
        text += fmt::format(", because {} holds {} of {} tokens", fifo_name(fifo),
                            machine.pushed(fifo) - machine.popped(fifo), depths.tokens);
    return text;
  }
  const auto head = machine.head(queue);
  if (!head) return text + " is empty";
  text += fmt::format(" waits at {}", cite(program, begin + *head));
  for (const TokenFifo fifo : kAllFifos) {
    if (!machine.use(*head).pops_from(fifo) || machine.pushed(fifo) > machine.popped(fifo)) continue;
    const auto pusher = next_pusher(machine, fifo);
    text += fmt::format(" for token {} of {}, which {}", machine.popped(fifo) + 1, fifo_name(fifo),
                        pusher ? cite(program, begin + *pusher) + " would push" : std::string("nothing pushes"));
  }
  return text;
}

}  // namespace

Finding deadlock_finding(std::span<const Instruction> program, std::size_t begin, const TokenMachine& machine,
                         QueueDepths depths, bool missing_push) {
  Diagnostic diagnostic;
  std::vector<std::size_t> stuck;
  for (const Queue queue : {Queue::load, Queue::compute, Queue::store}) {
    if (!diagnostic.why.empty()) diagnostic.why += "; ";
    diagnostic.why += describe_queue(program, begin, machine, queue, depths);
    if (const auto busy = machine.pushing(queue)) stuck.push_back(begin + *busy);
    else if (const auto head = machine.head(queue)) stuck.push_back(begin + *head);
  }
  if (const auto next = machine.next_fetch()) {
    const Queue queue = machine.use(*next).queue;
    diagnostic.why += fmt::format("; fetch waits at {}, because the {} queue holds {} of {} instructions",
                                  cite(program, begin + *next), name(queue), machine.waiting(queue), depths.commands);
  }
  std::sort(stuck.begin(), stuck.end());
  diagnostic.what = "deadlock";
  diagnostic.where = cite(program, stuck.front());
  diagnostic.hint = missing_push ? "push the missing tokens before they are waited for, or drop the pops"
                                 : "queues of unlimited depth would not stop: put consumers nearer to their producers "
                                   "in the program, or raise "
                                   "command_queue_depth or token_queue_depth";
  return {FindingKind::deadlock, stuck.front(), std::nullopt, false, std::move(diagnostic), std::nullopt, {}};
}

Finding leftover_finding(std::span<const Instruction> program, std::size_t begin, const TokenMachine& machine,
                         TokenFifo fifo) {
  const std::size_t left = machine.pushed(fifo) - machine.popped(fifo);
  const std::size_t pusher = begin + machine.pusher(fifo, machine.popped(fifo));
  // The last to pop from it: it, or one after it, is the likely place of the missing pop.
  std::optional<std::size_t> last_pop;
  for (std::size_t i = 0; i < machine.size(); ++i)
    if (machine.use(i).pops_from(fifo)) last_pop = begin + i;
  Diagnostic diagnostic;
  diagnostic.what = fmt::format("{} token{} left over in {}", left, left == 1 ? "" : "s", fifo_name(fifo));
  diagnostic.where = cite(program, pusher);
  diagnostic.why = fmt::format("{} pushed and {} popped in the launch; the first that is never popped is pushed here",
                               machine.pushed(fifo), machine.popped(fifo));
  if (last_pop) diagnostic.why += fmt::format(", the last pop is at {}", cite(program, *last_pop));
  diagnostic.hint = "add a pop, or drop the push";
  return {FindingKind::leftover_token, pusher, std::nullopt, false, std::move(diagnostic), std::nullopt, {}};
}

}  // namespace dovetail::isa
