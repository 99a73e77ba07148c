// A libFuzzer program of the target DOVETAIL_FUZZ_TARGET (tests/fuzz/target.h); ./dev fuzz builds it with clang (preset
// fuzz) and runs it. --write-seeds=FOLDER writes the target's seeds instead.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "tests/fuzz/target.h"

namespace {

using dovetail::test::Bytes;

const dovetail::test::FuzzTarget& target() {
  static const dovetail::test::FuzzTarget kTarget = dovetail::test::DOVETAIL_FUZZ_TARGET();
  return kTarget;
}

std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

std::size_t give_back(const Bytes& bytes, std::uint8_t* data, std::size_t max_size) {
  const std::size_t size = std::min(bytes.size(), max_size);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes.data()), size, data);
  return size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kOption = "--write-seeds=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (!argument.starts_with(kOption)) continue;
    const std::filesystem::path folder = argument.substr(kOption.size());
    for (const dovetail::test::FuzzSeed& seed : target().seeds())
      if (auto written = dovetail::write_file(folder / seed.name, seed.bytes); !written) {
        std::fputs(to_string(written.errors()).c_str(), stderr);
        std::exit(1);
      }
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const std::string broken = target().take(bytes_of(data, size)); !broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}

// One time in four libFuzzer's own mutations, which know the values that comparisons look for; always where the target
// has none.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::mt19937_64 random(seed);
  if (target().mutate == nullptr || random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return give_back(target().mutate(bytes_of(data, size), bytes_of(data, size), random, max_size), data, max_size);
}
