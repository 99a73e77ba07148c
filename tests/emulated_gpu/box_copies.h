// Copies of boxes of tensors on this machine. A line of a box arrives at some time after its start, in any order
// relative to others: when a thread starts something, or waits. Until then its destination holds a pattern. Signals
// count as mbarriers do: a phase ends when a thread has arrived and no expected byte is outstanding; a thread that
// expects too many bytes waits forever.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "tests/emulated_gpu/group_operations.h"
#include "tests/emulated_gpu/instructions.h"
#include "tests/emulated_gpu/state.h"

// A parameter of the kernels.
struct TensorMap {
  unsigned long long words[16];
};

namespace emulated_gpu {

// 16 bytes of a line; elements outside the tensor are zeros.
struct BoxPiece {
  unsigned char* to = nullptr;
  std::vector<const unsigned char*> from;  // source of each element; null: a zero
  unsigned bytes = 0;                      // bytes of an element
  void* signal = nullptr;
};
struct BoxSignal {
  bool started = false, seen_by_units = false;
  unsigned starter = 0;  // the thread that started it
  unsigned long long phase = 0;
  long long arrivals = 1, bytes = 0;  // what the phase still needs
};
struct BoxBlock {
  std::uint64_t number = 0;
  std::map<void*, BoxSignal> signals;
  std::vector<BoxPiece> flights;
};
inline BoxBlock& own_box_block() {
  static BoxBlock block;
  if (block.number != emulated_gpu_state.blocks_begun) block = {emulated_gpu_state.blocks_begun, {}, {}};
  return block;
}

// Writes of the asynchronous units, which the units see at once.
inline void write_by_unit(unsigned char* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  std::vector<unsigned char>& seen = own_group_block().seen;
  if (seen.empty()) seen.assign(emulated_gpu_state.given_shared_bytes, 0x5a);
  const auto offset = static_cast<std::size_t>(to - given_shared());
  if (offset + bytes <= seen.size()) std::memcpy(seen.data() + offset, from, bytes);
}

// A copy that is still in flight when its phase ends would arrive after its readers: it is dropped.
inline void change(void* place) {
  BoxBlock& block = own_box_block();
  BoxSignal& signal = block.signals[place];
  ++emulated_gpu_state.changes;
  if (signal.arrivals > 0 || signal.bytes != 0) return;
  ++signal.phase;
  signal.arrivals = 1;
  std::erase_if(block.flights, [&](const BoxPiece& piece) { return piece.signal == place; });
}

inline void land_box_piece() {
  BoxBlock& block = own_box_block();
  if (block.flights.empty()) return;
  std::swap(block.flights[below(static_cast<unsigned>(block.flights.size()))], block.flights.back());
  const BoxPiece piece = std::move(block.flights.back());
  block.flights.pop_back();
  std::vector<unsigned char> line(piece.from.size() * piece.bytes, 0);
  for (std::size_t i = 0; i < piece.from.size(); ++i)
    if (piece.from[i] != nullptr) std::memcpy(line.data() + i * piece.bytes, piece.from[i], piece.bytes);
  write_by_unit(piece.to, line.data(), line.size());
  BoxSignal& signal = block.signals[piece.signal];
  if (!signal.seen_by_units) return;
  signal.bytes -= static_cast<long long>(line.size());
  change(piece.signal);
}

template <unsigned rank>
void start_box(void* to, const TensorMap& map, void* signal, const int (&corner)[rank]) {
  EncodedTensor tensor;
  std::memcpy(&tensor, &map, sizeof tensor);
  require(tensor.made == EncodedTensor::kMade && tensor.rank == rank,
          "a kernel's tensor map is none, or of another rank");
  BoxBlock& block = own_box_block();
  const unsigned line = tensor.box[0] * tensor.bytes;
  unsigned lines = 1;
  for (unsigned d = 1; d < rank; ++d) lines *= tensor.box[d];
  const std::uint64_t first = static_cast<std::uint64_t>(static_cast<unsigned char*>(to) - given_shared());
  constexpr unsigned kPieceBytes = 16, kPattern = 128;
  const unsigned in_piece = kPieceBytes / tensor.bytes;
  require(first % kPattern == 0 && (tensor.swizzle == 0 || first % (8 * tensor.swizzle) == 0),
          "a box lands at no multiple of what its swizzle repeats");
  if (first + std::uint64_t{lines} * line > emulated_gpu_state.given_shared_bytes) return;  // and no byte is counted
  for (unsigned l = 0; l < lines; ++l) {
    long long place[rank];
    unsigned rest = l;
    for (unsigned d = 1; d < rank; ++d)
      place[d] = corner[d] + static_cast<long long>(rest % tensor.box[d]), rest /= tensor.box[d];
    for (unsigned at = 0; at < line; at += kPieceBytes) {
      std::uint64_t address = first + std::uint64_t{l} * line + at;
      if (tensor.swizzle != 0) address ^= (address >> 7 & (tensor.swizzle / kPieceBytes - 1u)) << 4;
      BoxPiece piece{given_shared() + address, {}, tensor.bytes, signal};
      for (unsigned i = 0; i < in_piece; ++i) {
        place[0] = corner[0] + static_cast<long long>(at / tensor.bytes + i);
        const unsigned char* from = tensor.first;
        for (unsigned d = 0; d < rank && from != nullptr; ++d)
          from = place[d] < 0 || place[d] >= tensor.extents[d]
                     ? nullptr
                     : from + static_cast<std::uint64_t>(place[d]) * tensor.strides[d];
        piece.from.push_back(from);
      }
      unsigned char pattern[kPieceBytes];
      std::memset(pattern, 0xa5, sizeof pattern);
      write_by_unit(piece.to, pattern, sizeof pattern);
      block.flights.push_back(std::move(piece));
    }
  }
  for (unsigned some = below(lines + 1); some > 0; --some) land_box_piece();
}

}  // namespace emulated_gpu

inline void fence_for_units() {
  using namespace emulated_gpu;
  const unsigned char* const begin = given_shared();
  own_group_block().seen.assign(begin, begin + emulated_gpu_state.given_shared_bytes);
  for (auto& [place, signal] : own_box_block().signals) signal.seen_by_units |= signal.starter == own_thread();
}
inline void start_signal(void* signal) {
  std::memset(signal, 0, 8);
  emulated_gpu::own_box_block().signals[signal] = {true, false, emulated_gpu::own_thread(), 0, 1, 0};
}
inline void expect_bytes(void* signal, int bytes) {
  emulated_gpu::BoxSignal& own = emulated_gpu::own_box_block().signals[signal];
  if (!own.started) return;  // this thread has no counter
  --own.arrivals;
  own.bytes += bytes;
  emulated_gpu::change(signal);
}
inline void wait_for_signal(void* signal, int parity) {
  emulated_gpu::BoxSignal& own = emulated_gpu::own_box_block().signals[signal];
  while (own.phase % 2 == static_cast<unsigned>(parity)) {
    for (unsigned some = emulated_gpu::below(16); some > 0; --some) emulated_gpu::land_box_piece();
    emulated_gpu_state.pause();
  }
}
template <typename... Corner>
void copy_box(void* to, const TensorMap* map, void* signal, Corner... corner) {
  emulated_gpu::start_box<sizeof...(Corner)>(to, *map, signal, {corner...});
}
