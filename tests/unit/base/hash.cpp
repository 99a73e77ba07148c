#include "base/hash.h"

#include "base/random.h"
#include "tests/catch.h"

namespace dovetail {

TEST_CASE("FNV-1a gives its authors' values") {
  CHECK(fnv1a("") == 0xcbf29ce484222325);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8c);
  CHECK(fnv1a("foobar") == 0x85944171f73967e8);
}

TEST_CASE("a hash of several texts depends on their borders") {
  Hash one, two;
  one.add("ab");
  two.add("a");
  two.add("b");
  CHECK(one.text() != two.text());
  CHECK(one.text().size() == 16);
}

TEST_CASE("SplitMix64 gives its authors' values") {
  SplitMix64 random(1234567);
  CHECK(random.next() == 6457827717110365317u);
  CHECK(random.next() == 3203168211198807973u);
  CHECK(random.next() == 9817491932198370423u);
}

}  // namespace dovetail
