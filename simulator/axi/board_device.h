// A device of this machine: its registers and its interrupt through UIO, its memory from u-dma-buf or from a heap of
// dma-buf. Linux drivers make them available to programs: https://docs.kernel.org/driver-api/uio-howto.html,
// https://github.com/ikwzm/udmabuf, https://docs.kernel.org/userspace-api/dma-buf-heaps.html.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "simulator/axi/device.h"

namespace dovetail::simulator {

// Where a device is: "REGISTERS:MEMORY[:MIB][:coherent]", for example "/dev/uio0:/dev/udmabuf0" or
// "/dev/uio0:/dev/dma_heap/linux,cma:64:coherent". MIB: the size of a block of a heap.
struct BoardPlace {
  std::filesystem::path registers, memory;
  std::uint64_t heap_bytes = std::uint64_t{64} << 20;
  bool coherent = false;  // the accelerator's port sees the processor's caches
};
Result<BoardPlace> parse_board_place(std::string_view text);
// The device of this machine: the only UIO device whose name contains "dovetail", with the u-dma-buf whose name does
// too, or with the only one. Error: there is none, or there are several. `root` precedes all paths.
Result<BoardPlace> find_board_place(const std::filesystem::path& root = "/");

// What is open of a device.
struct BoardFiles {
  std::string name;
  Descriptor registers;
  std::uint64_t window = 0;   // of the registers, as an offset of mmap
  std::uint64_t in_page = 0;  // the first register in it
  Descriptor interrupt;       // as UIO has it: a read waits, a write of 1 enables
  Descriptor memory;
  std::uint64_t base = 0, bytes = 0;
  bool coherent = false;
  // The attributes of u-dma-buf, in the order of kCacheFiles.
  std::array<Descriptor, 5> caches;
};
inline constexpr std::array<std::string_view, 5> kCacheFiles{"sync_offset", "sync_size", "sync_direction",
                                                             "sync_for_device", "sync_for_cpu"};

// Errors: a path or an attribute is missing or not permitted; another process uses the device; the heap has no
// contiguous block of the size; a heap's memory that is not coherent, whose caches the kernel does not maintain for a
// device that has no driver in it.
Result<BoardFiles> open_board_files(const BoardPlace& place, const std::filesystem::path& root = "/");

// A process that inherits the descriptors makes the same files of the text: the board of a queue opens a device once,
// for the commands that it confines.
std::string to_text(const BoardFiles& files);
std::vector<int> descriptors_of(const BoardFiles& files);  // numbers of at least 64
Result<BoardFiles> inherited_board_files(std::string_view text);

// Error: the kernel does not map the registers or the memory.
Result<std::unique_ptr<AxiDevice>> make_board_device(BoardFiles files);

}  // namespace dovetail::simulator
