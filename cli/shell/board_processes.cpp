#include "cli/shell/board_processes.h"

#include <utility>

#include <fmt/format.h>

#include "cli/shell/board_run.h"
#include "cli/shell/output.h"
#include "explore/distribute/inherited.h"
#include "explore/distribute/mpi.h"

namespace dovetail::cli {

namespace {

class BoardProcesses : public explore::Transport {
 public:
  BoardProcesses(remote::Place place, int boards, std::unique_ptr<remote::Client> client)
      : place_(std::move(place)), boards_(boards), client_(std::move(client)) {}

  int rank() const override { return 0; }
  int size() const override { return boards_ + 1; }
  std::string host() const override { return "here"; }
  std::string library() const override { return "queue " + to_string(place_.queue); }

  Result<void> send(int to, std::string_view text) override {
    if (text.size() > explore::kMostTextBytes)
      return Diagnostic{"cannot send a job to a board", library(),
                        fmt::format("its text has {} bytes, of at most {}", text.size(), explore::kMostTextBytes),
                        "measure without --on"};
    client_->send(to, std::string(text));
    return {};
  }

  Result<std::optional<Message>> receive(std::chrono::milliseconds patience) override {
    DOVETAIL_ASSIGN(auto event, client_->next(patience));
    if (!event) return std::optional<Message>();
    if (auto* const text = std::get_if<remote::Text>(&event->what))
      return std::optional(Message{event->board, std::move(text->text)});
    if (const auto* const waiting = std::get_if<remote::Waiting>(&event->what)) say_waiting(*waiting, place_);
    else if (const auto* const began = std::get_if<remote::Began>(&event->what)) say_began(*began);
    else if (const auto* const lost = std::get_if<remote::Lost>(&event->what)) {
      print_message("note          {} ({}): {}{}\n", lost->error.what, lost->error.where, lost->error.why,
                    lost->is_replaced ? "; another board or this machine does its work" : "");
      return std::optional(Message{event->board, "", true});
    } else if (const auto* const end = std::get_if<remote::CommandEnd>(&event->what)) {
      if (end->exit != 0) print_message("note          board {}: {}\n", event->board, end->why);
      return std::optional(Message{event->board, "", true});
    }
    return std::optional<Message>();  // what a process prints is of no interest
  }

 private:
  remote::Place place_;
  int boards_;
  std::unique_ptr<remote::Client> client_;
};

}  // namespace

Result<std::unique_ptr<explore::Transport>> other_processes(const BoardArguments& arguments,
                                                            const CommandWords& words) {
  if (!arguments.on) return explore::join_processes();
  if (arguments.wait)
    return Diagnostic{"bad usage", "--wait",
                      "the command waits for no board: this machine works, and boards join later", "leave out --wait"};
  Shipment shipment;
  DOVETAIL_ASSIGN(remote::CommandOrder order, order_for(arguments, words, shipment));
  order.texts = true;
  order.results.clear();  // process 0 writes them
  const remote::Place place = order.place;
  const int boards = order.boards;
  DOVETAIL_ASSIGN(auto client, remote::Client::start(std::move(order)));
  return std::unique_ptr<explore::Transport>(std::make_unique<BoardProcesses>(place, boards, std::move(client)));
}

}  // namespace dovetail::cli
