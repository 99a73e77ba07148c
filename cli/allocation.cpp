// The heap of `dovetail`, faster than malloc for the small blocks that compiling allocates (1.8 million blocks for
// ResNet-18 on the accelerator; malloc's own cache holds seven blocks of each size).
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

// Programs are trees of small nodes, allocated and freed by the hundred thousand. A thread stores freed blocks for its
// next requests of the same size, in one list for each size class of malloc. Each block comes from malloc, so that code
// that does not know its size may pass it to free.
struct SmallBlocks {
  struct Block {
    Block* next;
  };
  static constexpr std::size_t kStep = 16, kHeader = 8, kLists = 33;  // of glibc: sizes 8, 24, 40 to kLargest
  static constexpr std::size_t kLargest = (kLists - 1) * kStep + kHeader;
  static constexpr std::uint32_t kMost = 4096;
  static std::size_t list_of(std::size_t bytes) { return (bytes + kStep - kHeader - 1) / kStep; }
  static std::size_t bytes_of(std::size_t list) { return list * kStep + kHeader; }

  std::array<Block*, kLists> first;
  std::array<std::uint32_t, kLists> count;
  std::uint32_t
      most;  // most blocks of a list, further ones go to free; 0 before the thread's first request, and when it ends
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

[[gnu::noinline]] void* take_anew(std::size_t bytes, std::size_t alignment = 0) {
  static thread_local const GiveBack at_end;
  for (;;) {
    void* const memory = alignment == 0
                             ? std::malloc(bytes)
                             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* take(std::size_t bytes) {
  if (bytes > SmallBlocks::kLargest) return take_anew(bytes);
  const std::size_t list = SmallBlocks::list_of(bytes);
  SmallBlocks::Block* const block = small_blocks.first[list];
  if (block == nullptr) return take_anew(SmallBlocks::bytes_of(list));
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

// All replaceable forms are here. Otherwise an allocator that is loaded before (LD_PRELOAD) would provide the others,
// and its blocks, which may be smaller than malloc's, would come into the lists.
void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return take(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_anew(std::max<std::size_t>(bytes, 1), static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t& no) noexcept { return operator new(bytes, no); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& no) noexcept {
  return operator new(bytes, alignment, no);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t bytes) noexcept { give_back(memory, bytes); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t bytes) noexcept { give_back(memory, bytes); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { std::free(memory); }
