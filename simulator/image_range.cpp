#include "simulator/image_range.h"

#include <fmt/format.h>

namespace dovetail::simulator {

Fault outside_image(const Dram& dram, ByteRange range, std::uint64_t element_bytes, const char* action) {
  return {
      fmt::format("bytes [{:#x}, {:#x}) of DRAM are {}, but the image covers [{:#x}, {:#x})", range.begin, range.end,
                  action, dram.base, dram.base + dram.bytes.size()),
      fmt::format(
          "dram_base counts elements of {} bytes from physical address 0; check it, the sizes and x_stride, and the "
          "image's base address and length",
          element_bytes),
      true};
}

}  // namespace dovetail::simulator
