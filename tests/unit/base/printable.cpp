#include "base/printable.h"

#include <set>

#include "base/json.h"
#include "tests/catch.h"

namespace dovetail {

TEST_CASE("printable: text of every language is unchanged") {
  for (const char* text : {"", "conv1/weights:0", "größe", "名前", "😀", "«×»"}) CHECK(printable(text) == text);
}

TEST_CASE("printable: control sequences and invalid text become hexadecimal") {
  CHECK(printable("a\x1b[31m") == "a\\x1b[31m");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");  // C1: control sequence introducer
  CHECK(printable("\x9b"
                  "31m") == "\\x9b31m");  // the same in Latin-1
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("\xe2\x80\xae") == "\\xe2\\x80\\xae");           // right-to-left override
  CHECK(printable("\xc3") == "\\xc3");                             // cut off
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // a longer form of '/'
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("printable: line breaks and tabs are kept in a text, and escaped in a name") {
  CHECK(printable("a\n\tb", Lines::keep) == "a\n\tb");
  CHECK(printable("a\n\tb") == "a\\x0a\\x09b");
  CHECK(printable("a\r", Lines::keep) == "a\\x0d");
}

TEST_CASE("printable: every byte alone and in every position of a sequence") {
  std::set<std::string> seen;
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string text = printable(std::string{static_cast<char>(first), static_cast<char>(second)});
      CHECK(printable(text) == text);
      seen.insert(text);
    }
  CHECK(seen.size() == 65536);
}

TEST_CASE("escape_unprintable: JSON keeps its meaning") {
  const Json json = {{"name", "a\x1b\xc2\x9b\x7f\xe2\x80\xae é\n"}};
  const std::string text = escape_unprintable(json.dump(2));
  CHECK(printable(text, Lines::keep) == text);
  CHECK(parse_json(text, "text").value() == json);
}

}  // namespace dovetail
