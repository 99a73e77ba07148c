// Who the other end of a connection is: what a certificate says, once it has been verified.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace dovetail::remote {

// A role is a URI in the certificate's subject alternative name: "dovetail:role:board".
enum class Role : std::uint8_t {
  queue,     // accepts connections of all others, and passes messages between them
  board,     // runs commands for clients
  measure,   // a client, whose commands run no machine code
  run_code,  // a client, whose commands may run machine code, in a sandbox
  admin,     // a client that may see and end the work of others
};
inline constexpr std::array<std::pair<Role, std::string_view>, 5> kRoles{{{Role::queue, "queue"},
                                                                          {Role::board, "board"},
                                                                          {Role::measure, "measure"},
                                                                          {Role::run_code, "run-code"},
                                                                          {Role::admin, "admin"}}};
constexpr std::string_view to_string(Role role) { return kRoles[static_cast<std::size_t>(role)].second; }
constexpr std::optional<Role> role_named(std::string_view name) {
  for (const auto& [role, its_name] : kRoles)
    if (its_name == name) return role;
  return std::nullopt;
}

struct Identity {
  std::string name;         // common name of the certificate's subject; on a Unix socket, that of the user
  std::set<Role> roles;     //
  std::string fingerprint;  // SHA-256 of the certificate, 64 hexadecimal digits; empty on a Unix socket

  bool is(Role role) const { return roles.contains(role); }
};

}  // namespace dovetail::remote
