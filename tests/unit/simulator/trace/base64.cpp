#include "simulator/trace/base64.h"

#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::simulator {

namespace {

std::vector<std::byte> bytes(std::string_view text) {
  std::vector<std::byte> made;
  for (const char c : text) made.push_back(static_cast<std::byte>(c));
  return made;
}

}  // namespace

TEST_CASE("base64 has the digits of RFC 4648") {
  CHECK(to_base64({}) == "");
  CHECK(to_base64(bytes("f")) == "Zg==");
  CHECK(to_base64(bytes("fo")) == "Zm8=");
  CHECK(to_base64(bytes("foo")) == "Zm9v");
  CHECK(to_base64(bytes("foobar")) == "Zm9vYmFy");
}

TEST_CASE("base64 is read back") {
  test::Random random(1);
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<std::byte> made(size);
    for (std::byte& byte : made) byte = static_cast<std::byte>(random.below(256));
    CHECK(from_base64(to_base64(made)) == made);
  }
}

TEST_CASE("invalid base64 is refused") {
  for (const char* text : {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9v!g==", "Z=9v", "Zm=v", " Zg="}) {
    CAPTURE(text);
    CHECK_FALSE(from_base64(text).has_value());
  }
}

}  // namespace dovetail::simulator
