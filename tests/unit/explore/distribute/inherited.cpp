#include "explore/distribute/inherited.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "tests/catch.h"

namespace dovetail::explore {

TEST_CASE("inherited transport: texts of any length pass through the socket, and its end is an error") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(inherited_transport().value() == nullptr);  // no board has started this process
  ::setenv(kIsOneOfSeveral, "1", 1);
  CHECK_FALSE(inherited_transport().ok());
  ::setenv(kInheritedSocket, std::to_string(ends[0]).c_str(), 1);
  auto transport = inherited_transport().value();
  ::unsetenv(kIsOneOfSeveral);
  ::unsetenv(kInheritedSocket);
  REQUIRE(transport);
  CHECK(transport->rank() == 1);
  CHECK_FALSE(transport->receive(std::chrono::milliseconds(1)).value());

  const std::string large(300'000, 'x');
  std::string got;
  std::thread other([&] {
    std::string buffer(large.size() + 4, '\0');
    for (std::size_t at = 0; at < buffer.size();)
      at += static_cast<std::size_t>(::read(ends[1], buffer.data() + at, buffer.size() - at));
    got = buffer;
    const std::string answer = std::string("\2\0\0\0ok", 6);
    CHECK(::write(ends[1], answer.data(), answer.size()) == 6);
    ::close(ends[1]);
  });
  CHECK(transport->send(0, large).ok());
  const auto message = transport->receive(std::chrono::seconds(10)).value();
  other.join();
  CHECK(got.substr(4) == large);
  CHECK(got.substr(0, 4) == std::string("\xe0\x93\x04\x00", 4));  // 300,000
  REQUIRE(message);
  CHECK(message->text == "ok");
  CHECK_FALSE(transport->receive(std::chrono::seconds(10)).ok());
}

}  // namespace dovetail::explore
