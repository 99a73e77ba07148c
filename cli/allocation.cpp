// The heap of `dovetail`, so that tests can have it refuse memory at every place that asks for some. Without
// DOVETAIL_TEST (base/fault.h) it is the heap of the C++ library with one branch in front.
#include "cli/allocation.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

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

void* take(std::size_t bytes, std::size_t alignment) {
  const bool refused = dovetail::fault::kAreRequested && refuses_this_use();
  if (bytes == 0) bytes = 1;
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

}  // namespace

bool dovetail::cli::heap_has_refused() { return has_refused; }

void* operator new(std::size_t bytes) { return take(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
// Beside the operators that they belong to; what the C++ library has would do the same.
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
