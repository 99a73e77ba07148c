#include "remote/address.h"

#include <charconv>

#include <fmt/format.h>

namespace dovetail::remote {

namespace {

constexpr std::string_view kUnix = "unix:", kQueue = "queue:";

Diagnostic bad_address(const std::string& text, std::string why) {
  return {"invalid address of a queue", text, std::move(why), "write HOST, HOST:PORT, [IPV6]:PORT or unix:PATH"};
}

}  // namespace

Result<Address> parse_address(const std::string& text) {
  Address address;
  if (text.starts_with(kUnix)) {
    address.path = text.substr(kUnix.size());
    if (address.path.empty()) return bad_address(text, "the path is empty");
    if (address.path.size() > 100) return bad_address(text, "the path of a Unix socket has at most 100 bytes");
    return address;
  }
  std::string_view rest = text;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == rest.npos) return bad_address(text, "there is no ] after the address");
    address.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    address.host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(address.host.size());
    if (rest.find(':', 1) != rest.npos) return bad_address(text, "an IPv6 address needs brackets");
  }
  if (address.host.empty()) return bad_address(text, "the host is empty");
  if (rest.empty()) return address;
  const char* const end = rest.data() + rest.size();
  const auto [last, error] = std::from_chars(rest.data() + 1, end, address.port);
  if (rest.front() != ':' || error != std::errc{} || last != end)
    return bad_address(text, fmt::format("\"{}\" is not a port", rest));
  return address;
}

std::string to_string(const Address& address) {
  if (address.is_unix()) return fmt::format("{}{}", kUnix, address.path);
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", address.host, address.port)
                 : fmt::format("{}:{}", address.host, address.port);
}

Result<Place> parse_place(const std::string& text) {
  if (!text.starts_with(kQueue))
    return Diagnostic{"invalid place of a command", text, "it does not begin with \"queue:\"",
                      "write for example queue:lab.example.org/pi4"};
  std::string rest = text.substr(kQueue.size());
  Place place;
  // The label follows the last slash; paths of Unix sockets have further ones.
  const std::size_t slash = rest.rfind('/');
  if (slash != rest.npos) {
    place.label = rest.substr(slash + 1);
    rest.resize(slash);
  }
  DOVETAIL_ASSIGN(place.queue, parse_address(rest));
  return place;
}

}  // namespace dovetail::remote
