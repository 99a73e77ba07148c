#include "base/memo.h"

#include <compare>
#include <memory>
#include <string>

#include "tests/catch.h"

namespace dovetail {

namespace {

int answered = 0;

struct Half {
  int of;
  auto operator<=>(const Half&) const = default;
  using Answer = int;
  static constexpr std::size_t kKept = 100;
  Result<Answer> answer() const {
    ++answered;
    if (of % 2 != 0) return Diagnostic{"cannot halve", std::to_string(of), "it is odd", "halve an even number"};
    return of / 2;
  }
};

struct Twice {
  int of;
  auto operator<=>(const Twice&) const = default;
  using Answer = int;
  static constexpr std::size_t kKept = 100;
  Result<Answer> answer() const { return of * 2; }
};

}  // namespace

TEST_CASE("memo: an answer is computed once, and each type of question has its own") {
  Memo memo;
  answered = 0;
  for (int round = 0; round < 3; ++round)
    for (const int number : {4, 6}) {
      CHECK(**memo.ask(Half{number}) == number / 2);
      CHECK(**memo.ask(Twice{number}) == number * 2);
    }
  CHECK(answered == 2);
  CHECK(memo.uses<Half>().asked == 6);
  CHECK(memo.uses<Half>().found == 4);
}

TEST_CASE("memo: errors are not kept") {
  Memo memo;
  answered = 0;
  for (int round = 0; round < 2; ++round) CHECK_FALSE(memo.ask(Half{3}).ok());
  CHECK(answered == 2);
}

TEST_CASE("memo: the least recently used answers are forgotten") {
  Memo memo(2);
  const auto found = [&](int number) {
    const std::uint64_t before = memo.uses<Half>().found;
    CHECK(**memo.ask(Half{number}) == number / 2);
    return memo.uses<Half>().found > before;
  };
  CHECK_FALSE(found(0));
  CHECK_FALSE(found(2));
  CHECK_FALSE(found(4));  // 0 and 2 are now the older generation
  CHECK(found(0));        // used again
  CHECK_FALSE(found(6));  // 4 and 0 are the older generation, 2 is gone
  CHECK(found(0));
  CHECK_FALSE(found(2));
}

TEST_CASE("memo: a memo of capacity 0 still answers") {
  Memo memo(0);
  for (int round = 0; round < 2; ++round) CHECK(**memo.ask(Half{8}) == 4);
  CHECK(memo.uses<Half>().found == 0);
}

}  // namespace dovetail
