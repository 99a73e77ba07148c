// Repeated messages are printed once.
#include "cli/shell/grouped.h"

#include "tests/catch.h"

using namespace dovetail;
using cli::counted;
using cli::grouped;

namespace {

using Counts = std::vector<std::pair<std::string, std::size_t>>;

}  // namespace

TEST_CASE("grouped: texts that differ only in numbers are one, the most frequent first") {
  CHECK(counted({}).empty());
  CHECK(counted({"a", "needs 12 KiB > 8 KiB", "b", "needs 300 KiB > 8 KiB", "needs 9 KiB > 8 KiB", "b"}) ==
        Counts{{"needs 12 KiB > 8 KiB", 3}, {"b", 2}, {"a", 1}});
  CHECK(counted({"1e-05 s", "0.25 s", "2,048 s", "7 s", "1,234.5 s"}) == Counts{{"1e-05 s", 5}});
  // A period that ends a sentence, and letters, are not part of a number.
  CHECK(counted({"over 7.", "over 7", "7e", "7"}).size() == 4);
}

TEST_CASE("grouped: a diagnostic at many places is one, with the count and the first few") {
  Diagnostics all;
  for (int i = 0; i < 508; ++i)
    all.push_back({"the program is wrong", "instruction " + std::to_string(i),
                   "index " + std::to_string(7 * i) + " > 2047", "split it"});
  all.insert(all.begin() + 3, {"the program is wrong", "instruction 3", "a token is left over", "pop it"});
  const Diagnostics groups = grouped(all);
  REQUIRE(groups.size() == 2);
  CHECK(to_string(groups[0]) ==
        "error: the program is wrong (instruction 0 and 507 more: instruction 1; instruction 2; instruction 3; "
        "instruction 4; ...): index 0 > 2047. Hint: split it");
  CHECK(groups[1] == all[3]);
}

TEST_CASE("grouped: a single diagnostic stays, and a lack of resources is not a user's mistake") {
  const Diagnostics two{{"cannot write", "a", "no room", "make room", Cause::resource},
                        {"cannot write", "b", "no room", "make room"}};
  CHECK(grouped(two) == two);
  CHECK(grouped({}).empty());
  const Diagnostic same{"cannot read", "x", "why", "hint"};
  CHECK(grouped({same, same, same}).front().where == "x, 3 times");
  CHECK(grouped({{"w", "", "y", ""}, {"w", "", "y", ""}}).front().where == "2 times");
  // A diagnostic at only a few places names them all.
  CHECK(grouped({{"w", "a", "y", ""}, {"w", "b", "y", ""}}).front().where == "a and 1 more: b");
}
