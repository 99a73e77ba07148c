#include "cli/shell/board_arguments.h"

#include <array>

#include <fmt/format.h>

#include "base/user_folder.h"
#include "cli/shell/arguments.h"

namespace dovetail::cli {

std::span<const std::string_view> board_commands() {
  static constexpr std::array<std::string_view, 6> kCommands{"run",     "profile", "evaluate",
                                                             "compare", "tune",    "explore"};
  return kCommands;
}

std::optional<std::filesystem::path> certificates_folder(const std::optional<std::string>& given) {
  const std::optional<std::string> folder = given ? given : environment("DOVETAIL_CERTIFICATES");
  if (!folder) return std::nullopt;
  return std::filesystem::path(*folder);
}

void BoardArguments::declare(Options& options, bool shared) {
  options.value(kOnOption, "PLACE", on,
                shared ? "share the work with boards: queue:HOST/LABEL (docs/howto/queue.md)"
                       : "run the command on a board: queue:HOST/LABEL (docs/howto/queue.md)");
  options.value("--certificates", "DIR", certificates, kCertificatesHelp);
  options.value("--priority", "N", priority, "for --on: orders with a larger number come first (default 0)");
  options.value("--wait", "S", wait,
                "for --on: give up if no board is free within S seconds (default: wait as long as it takes)");
  if (shared) options.value("--boards", "N", boards, "for --on: the number of boards (default 1)");
}

bool is_board_option(std::string_view name) {
  return name == kOnOption || name == "--certificates" || name == "--priority" || name == "--boards" ||
         name == "--wait" || name == "--color";
}

Result<std::optional<std::chrono::seconds>> BoardArguments::most_wait() const {
  if (!wait) return std::optional<std::chrono::seconds>();
  DOVETAIL_ASSIGN(const std::int64_t seconds, parse_count("--wait", *wait, 0, 31'536'000));
  return std::optional(std::chrono::seconds(seconds));
}

Result<remote::CommandOrder> order_for(const BoardArguments& arguments, const CommandWords& words, Shipment& shipment) {
  remote::CommandOrder order;
  DOVETAIL_ASSIGN(order.place, remote::parse_place(arguments.on.value_or("")));
  if (!order.place.queue.is_unix()) order.certificates = certificates_folder(arguments.certificates);
  DOVETAIL_ASSIGN(const std::int64_t priority, parse_count("--priority", arguments.priority, 0, 1000));
  order.priority = static_cast<std::uint32_t>(priority);
  DOVETAIL_ASSIGN(const std::int64_t boards, parse_count("--boards", arguments.boards, 1, 1024));
  order.boards = static_cast<int>(boards);
  DOVETAIL_ASSIGN(order.arguments, words.of(shipment));
  order.files = shipment.files();
  order.results = shipment.results();
  order.what = fmt::format("{}{}{}", order.arguments.front(), order.files.empty() ? "" : " ",
                           order.files.empty() ? "" : order.files.front().path);
  return order;
}

}  // namespace dovetail::cli
