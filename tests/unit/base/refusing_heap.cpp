#include "tests/unit/base/refusing_heap.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local int requests_left = -1;  // requests before the refused one; below 0: none is refused, or it has been

}  // namespace

// The other forms of new and delete call these, also where a sanitizer has its own.
void* operator new(std::size_t bytes) {
  if (requests_left >= 0 && requests_left-- == 0) throw std::bad_alloc();
  for (;;) {
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace dovetail::test {

RefusedMemory::RefusedMemory(int n) { requests_left = n; }
RefusedMemory::~RefusedMemory() { requests_left = -1; }
bool RefusedMemory::happened() const { return requests_left < 0; }

}  // namespace dovetail::test
