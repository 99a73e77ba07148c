// Replays a fuzzing target in ./dev test: its seeds, the corpus that libFuzzer has found, and seeded mutations.
#pragma once

#include <cstdlib>

#include "base/file.h"
#include "base/zip.h"
#include "tests/catch.h"
#include "tests/fuzz/mutate_bytes.h"
#include "tests/fuzz/target.h"

namespace dovetail::test {

inline unsigned fuzz_scale() {
  const char* text = std::getenv("DOVETAIL_TEST_SCALE");
  return text ? static_cast<unsigned>(std::max(1, std::atoi(text))) : 1;
}

// `corpus`: its path in the tree.
inline std::vector<FuzzSeed> read_corpus(const std::string& corpus) {
  const std::string path = std::string(DOVETAIL_SOURCE_DIR) + "/" + corpus;
  const auto bytes = read_file(path);
  if (!bytes) FAIL(to_string(bytes.errors()));
  auto members = parse_zip(*bytes, path);
  if (!members) FAIL(to_string(members.errors()));
  std::vector<FuzzSeed> inputs;
  for (ZipMember& member : *members) inputs.push_back({std::move(member.name), std::move(member.content)});
  return inputs;
}

// `mutations`: the number of inputs made from seeds and corpus.
inline void replay(const FuzzTarget& target, const std::string& corpus, unsigned mutations) {
  std::vector<FuzzSeed> inputs = target.seeds();
  for (const FuzzSeed& seed : inputs) {
    INFO("seed " << seed.name);
    CHECK(target.take(seed.bytes) == "");
  }
  for (FuzzSeed& found : read_corpus(corpus)) {
    INFO(corpus << ": " << found.name);
    CHECK(target.take(found.bytes) == "");
    inputs.push_back(std::move(found));
  }
  constexpr std::size_t kMost = std::size_t{1} << 16;
  for (unsigned seed = 0; seed < mutations * fuzz_scale(); ++seed) {
    std::mt19937_64 random(seed);
    const auto any = [&]() -> const Bytes& { return inputs[random() % inputs.size()].bytes; };
    const bool knowing = target.mutate != nullptr && random() % 4 != 0;
    const Bytes bytes = (knowing ? target.mutate : mutate_bytes)(any(), any(), random, kMost);
    INFO("mutation " << seed);
    if (const std::string broken = target.take(bytes); !broken.empty()) FAIL_CHECK(broken);
  }
}

}  // namespace dovetail::test
