// Reports laid out for a terminal of a given width.
#include "cli/shell/wrapped_text.h"

#include <algorithm>
#include <sstream>

#include "base/text_table.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, cli::text_width(line));
  return most;
}

// All characters except spaces and rules, sorted.
std::string content(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '-'; });
  std::ranges::sort(text);
  return text;
}

}  // namespace

TEST_CASE("lines break at spaces, and too long words only where requested") {
  using cli::wrapped;
  CHECK(wrapped("one two three", 7, 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped("one two three", 3, 9) == std::vector<std::string>{"one", "two three"});
  CHECK(wrapped("abcdefgh ij", 4, 4) == std::vector<std::string>{"abcdefgh", "ij"});
  CHECK(wrapped("abcdefgh ij", 4, 4, cli::LongWords::split) == std::vector<std::string>{"abcd", "efgh", "ij"});
  CHECK(wrapped("", 4, 4) == std::vector<std::string>{""});
  CHECK(wrapped("äöü äöü", 3, 3) == std::vector<std::string>{"äöü", "äöü"});  // code points, not bytes
  CHECK(wrapped("  indented text", 10, 10) == std::vector<std::string>{"  indented", "text"});
}

TEST_CASE("a labeled line continues below its text") {
  CHECK(cli::fitted("samples       one two three four five\n", 30) ==
        "samples       one two three\n              four five\n");
  CHECK(cli::fitted("short\n", 22) == "short\n");
  CHECK(cli::fitted("(debug) ", 22) == "(debug) ");
}

TEST_CASE("a table that is too wide gets narrower columns of words, but not of numbers") {
  TextTable table({"name", ">number", "what it is"});
  table.add({"a", "1,234,567", "words that take more room than there is in a line of this width"});
  table.add({"b", "1", "few"});
  const std::string fitted = cli::fitted(table.to_string(), 48);
  CHECK(widest(fitted) <= 48);
  CHECK(content(fitted) == content(table.to_string()));
  CHECK(fitted.find("  b             1  few") != fitted.npos);
  CHECK(cli::fitted(table.to_string(), 200) == table.to_string());
}

TEST_CASE("a table with more numbers than a line holds is shown in parts") {
  TextTable table({"layer", ">first number", ">second number", ">third number", ">fourth number"});
  table.add({"conv1", "1", "2", "3", "4"});
  table.add({"  inner", "5", "6", "7", "8"});
  const std::string fitted = cli::fitted("before\n\n" + table.to_string() + "\nafter\n", 42);
  CHECK(widest(fitted) <= 42);
  CHECK(fitted.find("layer    first number  second number\n") != fitted.npos);
  CHECK(fitted.find("layer    third number  fourth number\n") != fitted.npos);
  CHECK(fitted.find("    inner             7              8\n") != fitted.npos);
  CHECK(fitted.ends_with("\nafter\n"));
}
