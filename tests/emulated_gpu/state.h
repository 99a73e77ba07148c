// What the emulated driver and a kernel's object know of each other.
#pragma once

namespace emulated_gpu {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
// Of the thread that runs. The driver sets it, and hears of barriers and shuffles.
struct State {
  Index thread, block, block_extent, grid_extent;
  unsigned long long blocks_begun = 0;    // of all launches, this one included
  unsigned char* given_shared = nullptr;  // the launch's: it ends at a page that nobody may touch
  unsigned given_shared_bytes = 0;
  void (*barrier)() = nullptr;
  void (*meet_warp)() = nullptr;  // the 32 threads of a warp have come here before one goes on
  // What the lane offers whose number differs in `distance`, once all lanes of `mask` are here.
  unsigned long long (*shuffle)(unsigned mask, unsigned long long offered, int distance) = nullptr;
};

}  // namespace emulated_gpu
