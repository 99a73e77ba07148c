// State shared by the emulated driver and a kernel's object.
#pragma once

namespace emulated_gpu {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
// State of the running thread. The driver sets it, and is called at barriers and shuffles.
struct State {
  Index thread, block, block_extent, grid_extent;
  unsigned long long blocks_begun = 0;    // in all launches, including the running block
  unsigned char* given_shared = nullptr;  // the launch's dynamic shared memory, which ends at an inaccessible page
  unsigned given_shared_bytes = 0;
  void (*barrier)() = nullptr;
  void (*meet_warp)() = nullptr;  // returns when the 32 threads of a warp have arrived
  // Returns the value offered by the lane whose number differs in `distance`, once all lanes of `mask` have arrived.
  unsigned long long (*shuffle)(unsigned mask, unsigned long long offered, int distance) = nullptr;
  void (*pause)() = nullptr;       // the others continue; where none can and nothing changes, the launch fails
  unsigned long long changes = 0;  // count of events that paused threads wait for
};

// The emulated CUtensorMap, the 128 bytes that cuTensorMapEncodeTiled makes. Innermost dimension first.
struct EncodedTensor {
  static constexpr unsigned long long kMade = 0x7e50a;
  static constexpr unsigned kMostRank = 5;
  unsigned long long made = 0;
  const unsigned char* first = nullptr;
  unsigned short rank = 0, bytes = 0, swizzle = 0;
  unsigned short box[kMostRank] = {};
  unsigned extents[kMostRank] = {};
  unsigned long long strides[kMostRank] = {};  // the innermost stride is `bytes`
};
static_assert(sizeof(EncodedTensor) <= 128);

}  // namespace emulated_gpu
