// Accelerators that store at the same time, down to neighboring bytes of one beat.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/catch.h"
#include "tests/differential/systemc/platform.h"

namespace dovetail::test {

namespace {

// The elements of `tiny` have 4 bytes in OUT and ACC_8BIT, its beats 8.
constexpr std::uint64_t kStoredBytes = 4, kStoreSource = 0x1000, kStoreTarget = 0x2000, kStoreMemoryBytes = 0x4000;
constexpr std::uint32_t kElements = 8;

// Copies elements from `source` to every second one from `target`, in one STORE.
std::vector<isa::Instruction> every_second(std::uint64_t source, std::uint64_t target) {
  isa::Load load;
  load.memory = isa::Memory::acc8;
  load.dram_base = source / kStoredBytes;
  load.y_size = 1;
  load.x_size = load.x_stride = kElements;
  isa::Store store;
  store.memory = isa::Memory::out;
  store.dram_base = target / kStoredBytes;
  store.y_size = kElements;
  store.x_size = 1;
  store.x_stride = 2;
  return {{{.push_next = true}, load}, {{.pop_prev = true}, store}};
}

}  // namespace

TEST_CASE("SystemC: two accelerators that store neighboring elements of one beat lose none") {
  std::vector<std::byte> image(kStoreMemoryBytes);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i * 31 + i / 256 + 1);
  const std::uint64_t bytes = kElements * kStoredBytes;
  for (const char* memory : {"ideal", "bank:ddr4-2400", "perturbed:seed=2"}) {
    CAPTURE(memory);
    const PlatformRun run = run_platform({.config = isa::load_config("tiny").value(), .memory = memory},
                                         {{every_second(kStoreSource, kStoreTarget), 0x3000},
                                          {every_second(kStoreSource + bytes, kStoreTarget + kStoredBytes), 0x3800}},
                                         image);
    REQUIRE(run.done == std::vector{true, true});
    for (std::uint64_t element = 0; element < kElements; ++element)
      for (std::uint64_t b = 0; b < kStoredBytes; ++b)
        for (const std::uint64_t who : {0u, 1u}) {
          CAPTURE(element, b, who);
          CHECK(run.bytes[kStoreTarget + (2 * element + who) * kStoredBytes + b] ==
                image[kStoreSource + who * bytes + element * kStoredBytes + b]);
        }
    // The neighboring bytes are unchanged.
    CHECK(run.bytes[kStoreTarget - 1] == image[kStoreTarget - 1]);
    CHECK(run.bytes[kStoreTarget + 2 * bytes] == image[kStoreTarget + 2 * bytes]);
  }
}

}  // namespace dovetail::test
