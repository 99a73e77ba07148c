// SramReader shows the elements that LOAD has written, for every shape of tile and every kernel.
#include <cstddef>
#include <random>

#include "simulator/functional/functional.h"
#include "simulator/functional/kernels/kernels.h"
#include "simulator/functional/sram.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::simulator;

TEST_CASE("elements are read back as they were written") {
  std::mt19937_64 random(3);
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    for (const KernelLevel level : {KernelLevel::baseline, KernelLevel::avx2, KernelLevel::avx512vnni}) {
      if (!is_supported(level)) continue;
      const TileLayout tiles{.batch = static_cast<std::size_t>(config.batch),
                             .block_in = static_cast<std::size_t>(config.block_in),
                             .block_out = static_cast<std::size_t>(config.block_out)};
      Sram sram(config, select_kernels(level, tiles));
      for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc}) {
        const auto bytes = static_cast<std::size_t>(config.element_bytes(memory));
        std::vector<std::byte> dram(3 * bytes);
        for (std::byte& byte : dram) byte = static_cast<std::byte>(random());
        sram.write(memory, 1, 3, dram.data());
        const NdArray read = sram.read(memory, 1, 3);
        INFO(config.name << ", memory " << static_cast<int>(memory));
        CHECK(std::equal(dram.begin(), dram.end(), read.bytes().begin(), read.bytes().end()));
        const NdArray around = sram.read(memory, 0, 1);
        CHECK(std::all_of(around.bytes().begin(), around.bytes().end(), [](std::byte b) { return b == std::byte{0}; }));
      }
    }
  }
}
