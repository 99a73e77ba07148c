// The libFuzzer target of the importer and the graph passes; ./dev fuzz builds it with clang (preset fuzz) and runs it.
// --write-seeds=FOLDER writes the seed models instead.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "tests/fuzz/compiler/import/mutate_model.h"
#include "tests/fuzz/compiler/import/seed_models.h"
#include "tests/fuzz/compiler/import/take_model.h"

namespace {

std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

std::size_t give_back(const std::vector<std::byte>& bytes, std::uint8_t* data, std::size_t max_size) {
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
    for (const dovetail::test::SeedModel& seed : dovetail::test::seed_models())
      if (auto written = dovetail::write_file(folder / (seed.name + ".onnx"), seed.bytes); !written) {
        std::fputs(to_string(written.errors()).c_str(), stderr);
        std::exit(1);
      }
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto taken = dovetail::test::take_model(bytes_of(data, size)); !taken.broken.empty()) {
    std::fprintf(stderr, "%s\n", taken.broken.c_str());
    std::abort();
  }
  return 0;
}

// One time in four libFuzzer's own mutations, which know the values that comparisons look for.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::mt19937_64 random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return give_back(dovetail::test::mutate_model(bytes_of(data, size), bytes_of(data, size), random, max_size), data,
                   max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size, std::uint8_t* out,
                                                 std::size_t max_size, unsigned seed) {
  std::mt19937_64 random(seed);
  return give_back(dovetail::test::mutate_model(bytes_of(one, one_size), bytes_of(other, other_size), random, max_size),
                   out, max_size);
}
