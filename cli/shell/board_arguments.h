// --on and its companions: commands that boards of a queue run (remote/), or share.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/shell/options.h"
#include "cli/shell/shipment.h"
#include "remote/client.h"

namespace dovetail::cli {

inline constexpr const char* kOnOption = "--on";

// The commands that boards run.
std::span<const std::string_view> board_commands();

// The folder of certificates: the given one, or DOVETAIL_CERTIFICATES, or none.
std::optional<std::filesystem::path> certificates_folder(const std::optional<std::string>& given);
inline constexpr std::string_view kCertificatesHelp =
    "folder with certificate.pem, key.pem and authority.pem (default: $DOVETAIL_CERTIFICATES)";

struct BoardArguments {
  std::optional<std::string> on, certificates, wait;
  std::string priority = "0", boards = "1";

  // Declares --on, --certificates, --priority and --wait, and --boards for commands that several boards can share.
  void declare(Options& options, bool shared);
  // How long a command waits for a board; nullopt: as long as it takes. Error: a bad value.
  Result<std::optional<std::chrono::seconds>> most_wait() const;
};

bool is_board_option(std::string_view name);

// The order of the command line, whose files the shipment gets. Errors: bad values; a file that cannot be sent.
Result<remote::CommandOrder> order_for(const BoardArguments& arguments, const CommandWords& words, Shipment& shipment);

}  // namespace dovetail::cli
