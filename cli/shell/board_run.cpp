#include "cli/shell/board_run.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "cli/shell/watched_work.h"

namespace dovetail::cli {

namespace {

constexpr std::chrono::milliseconds kPatience{100};

}  // namespace

void say_began(const remote::Began& began) {
  const std::string facts = fmt::format("{}", fmt::join(began.board.facts, ", "));
  print_message("board         {}: {}\n", began.board.name, facts);
}

void say_waiting(const remote::Waiting& waiting, const remote::Place& place) {
  const std::string label = place.label.empty() ? "" : fmt::format(" for {}", place.label);
  if (waiting.boards == 0) print_message("waiting       no board{} is connected\n", label);
  else
    print_message("waiting       {}{}, {} before this one\n",
                  waiting.boards == 1 ? "the board is busy" : fmt::format("{} boards are busy", waiting.boards), label,
                  waiting.before == 0 ? "none" : std::to_string(waiting.before));
}

Result<Exit> run_on_board(remote::CommandOrder order, Shipment& shipment) {
  const remote::Place place = order.place;
  WatchedWork watched({});
  watched.begin();
  DOVETAIL_ASSIGN(const auto client, remote::Client::start(std::move(order)));
  while (true) {
    if (watched.work()->stopped()) return watched.work()->stopped_at("the command on the board");
    DOVETAIL_ASSIGN(auto event, client->next(kPatience));
    if (!event) continue;
    if (const auto* const waiting = std::get_if<remote::Waiting>(&event->what)) say_waiting(*waiting, place);
    else if (const auto* const began = std::get_if<remote::Began>(&event->what)) say_began(*began);
    else if (const auto* const output = std::get_if<remote::Output>(&event->what)) {
      if (output->error) write_message(output->data);
      else if (shipment.writes_stdout()) DOVETAIL_TRY(write_result_text(std::string(kStandardStream), output->data));
      else write_result(output->data);
    } else if (const auto* const chunk = std::get_if<remote::FileChunk>(&event->what))
      DOVETAIL_TRY(shipment.take(*chunk));
    else if (const auto* const lost = std::get_if<remote::Lost>(&event->what)) return lost->error;
    else if (const auto* const end = std::get_if<remote::CommandEnd>(&event->what)) {
      watched.finish();
      if (end->cause != remote::EndCause::finished)
        return Diagnostic{"the command on the board failed", std::string(to_string(end->cause)), end->why,
                          "the board's own log may say more", Cause::resource};
      return end->exit == 0 ? Exit::success : end->exit == 2 ? Exit::bad_input : Exit::failed;
    }
  }
}

}  // namespace dovetail::cli
