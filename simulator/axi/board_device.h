// A device of this machine: its registers and its interrupt through UIO, its memory from u-dma-buf. These drivers of
// Linux make them available to programs: https://docs.kernel.org/driver-api/uio-howto.html,
// https://github.com/ikwzm/udmabuf. Heaps of dma-buf do not serve: since Linux 6.8 no program learns their physical
// addresses, their caches are maintained only for drivers in the kernel, and they end with the process while the device
// may still write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "simulator/axi/device.h"

namespace dovetail::simulator {

// Where a device is: "REGISTERS:MEMORY", for example "/dev/uio0:/dev/udmabuf0".
struct BoardPlace {
  std::filesystem::path registers, memory;
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

// Errors: a path or an attribute is missing or not permitted; another process uses the device.
Result<BoardFiles> open_board_files(const BoardPlace& place, const std::filesystem::path& root = "/");

// A process that inherits the descriptors makes the same files of the text: the board of a queue opens a device once,
// for the commands that it confines.
std::string to_text(const BoardFiles& files);
std::vector<int> descriptors_of(const BoardFiles& files);  // numbers of at least 64
bool is_inherited(std::string_view text);
Result<BoardFiles> inherited_board_files(std::string_view text);  // copies of the descriptors

// Error: the kernel does not map the registers or the memory.
Result<std::unique_ptr<AxiDevice>> make_board_device(BoardFiles files);

}  // namespace dovetail::simulator
