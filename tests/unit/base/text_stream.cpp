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

const std::string kWord(200, 'w');  // longer than what a string holds without the heap
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

// Whatever request is refused, what was read is whole, or std::bad_alloc.
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

TEST_CASE("no word and no line of a text ends early where memory runs out") {
  check_refusals([] { return words_of(TextStream(kText)); });
  check_refusals([] { return lines_of(TextStream(kText)); });
}

TEST_CASE("no line of a file ends early where memory runs out, and of a missing file there is none") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "text";
  std::ofstream(path) << kText;
  check_refusals([&] { return lines_of(TextFile(path)); });
  CHECK(lines_of(TextFile(folder.path() / "missing")).empty());
}
