// The heap of `dovetail`, so that tests can have it refuse memory at every place that asks for some. Without
// DOVETAIL_TEST (base/fault.h) it is the heap of the C++ library with one branch in front.
#include "cli/allocation.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include <dlfcn.h>
#include <execinfo.h>

#include "base/fault.h"

namespace {

thread_local bool has_refused = false;

// A place is who calls whom on the way to the heap: the functions of containers, which ask for all, say too little. The
// variable DOVETAIL_TEST_FRAMES says of how many calls, 1 to 6, which is what it is without.
constexpr int kFrames = 8, kOwnFrames = 2;
int frames_of_place() {
  static const int frames = [] {
    const char* const text = std::getenv("DOVETAIL_TEST_FRAMES");
    const int calls = text == nullptr ? 0 : std::atoi(text);
    return calls < 1 || calls > kFrames - kOwnFrames ? kFrames : kOwnFrames + calls;
  }();
  return frames;
}
constexpr std::size_t kPlaces = std::size_t{1} << 17;
std::array<std::atomic<std::uint64_t>, kPlaces> known;

// Within its program or library, which lie elsewhere in each run.
std::uintptr_t offset_of(void* code) {
  ::dl_find_object object;
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  return ::_dl_find_object(code, &object) == 0 ? address - reinterpret_cast<std::uintptr_t>(object.dlfo_map_start)
                                               : address;
}

std::uint64_t place_of_caller() {
  std::array<void*, kFrames> frames;
  const int count = ::backtrace(frames.data(), frames_of_place());
  std::uint64_t place = 0xcbf29ce484222325;
  for (int i = kOwnFrames; i < count; ++i)
    place = (place ^ offset_of(frames[static_cast<std::size_t>(i)])) * 0x100000001b3;
  return place | 1;  // 0 is a free entry
}

// The place has not asked before. A full table: it has.
bool is_new(std::uint64_t place) {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    std::uint64_t found = 0;
    if (known[(place + i) % kPlaces].compare_exchange_strong(found, place)) return true;
    if (found == place) return false;
  }
  return false;
}

// Looking at the stack takes longer than all else: it begins this much before the use that is asked for, which threads
// may make earlier or later than when uses were counted.
constexpr std::uint64_t kDrift = 1000;
std::atomic<std::uint64_t> uses;

[[gnu::noinline]] bool refuses_this_use() {
  const std::uint64_t use = ++uses;
  const dovetail::fault::HeapRequest& request = dovetail::fault::heap_request();
  if (!request.counts && (request.place == 0 || use + kDrift < request.use)) return false;
  thread_local bool inside = false;  // looking at the stack may need memory too
  if (inside) return false;
  inside = true;
  const std::uint64_t place = place_of_caller();
  const bool is_first = (request.counts || place == request.place) && is_new(place);
  if (is_first && request.counts) dovetail::fault::count_heap_place(place, use);
  inside = false;
  return is_first && !request.counts;
}

// Programs are trees of small nodes, made and dropped by the hundred thousand. Blocks that a thread gives back serve
// its next requests of that size: a list for each size that malloc makes no difference between. Each is one of
// malloc's, so that whoever does not know its size may give it to free.
struct SmallBlocks {
  struct Block {
    Block* next;
  };
  static constexpr std::size_t kStep = 16, kHeader = 8, kLists = 33;  // of glibc: sizes 8, 24, 40 to kLargest
  static constexpr std::size_t kLargest = (kLists - 1) * kStep + kHeader;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr std::uint32_t kMost = 0;  // the sanitizer watches each block
#else
  static constexpr std::uint32_t kMost = 4096;
#endif
  static std::size_t list_of(std::size_t bytes) { return (bytes + kStep - kHeader - 1) / kStep; }
  static std::size_t bytes_of(std::size_t list) { return list * kStep + kHeader; }

  std::array<Block*, kLists> first;
  std::array<std::uint32_t, kLists> count;
  std::uint32_t most;  // of a list, then they go to malloc; 0 before the thread's first request, and when it ends
};
constinit thread_local SmallBlocks small_blocks{};

struct GiveBack {
  GiveBack() { small_blocks.most = SmallBlocks::kMost; }
  ~GiveBack() {
    small_blocks.most = 0;
    for (SmallBlocks::Block*& first : small_blocks.first)
      while (first != nullptr) std::free(std::exchange(first, first->next));
  }
};

[[gnu::noinline]] void* take_anew(std::size_t bytes, std::size_t alignment, bool refused) {
  static thread_local const GiveBack at_end;
  for (;;) {
    void* const memory = refused ? nullptr
                         : alignment == 0
                             ? std::malloc(bytes)
                             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory != nullptr) return memory;
    has_refused = true;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* take(std::size_t bytes) {
  const bool refused = dovetail::fault::kAreRequested && refuses_this_use();
  if (bytes > SmallBlocks::kLargest) return take_anew(bytes, 0, refused);
  const std::size_t list = SmallBlocks::list_of(bytes);
  SmallBlocks::Block* const block = small_blocks.first[list];
  if (block == nullptr || refused) return take_anew(SmallBlocks::bytes_of(list), 0, refused);
  small_blocks.first[list] = block->next;
  --small_blocks.count[list];
  return block;
}

void give_back(void* memory, std::size_t bytes) {
  if (memory == nullptr) return;
  const std::size_t list = SmallBlocks::list_of(bytes);
  if (bytes > SmallBlocks::kLargest || small_blocks.count[list] >= small_blocks.most) return std::free(memory);
  small_blocks.first[list] = ::new (memory) SmallBlocks::Block{small_blocks.first[list]};
  ++small_blocks.count[list];
}

}  // namespace

bool dovetail::cli::heap_has_refused() { return has_refused; }

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const bool refused = dovetail::fault::kAreRequested && refuses_this_use();
  return take_anew(std::max<std::size_t>(bytes, 1), static_cast<std::size_t>(alignment), refused);
}
// What knows no size would be the same in the C++ library; it stays beside the operators that it belongs to.
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t bytes) noexcept { give_back(memory, bytes); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
