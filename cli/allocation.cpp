// The heap of `dovetail`, so that tests can have it refuse memory at every place that asks for some. Without
// DOVETAIL_TEST (base/fault.h) it is the heap of the C++ library with one branch in front.
#include "cli/allocation.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <execinfo.h>

#include "base/fault.h"

namespace {

thread_local bool has_refused = false;

// A place is who calls whom on the way to the heap: the functions of containers, which ask for all, say too little.
constexpr int kFrames = 8, kOwnFrames = 2;
constexpr std::size_t kPlaces = std::size_t{1} << 17;
std::array<std::atomic<std::uint64_t>, kPlaces> known;

std::uint64_t place_of_caller() {
  std::array<void*, kFrames> frames;
  const int count = ::backtrace(frames.data(), kFrames);
  std::uint64_t place = 0xcbf29ce484222325;
  for (int i = kOwnFrames; i < count; ++i)
    place = (place ^ reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)])) * 0x100000001b3;
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

// A place counts once, at its first use.
[[gnu::noinline]] bool refuses_this_place() {
  thread_local bool inside = false;  // looking at the stack may need memory too
  if (inside) return false;
  inside = true;
  const bool refused = is_new(place_of_caller()) && dovetail::refused_for_test(dovetail::Refusable::allocation);
  inside = false;
  return refused;
}

void* take(std::size_t bytes, std::size_t alignment) {
  const bool refused = dovetail::fault::kAreRequested && refuses_this_place();
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
