#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/all.h"
#include "cli/shell/arguments.h"
#include "cli/shell/board_arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/watched_work.h"
#include "remote/certificates.h"
#include "remote/client.h"
#include "remote/queue.h"

namespace dovetail::cli {

namespace {

class QueueCommand : public Command {
 public:
  void declare(Options& options) override {
    options.positional("ADDRESS", address_,
                       "where to listen: HOST, HOST:PORT, or unix:PATH for this user alone (default 0.0.0.0:7370: all "
                       "addresses of this machine)",
                       Need::optional);
    options.value("--certificates", "DIR", certificates_, kCertificatesHelp);
    options.value("--revoked", "FILE", revoked_,
                  "fingerprints of certificates that are refused from now on; read again when it changes (default: "
                  "revoked.txt next to the folder of certificates)",
                  File::read);
    options.value("--longest", "S", longest_,
                  "the longest time in seconds that a client may keep a board (default 43200)");
    options.flag("--status", status_, "list the boards of the queue at ADDRESS, and who waits for them");
    options.value("--end", "LEASE", end_, "end the lease of this number: one's own, or any with the role admin");
    options.json(json_);
    options.footer(
        "Boards (`dovetail serve ADDRESS`) and clients (--on queue:ADDRESS/LABEL) connect to the queue, by TLS with "
        "certificates on both sides.\n"
        "docs/howto/queue.md describes it.\n"
        "Example: dovetail queue --certificates farm/queue --revoked farm/revoked.txt");
  }

  Result<Exit> run() override {
    remote::QueueOptions options;
    DOVETAIL_ASSIGN(options.address, remote::parse_address(address_));
    if (!options.address.is_unix()) options.certificates = certificates_folder(certificates_);
    if (status_ || end_) return show_status(options);
    if (json_)
      return Diagnostic{"bad usage of `dovetail queue`", "--json", "the option is for --status", "add --status"};
    if (revoked_) options.revoked = *revoked_;
    else if (options.certificates && std::filesystem::exists(*options.certificates / ".." / remote::kRevokedFile))
      options.revoked = *options.certificates / ".." / remote::kRevokedFile;
    DOVETAIL_ASSIGN(const std::int64_t longest, parse_count("--longest", longest_, 1, 31'536'000));
    options.longest_lease = std::chrono::seconds(longest);
    if (options.certificates && !options.revoked)
      print_message("note          there is no list of revoked certificates next to {}\n",
                    options.certificates->string());
    options.log = [](const std::string& line) { print_message("{}\n", line); };
    DOVETAIL_ASSIGN(remote::Queue queue, remote::Queue::open(options));
    print("listening     {}\n", to_string(queue.address()));
    flush_output();
    WatchedWork watched({});
    watched.begin();
    queue.run([&] { return watched.work()->stopped(); });
    return Exit::success;
  }

 private:
  Result<Exit> show_status(const remote::QueueOptions& options) const {
    std::optional<std::uint64_t> ended;
    if (end_) {
      DOVETAIL_ASSIGN(const std::int64_t number,
                      parse_count("--end", *end_, 1, std::numeric_limits<std::int64_t>::max()));
      ended = static_cast<std::uint64_t>(number);
    }
    DOVETAIL_ASSIGN(const remote::StatusReport report,
                    remote::Client::status(options.address, options.certificates, ended));
    if (json_) {
      Json boards = Json::array(), orders = Json::array();
      for (const auto& board : report.boards) {
        Json row{{"name", board.entry.name},
                 {"labels", board.entry.labels},
                 {"facts", board.entry.facts},
                 {"machine_code", board.entry.machine_code}};
        if (board.lease != 0)
          row["lease"] = {
              {"number", board.lease}, {"client", board.client}, {"what", board.what}, {"seconds", board.seconds}};
        boards.push_back(std::move(row));
      }
      for (const auto& order : report.orders)
        orders.push_back({{"client", order.client},
                          {"label", order.label},
                          {"what", order.what},
                          {"priority", order.priority},
                          {"seconds", order.seconds}});
      print_json({{"kind", "queue-status"}, {"boards", boards}, {"orders", orders}});
      return Exit::success;
    }
    for (const auto& board : report.boards) {
      print("board         {}{}{}: {}\n", board.entry.name,
            board.entry.labels.empty() ? "" : fmt::format(" ({})", fmt::join(board.entry.labels, ", ")),
            board.entry.machine_code ? "" : ", no machine code",
            board.lease == 0 ? std::string("idle")
            : board.client.empty()
                ? fmt::format("busy, {} s", board.seconds)
                : fmt::format("{} for {}, {} s, lease {}", board.what, board.client, board.seconds, board.lease));
      print("              {}\n", fmt::format("{}", fmt::join(board.entry.facts, ", ")));
    }
    for (const auto& order : report.orders)
      print("waiting       {} for {}: label {}, priority {}, {} s\n", order.what.empty() ? "a command" : order.what,
            order.client.empty() ? "another client" : order.client, order.label.empty() ? "any" : order.label,
            order.priority, order.seconds);
    if (report.boards.empty()) print("boards        none\n");
    return Exit::success;
  }

  std::string address_ = "0.0.0.0", longest_ = "43200";
  std::optional<std::string> certificates_, revoked_, end_;
  bool status_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_queue() { return std::make_unique<QueueCommand>(); }

}  // namespace dovetail::cli
