// Where a queue listens, and which board a command is for, as written on the command line.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dovetail::remote {

inline constexpr std::uint16_t kDefaultPort = 7370;

// "HOST", "HOST:PORT", "[IPV6]:PORT" or "unix:PATH".
struct Address {
  std::string host;  // empty: a Unix socket
  std::uint16_t port = kDefaultPort;
  std::string path = {};

  bool is_unix() const { return host.empty(); }
  bool operator==(const Address&) const = default;
};
Result<Address> parse_address(const std::string& text);
std::string to_string(const Address& address);

// "queue:ADDRESS/LABEL"; "queue:ADDRESS": any board.
struct Place {
  Address queue;
  std::string label = {};
};
Result<Place> parse_place(const std::string& text);

}  // namespace dovetail::remote
