#include "base/sha256.h"

#include <string_view>

#include "tests/catch.h"

using namespace dovetail;

namespace {

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("SHA-256 is that of FIPS 180-4") {
  CHECK(sha256(Pieces()) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256(bytes_of_text("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256(bytes_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("SHA-256 of bytes that arrive in pieces is that of the whole, at any time") {
  Sha256 hash;
  CHECK(hash.digits() == sha256(Pieces()));
  const std::string text(1000, 'x');
  for (std::size_t at = 0; at < text.size(); at += 125) {
    hash.add(bytes_of_text(text).subspan(at, 125));
    CHECK(hash.digits() == sha256(bytes_of_text(text).first(at + 125)));
  }
}
