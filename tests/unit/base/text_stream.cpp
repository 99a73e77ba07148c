#include <cstdio>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "base/text_stream.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/unit/base/refusing_heap.h"

using namespace dovetail;

namespace {

const std::string kWord(200, 'w');  // too long for a string without heap memory
const std::string kText = kWord + " " + kWord + "\n" + kWord + "\n";

template <typename Stream>
std::vector<std::string> words_of(Stream&& stream) {
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

template <typename Stream>
std::vector<std::string> lines_of(Stream&& stream) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Whichever request is refused, the read data is complete, or std::bad_alloc is thrown.
template <typename Read>
void check_refusals(const Read& read) {
  const auto expected = read();
  for (int n = 0;; ++n) {
    std::vector<std::string> found;
    bool refused = false, happened = false;
    {
      const test::RefusedMemory memory(n);
      try {
        found = read();
      } catch (const std::bad_alloc&) {
        refused = true;
      }
      happened = memory.happened();
    }
    if (!happened) break;
    INFO(n);
    CHECK((refused || found == expected));
  }
}

}  // namespace

TEST_CASE("a text is read word by word and line by line") {
  CHECK(words_of(TextStream(kText)) == std::vector{kWord, kWord, kWord});
  CHECK(lines_of(TextStream(kText)) == std::vector{kWord + " " + kWord, kWord});
}

TEST_CASE("out of memory, no word or line of a text is truncated") {
  check_refusals([] { return words_of(TextStream(kText)); });
  check_refusals([] { return lines_of(TextStream(kText)); });
}

TEST_CASE("out of memory, no line of a file is truncated; a missing file has no lines") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "text";
  std::ofstream(path) << kText;
  check_refusals([&] { return lines_of(TextFile(path)); });
  CHECK(lines_of(TextFile(folder.path() / "missing")).empty());
}
