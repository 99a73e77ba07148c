#include "remote/address.h"

#include "tests/catch.h"

namespace dovetail::remote {

TEST_CASE("remote: addresses of queues are read and written") {
  CHECK(parse_address("lab.example.org").value() == Address{"lab.example.org", 7370});
  CHECK(parse_address("10.0.0.1:81").value() == Address{"10.0.0.1", 81});
  CHECK(parse_address("[::1]:9").value() == Address{"::1", 9});
  CHECK(parse_address("[::1]").value() == Address{"::1", 7370});
  CHECK(parse_address("unix:/run/a.sock").value() == Address{"", 7370, "/run/a.sock"});
  for (const char* text : {"10.0.0.1:81", "[::1]:9", "unix:/run/a.sock"})
    CHECK(to_string(parse_address(text).value()) == text);
  for (const char* text :
       {"", ":5", "a:", "a:65536", "a:b", "a:1:2", "::1", "[::1", "[::1]9", "unix:", "a:-1", "a: 1"}) {
    INFO(text);
    const auto refused = parse_address(text);
    REQUIRE_FALSE(refused.ok());
    CHECK_FALSE(refused.errors().front().hint.empty());
  }
}

TEST_CASE("remote: the place of a command is a queue and a label") {
  const Place place = parse_place("queue:lab:81/pi4").value();
  CHECK(place.queue == Address{"lab", 81});
  CHECK(place.label == "pi4");
  CHECK(parse_place("queue:lab").value().label.empty());
  const Place local = parse_place("queue:unix:/run/user/q.sock/pi4").value();
  CHECK(local.queue.path == "/run/user/q.sock");
  CHECK(local.label == "pi4");
  CHECK_FALSE(parse_place("lab/pi4").ok());
  CHECK_FALSE(parse_place("queue:").ok());
}

}  // namespace dovetail::remote
