// What run_threads records of each element of memory, of each thread, and of operations in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "loops/threads/listing.h"
#include "loops/threads/scalar_value.h"
#include "loops/threads/warp_operation.h"

namespace dovetail::loops::adversarial {

// The address of a byte if 16-byte chunks are exchanged (CoreMatrix). It depends on the line of 128 bytes within 1024
// bytes; such buffers begin at multiples of 1024.
inline std::int64_t exchanged(std::int64_t address, std::int64_t swizzle) {
  constexpr std::int64_t kPiece = 16, kLineBytes = 128;
  return address ^ (address / kLineBytes % (swizzle / kPiece) * kPiece);
}

struct Broken {  // thrown, and caught by run_threads
  std::string why;
};

// A thread's identity and progress in a kernel.
struct ThreadId {
  std::int32_t block = -1, thread = -1, epoch = 0;  // epoch: number of barriers that it has passed
  std::int32_t warp_epoch = 0;                      // number of barriers of its warp that it has passed
  std::int64_t warp() const { return thread / kWarpLanes; }
};

// The last accesses to an element since the kernel began.
struct Shadow {
  bool defined = false;
  ThreadId writer, reader;  // block -1: none
  // The readers: threads of one block in one epoch, and whether they are several threads of one warp (since its last
  // barrier) or of several warps.
  bool several_threads = false, several_warps = false, several_blocks = false;
  // Numbers of asynchronous copies to the element and from it, and of calls that write or read it, that may still be in
  // flight.
  int landing = 0, leaving = 0;
  // Time of the last write: the number of the writer's fences, and of its arrivals. -1: by a call.
  std::int32_t fences = 0, arrivals = 0;
  // Time of the last read: the number of the reader's fences. -1: a hardware unit read it.
  std::int32_t reader_fences = 0;
  // The signal and phase of the box copy that wrote it last; -1: written by something else.
  int signal = -1;
  std::int32_t phase = 0;
};

struct Memory {
  const BufferNode* buffer = nullptr;
  std::vector<std::byte> bytes;
  std::vector<Shadow> shadow;  // empty: all elements are defined, and not written in this kernel

  explicit Memory(const Buffer& of)
      : buffer(of.get()),
        bytes(static_cast<std::size_t>(element_count(of->shape)) * static_cast<std::size_t>(size_bytes(of->dtype))),
        shadow(static_cast<std::size_t>(element_count(of->shape))) {}
  std::byte* at(std::size_t element) {
    return bytes.data() + element * static_cast<std::size_t>(size_bytes(buffer->dtype));
  }
  Memory(const Buffer& of, std::span<const std::byte> content)
      : buffer(of.get()), bytes(content.begin(), content.end()) {}
  void note_accesses() {
    if (!shadow.empty()) return;
    shadow.resize(static_cast<std::size_t>(element_count(buffer->shape)));
    for (Shadow& element : shadow) element.defined = true;
  }
  void leaves(std::size_t element, int more) {
    if (!shadow.empty()) shadow[element].leaving += more;
  }
  void forget() {
    for (Shadow& element : shadow) element = {};
  }
  void forget_accesses() {
    for (Shadow& element : shadow) {
      const bool defined = element.defined;
      element = {};
      element.defined = defined;
    }
  }
};

// One element of an asynchronous copy, between its start and the wait for it.
struct Flight {
  Memory *to = nullptr, *from = nullptr;  // from null: a zero
  std::size_t to_element = 0, from_element = 0;
  bool landed = false;

  // Takes the current value.
  void land() {
    if (landed) return;
    landed = true;
    const auto bytes = static_cast<std::size_t>(size_bytes(to->buffer->dtype));
    if (from != nullptr) std::memcpy(to->at(to_element), from->at(from_element), bytes);
    else std::memset(to->at(to_element), 0, bytes);
  }
};

// One thread's reads and writes in an asynchronous call, until the wait for it.
struct UnderWay {
  std::vector<std::pair<Memory*, std::size_t>> written, read;
  const WarpOperation* operation = nullptr;
};

// A line of a box being copied, or the part of it outside the tensor (from: -1), until it is written.
struct BoxFlight {
  Memory *to = nullptr, *from = nullptr;
  std::vector<std::pair<std::size_t, std::int64_t>> elements;  // to, from
  std::size_t signal = 0;
};
// A signal of a block, identified by its number.
struct Signal {
  bool started = false;
  std::int32_t phase = 0;                             // the current phase
  bool expects = false;                               // a thread has set the expected bytes
  std::int64_t expected = 0, issued = 0, landed = 0;  // bytes of that phase
  std::vector<std::pair<Memory*, std::size_t>> written, read;
};

struct Thread {
  ThreadId id;
  std::size_t at = 0;
  std::vector<std::int64_t> values;        // values of variables
  std::vector<Memory> own;                 // by the buffer's number
  std::vector<Flight> started;             // since the last commit
  std::deque<std::vector<Flight>> groups;  // committed ones, the oldest first
  std::vector<UnderWay> called;            // since the last commit of calls
  std::deque<std::vector<UnderWay>> call_groups;
  std::int32_t fences = 0, arrivals = 0;  // numbers of fences and arrivals that the thread has executed
  std::int32_t fences_at_barrier = 0;     // fences executed before its last barrier
  const CoreShuffle* shuffle = nullptr;   // the shuffle at which it waits for other lanes
  ScalarValue offered;                    // the value that it passes to the shuffle
  std::vector<std::int32_t> observed;     // number of phases of each signal that it knows to have ended
};

// The semantics of a warp operation, executed as one thread.
struct Meaning {
  CoreProgram core;
  Listing listing;
};

}  // namespace dovetail::loops::adversarial
