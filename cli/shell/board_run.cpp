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

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{100};
constexpr std::chrono::seconds kResultTime{30};  // for an interrupted command's results, after the last of them

std::string waiting_text(const remote::Waiting& waiting, const remote::Place& place) {
  const std::string label = place.label.empty() ? "" : fmt::format(" for {}", place.label);
  if (waiting.boards == 0) return fmt::format("no board{} is connected", label);
  return fmt::format("{}{}, {} before this one",
                     waiting.boards == 1 ? "the board is busy" : fmt::format("{} boards are busy", waiting.boards),
                     label, waiting.before == 0 ? "none" : std::to_string(waiting.before));
}

}  // namespace

void say_began(const remote::Began& began) {
  const std::string facts = fmt::format("{}", fmt::join(began.board.facts, ", "));
  print_message("board         {}: {}\n", began.board.name, facts);
}

void say_waiting(const remote::Waiting& waiting, const remote::Place& place) {
  print_message("waiting       {}\n", waiting_text(waiting, place));
}

Result<Exit> run_on_board(remote::CommandOrder order, Shipment& shipment,
                          std::optional<std::chrono::seconds> most_wait) {
  const remote::Place place = order.place;
  WatchedWork watched({});
  watched.ends_itself();
  watched.begin();
  DOVETAIL_ASSIGN(const auto client, remote::Client::start(std::move(order)));
  const auto begin = Clock::now();
  bool has_begun = false;
  std::string awaited = "the queue has not answered";
  // The first Ctrl-C interrupts the command, whose results are waited for; the second one leaves them.
  std::optional<Clock::time_point> interrupted;
  const auto stopped = [&](std::string hint) {
    Diagnostic ended = watched.work()->stopped_at("the command on the board");
    ended.hint = std::move(hint);
    return ended;
  };
  while (true) {
    if (watched.work()->stopped() && !interrupted) {
      if (!client->interrupt()) return watched.work()->stopped_at("the command on the board");
      interrupted = Clock::now();
      print_message("note          waiting for the results of the interrupted command; Ctrl-C leaves them\n");
    } else if (interrupted && (stopping_signals() > 1 || Clock::now() - *interrupted > kResultTime)) {
      return stopped(stopping_signals() > 1 ? "its results were not waited for" : "its results did not come");
    }
    DOVETAIL_ASSIGN(auto event, client->next(kPatience));
    if (!event && !has_begun && most_wait && Clock::now() - begin >= *most_wait)
      return Diagnostic{"no board is free", to_string(place.queue),
                        fmt::format("after {} s: {}", most_wait->count(), awaited),
                        "`dovetail queue ADDRESS --status` lists the boards; or wait longer (--wait)", Cause::resource};
    if (!event) continue;
    if (const auto* const waiting = std::get_if<remote::Waiting>(&event->what)) {
      say_waiting(*waiting, place);
      awaited = waiting_text(*waiting, place);
    } else if (const auto* const began = std::get_if<remote::Began>(&event->what)) {
      say_began(*began);
      has_begun = true;
    } else if (const auto* const output = std::get_if<remote::Output>(&event->what)) {
      if (output->error) write_message(output->data);
      else if (shipment.writes_stdout()) DOVETAIL_TRY(write_result_text(std::string(kStandardStream), output->data));
      else write_result(output->data);
    } else if (const auto* const chunk = std::get_if<remote::FileChunk>(&event->what)) {
      DOVETAIL_TRY(shipment.take(*chunk));
      if (interrupted) interrupted = Clock::now();
    } else if (const auto* const lost = std::get_if<remote::Lost>(&event->what)) return lost->error;
    else if (const auto* const end = std::get_if<remote::CommandEnd>(&event->what)) {
      watched.finish();
      if (interrupted) return stopped("the files that it had written have come back");
      if (end->cause != remote::EndCause::finished)
        return Diagnostic{"the command on the board failed", std::string(to_string(end->cause)), end->why,
                          "files that it had written have come back; the board's own log may say more",
                          Cause::resource};
      return end->exit == 0 ? Exit::success : end->exit == 2 ? Exit::bad_input : Exit::failed;
    }
  }
}

}  // namespace dovetail::cli
