#include "simulator/cycle/board.h"

#include <bit>

namespace dovetail::simulator {

namespace {

template <typename Visit>
void for_each_fifo(std::uint8_t fifos, Visit&& visit) {
  for (unsigned bits = fifos; bits != 0; bits &= bits - 1) visit(static_cast<std::size_t>(std::countr_zero(bits)));
}

// Whether the FIFO comes from the preceding queue in the order load, compute, store.
bool is_from_previous(std::size_t fifo) {
  return fifo == isa::index(isa::TokenFifo::load_to_compute) || fifo == isa::index(isa::TokenFifo::compute_to_store);
}

}  // namespace

void Board::clear() {
  for (CommandQueueTimes& queue : queues) queue.clear(static_cast<std::uint64_t>(config.command_queue_depth));
  for (TokenFifoTimes& fifo : tokens) fifo.clear(static_cast<std::uint64_t>(config.token_queue_depth));
  awake = 0;
  stopped = false;
  ended = 0;
  last_end = 0;
  classes = {};
  port = {};
  operand_reads = 0;
}

bool find_head(const Board& board, isa::Queue queue, Head& head) {
  const CommandQueueTimes& commands = board.queues[isa::index(queue)];
  const Issued* issued = commands.head();
  if (issued == nullptr) return false;
  head.instruction = issued->instruction;
  head.issue = issued->cycle;
  head.use = board.routes.of(board.program[issued->instruction]).use;
  head.from = commands.head_from();
  head.token_prev = head.token_next = 0;
  for_each_fifo(head.use.pops, [&](std::size_t fifo) {
    (is_from_previous(fifo) ? head.token_prev : head.token_next) = board.tokens[fifo].token();
  });
  return true;
}

Started start_head(Board& board, const Head& head, Cycle start, StallCause busy) {
  const Started started{
      .instruction = head.instruction, .use = head.use, .from = head.from, .tokens = head.tokens(), .start = start};
  if (board.events != nullptr) {
    StallCause cause = busy;
    if (start == head.issue + static_cast<Cycle>(isa::spec::kIssueToStart.value)) cause = StallCause::fetch;
    else if (start == head.from) cause = StallCause::none;
    else if (busy == StallCause::none)
      cause = head.token_prev == start ? StallCause::token_prev : StallCause::token_next;
    TraceEvent& event = (*board.events)[head.instruction];
    event.start = start;
    event.cause = cause;
  }
  board.last_started[isa::index(head.use.queue)] = head.instruction;
  board.queues[isa::index(head.use.queue)].leave(start);
  board.wake(Part::fetch);
  for_each_fifo(head.use.pops, [&](std::size_t fifo) {
    board.tokens[fifo].leave(start);
    board.wake(producer(static_cast<isa::TokenFifo>(fifo)));
  });
  if (!board.on_start(head.instruction)) board.stopped = true;
  return started;
}

Cycle push_room(const Board& board, isa::TokenUse use) {
  Cycle room = 0;
  for_each_fifo(use.pushes, [&](std::size_t fifo) { room = std::max(room, board.tokens[fifo].room()); });
  return room;
}

void end_instruction(Board& board, const Started& started, Cycle end) {
  for_each_fifo(started.use.pushes, [&](std::size_t fifo) {
    board.tokens[fifo].enter(end);
    board.wake(consumer(static_cast<isa::TokenFifo>(fifo)));
  });
  if (board.events != nullptr) (*board.events)[started.instruction].end = end;
  ++board.ended;
  board.last_end = std::max(board.last_end, end);
}

void count_memory(Board& board, isa::Queue unit, std::size_t instruction, Cycle wait, const MemorySplit& parts) {
  const MemorySplit split = divide_wait(wait, parts);
  board.waits->units[isa::index(unit)] += split;
  board.waits->instructions[instruction] += split;
}

void count_waiting(Board& board, const Started& started, Cycle begin) {
  const isa::Queue unit = started.use.queue;
  const auto until = [&](Cycle end, UnitClass what) {
    if (end <= begin) return;
    board.cycles(unit, what) += end - begin;
    begin = end;
  };
  until(started.from, UnitClass::fetch);
  until(std::min(started.tokens, started.start), UnitClass::token);
  until(started.start + 1, UnitClass::hand_over);
}

}  // namespace dovetail::simulator
