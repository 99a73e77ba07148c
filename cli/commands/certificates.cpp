#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "remote/certificates.h"

namespace dovetail::cli {

namespace {

using remote::CertificateOrder;
using remote::IssuedCertificate;
using remote::Role;

constexpr std::string_view kQueueName = "queue";

Diagnostic bad_certificates_usage(std::string where, std::string why, std::string hint) {
  return {"bad usage of `dovetail certificates`", std::move(where), std::move(why), std::move(hint)};
}

std::vector<std::string> comma_parts(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

// "alice:run-code,admin".
Result<CertificateOrder> client_order(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos)
    return bad_certificates_usage(fmt::format("--client {}", printable(text)), "the value must be NAME:ROLE",
                                  fmt::format("write for example --client {}:measure", printable(text)));
  CertificateOrder order{text.substr(0, colon), {}};
  for (const std::string& name : comma_parts(text.substr(colon + 1))) {
    const auto role = remote::role_named(name);
    if (!role || *role == Role::queue || *role == Role::board)
      return bad_certificates_usage(fmt::format("--client {}", printable(text)),
                                    fmt::format("\"{}\" is not a client's role", printable(name)),
                                    "the roles are measure (no machine code), run-code and admin");
    order.roles.insert(*role);
  }
  return order;
}

std::string roles_text(const IssuedCertificate& issued) {
  std::vector<std::string_view> roles;
  for (const Role role : issued.roles) roles.push_back(remote::to_string(role));
  return fmt::format("{}", fmt::join(roles, ","));
}

class Certificates : public Command {
 public:
  void declare(Options& options) override {
    options.positional("FOLDER", folder_, "the farm: its authority and all certificates; made if missing",
                       Need::required, File::folder);
    options.value("--queue", "HOST[,HOST...]", queue_,
                  "make the queue's certificate, for these host names and IP addresses by which others dial it");
    options.values("--board", "NAME", boards_, "make a board's certificate; repeatable");
    options.values("--client", "NAME:ROLE[,ROLE]", clients_,
                   "make a client's certificate; ROLE: measure (its commands run no machine code), run-code, or admin "
                   "(sees and ends the work of others); repeatable");
    options.value("--days", "N", days_,
                  fmt::format("days of validity, 1 to {} (default {})", remote::kMostDays, remote::kStandardDays));
    options.flag("--renew", renew_,
                 "make new certificates for names that have one; the former stay valid until they "
                 "expire or are revoked");
    options.values("--revoke", "NAME", revoked_,
                   "revoke all certificates that NAME has had until now; the queue sees it at once; repeatable");
    options.json(json_);
    options.footer(
        "Without --queue, --board, --client and --revoke the certificates of the farm are listed.\n"
        "Example: dovetail certificates farm --queue lab.example.org,192.168.1.5 --board pi4 --client alice:run-code\n"
        "Example: dovetail certificates farm --revoke alice --renew --client alice:run-code");
  }

  Result<Exit> run() override {
    DOVETAIL_ASSIGN(const std::vector<CertificateOrder> orders, ordered());
    remote::CertificateTerms terms;
    terms.renew = renew_;
    if (days_) {
      DOVETAIL_ASSIGN(const std::int64_t days, parse_count("--days", *days_, 1, remote::kMostDays));
      terms.days = static_cast<int>(days);
    }
    if (orders.empty() && (days_ || renew_))
      return bad_certificates_usage(days_ ? "--days" : "--renew", "the option applies only to new certificates",
                                    "add --queue, --board or --client");
    // The names that are revoked and renewed get certificates that are not revoked.
    if (!revoked_.empty()) DOVETAIL_TRY(remote::revoke_certificates(folder_, revoked_));
    std::vector<IssuedCertificate> made;
    if (!orders.empty()) {
      DOVETAIL_ASSIGN(made, remote::make_certificates(folder_, orders, terms));
    }
    DOVETAIL_ASSIGN(const std::vector<IssuedCertificate> issued, remote::issued_certificates(folder_));
    if (json_) print_json(report(issued, made));
    else print("{}{}", table(issued), next_steps(made));
    return Exit::success;
  }

 private:
  Result<std::vector<CertificateOrder>> ordered() const {
    std::vector<CertificateOrder> orders;
    if (queue_) orders.push_back({std::string(kQueueName), {Role::queue}, comma_parts(*queue_)});
    for (const std::string& name : boards_) orders.push_back({name, {Role::board}});
    Diagnostics problems;
    for (const std::string& text : clients_) {
      auto order = client_order(text);
      if (order) orders.push_back(*std::move(order));
      else problems.push_back(order.errors().front());
    }
    if (!problems.empty()) return problems;
    return orders;
  }

  static std::string_view state_of(const IssuedCertificate& issued) {
    if (issued.revoked) return "revoked";
    return issued.until < std::chrono::system_clock::now() ? "expired" : "valid";
  }

  Json report(const std::vector<IssuedCertificate>& issued, const std::vector<IssuedCertificate>& made) const {
    Json certificates = Json::array();
    for (const IssuedCertificate& one : issued) {
      Json roles = Json::array();
      for (const Role role : one.roles) roles.push_back(remote::to_string(role));
      const bool is_new = std::ranges::find(made, one.fingerprint, &IssuedCertificate::fingerprint) != made.end();
      certificates.push_back({{"name", one.name},
                              {"roles", roles},
                              {"fingerprint", one.fingerprint},
                              {"until", remote::date_text(one.until)},
                              {"state", state_of(one)},
                              {"made", is_new}});
    }
    return {{"kind", "certificates"}, {"folder", folder_}, {"certificates", certificates}};
  }

  static std::string table(const std::vector<IssuedCertificate>& issued) {
    TextTable rows({"name", "roles", "valid until", "state", "fingerprint"});
    for (const IssuedCertificate& one : issued)
      rows.add({one.name, roles_text(one), remote::date_text(one.until), std::string(state_of(one)),
                one.fingerprint.substr(0, 16)});
    return rows.to_string(0);
  }

  // What to type next with the certificates that were made.
  std::string next_steps(const std::vector<IssuedCertificate>& made) const {
    std::string text;
    for (const IssuedCertificate& one : made) {
      const std::string path = shell_word((std::filesystem::path(folder_) / one.name).string());
      text += fmt::format("\n{:<14}", text.empty() ? "next" : "");
      if (one.roles.contains(Role::queue)) text += fmt::format("dovetail queue --certificates {}", path);
      else if (one.roles.contains(Role::board))
        text += fmt::format("copy {} to the board, and run there: dovetail serve ADDRESS --certificates {}", path,
                            one.name);
      else
        text +=
            fmt::format("give {} to {} alone, for --on queue:HOST/LABEL --certificates {}", path, one.name, one.name);
    }
    if (!text.empty())
      text += fmt::format("\n{:<14}keep {} secret: with it anyone can make certificates of any role\n", "",
                          shell_word((std::filesystem::path(folder_) / "authority.key").string()));
    return text;
  }

  std::string folder_;
  std::optional<std::string> queue_, days_;
  std::vector<std::string> boards_, clients_, revoked_;
  bool renew_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_certificates() { return std::make_unique<Certificates>(); }

}  // namespace dovetail::cli
