// Streams, events, graphs and copies of the emulated driver. Work on a stream is done only when the host waits for it:
// so a copy from pinned memory sees the contents of that time, and a result that is read too early is missing. While a
// stream captures, a call that cannot be captured breaks the capture.
#include "tests/emulated_gpu/stream.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kInvalidHandle = 400, kNotReady = 600, kUnsupported = 900,
              kInvalidated = 901, kUnmatched = 903;

using Work = std::function<void()>;

struct Stream {
  std::deque<Work> waiting;
  bool capturing = false, broken = false;
  std::vector<Work> captured;
};
struct Event {
  enum { never, pending, done, captured } state = never;
};
struct Graph {
  std::vector<Work> work;
};

std::set<Stream*>& streams() {
  static std::set<Stream*> all;
  return all;
}
std::map<char*, std::size_t>& pinned() {
  static std::map<char*, std::size_t> pieces;
  return pieces;
}
bool is_pinned(const void* bytes) {
  const auto next = pinned().upper_bound(static_cast<char*>(const_cast<void*>(bytes)));
  if (next == pinned().begin()) return false;
  const auto& [begin, size] = *std::prev(next);
  return bytes < begin + size;
}

void drain(Stream& stream) {
  while (!stream.waiting.empty()) {
    const Work work = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    if (emulated_gpu_fault() == kSuccess) work();
  }
}

int give(void* to, const Work& work) {
  if (emulated_gpu_fault() != kSuccess) return emulated_gpu_fault();
  auto* const stream = static_cast<Stream*>(to);
  if (stream == nullptr || !streams().contains(stream)) return kInvalidHandle;
  if (stream->capturing) stream->captured.push_back(work);
  else stream->waiting.push_back(work);
  return kSuccess;
}

bool breaks_capture() {
  bool breaks = false;
  for (Stream* const stream : streams())
    if (stream->capturing) stream->broken = breaks = true;
  return breaks;
}

unsigned long long copies_in = 0, copies_out = 0;

bool in_device(unsigned long long address, std::size_t bytes) { return emulated_gpu_room(address) >= bytes; }

}  // namespace

extern "C" {

bool emulated_gpu_breaks_capture() { return breaks_capture(); }
void emulated_gpu_wait() {
  for (Stream* const stream : streams()) drain(*stream);
}
void emulated_gpu_copies(unsigned long long* in, unsigned long long* out) {
  *in = std::exchange(copies_in, 0);
  *out = std::exchange(copies_out, 0);
}
int emulated_gpu_enqueue(void* stream, const std::function<void()>* work) { return give(stream, *work); }

int cuStreamCreate(void** stream, unsigned) {
  *stream = *streams().insert(new Stream).first;
  return kSuccess;
}
int cuStreamDestroy_v2(void* stream) {
  auto* const gone = static_cast<Stream*>(stream);
  if (!streams().contains(gone)) return kInvalidHandle;
  drain(*gone);
  streams().erase(gone);
  delete gone;
  return kSuccess;
}
int cuStreamSynchronize(void* stream) {
  auto* const one = static_cast<Stream*>(stream);
  if (!streams().contains(one)) return kInvalidHandle;
  if (breaks_capture()) return kUnsupported;
  drain(*one);
  return emulated_gpu_fault();
}

int cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return kSuccess;
}
int cuEventDestroy_v2(void* event) {
  emulated_gpu_wait();
  delete static_cast<Event*>(event);
  return kSuccess;
}
int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  auto* const one = static_cast<Event*>(event);
  const bool capturing = static_cast<Stream*>(stream)->capturing;
  if (flags > 1 || (flags == 1 && !capturing)) return kInvalidValue;
  if (capturing && flags == 0) {
    one->state = Event::captured;  // it orders nodes, and has no time
    return kSuccess;
  }
  if (!capturing) one->state = Event::pending;
  return give(stream, [one] { one->state = Event::done; });
}
int cuEventRecord(void* event, void* stream) { return cuEventRecordWithFlags(event, stream, 0); }
int cuEventSynchronize(void* event) {
  if (breaks_capture()) return kUnsupported;
  if (static_cast<Event*>(event)->state == Event::captured) return kInvalidValue;
  emulated_gpu_wait();
  return emulated_gpu_fault();
}
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  for (const void* event : {begin, end}) {
    const auto state = static_cast<const Event*>(event)->state;
    if (state == Event::never || state == Event::captured) return kInvalidHandle;
    if (state == Event::pending) return kNotReady;
  }
  *milliseconds = 0.25F;
  return emulated_gpu_fault();
}

int cuStreamBeginCapture_v2(void* stream, int mode) {
  auto* const one = static_cast<Stream*>(stream);
  if (!streams().contains(one)) return kInvalidHandle;
  if (mode < 0 || mode > 2 || one->capturing) return kInvalidValue;
  if (const auto refused = static_cast<int>(emulated_gpu::setting("EMULATED_GPU_NO_CAPTURE", 0)); refused != 0)
    return refused;
  one->capturing = true;
  one->broken = false;
  one->captured.clear();
  return kSuccess;
}
int cuStreamEndCapture(void* stream, Graph** graph) {
  auto* const one = static_cast<Stream*>(stream);
  *graph = nullptr;
  if (!one->capturing) return kUnmatched;
  one->capturing = false;
  if (one->broken) return kInvalidated;
  *graph = new Graph{std::move(one->captured)};
  return kSuccess;
}
int cuGraphInstantiateWithFlags(Graph** made, Graph* graph, unsigned long long) {
  *made = new Graph(*graph);
  return kSuccess;
}
int cuGraphDestroy(Graph* graph) {
  delete graph;
  return kSuccess;
}
int cuGraphExecDestroy(Graph* graph) {
  delete graph;
  return kSuccess;
}
int cuGraphLaunch(Graph* graph, void* stream) {
  for (const Work& work : graph->work)
    if (const int status = give(stream, work); status != kSuccess) return status;
  return kSuccess;
}

int cuMemHostAlloc(void** bytes, std::size_t size, unsigned) {
  if (breaks_capture()) return kUnsupported;
  auto* const made = new char[size];
  std::memset(made, 0xa5, size);
  pinned()[made] = size;
  *bytes = made;
  return kSuccess;
}
int cuMemFreeHost(void* bytes) {
  emulated_gpu_wait();
  if (pinned().erase(static_cast<char*>(bytes)) == 0) return kInvalidValue;
  delete[] static_cast<char*>(bytes);
  return kSuccess;
}

int cuMemsetD8Async(unsigned long long address, unsigned char value, std::size_t bytes, void* stream) {
  if (!in_device(address, bytes)) return kInvalidValue;
  return give(stream, [=] { std::memset(reinterpret_cast<void*>(address), value, bytes); });
}
// CUDA_MEMCPY3D: the fields that matter are at these offsets, in words of 64 bits.
int cuMemcpy3DAsync_v2(const unsigned long long* copy, void* stream) {
  enum { from_type = 4, from = 6, from_pitch = 9, from_height, to_type = 15, to = 17, to_pitch = 20, to_height, width };
  constexpr unsigned long long kDevice = 2;
  const auto at = [&](int place) { return copy[place]; };
  const unsigned long long rows = at(width + 1), planes = at(width + 2);
  if ((at(from_type) & 0xffffffff) != kDevice || (at(to_type) & 0xffffffff) != kDevice || rows == 0 || planes == 0 ||
      at(from_pitch) < at(width) || at(to_pitch) < at(width) || at(from_height) < rows || at(to_height) < rows)
    return kInvalidValue;
  for (const int corner : {0, 1, 2, 3, 11, 12, 13, 14})
    if (at(corner) != 0) return kInvalidValue;
  const auto end = [&](int pitch, int height) {
    return ((planes - 1) * at(height) + rows - 1) * at(pitch) + at(width);
  };
  if (!in_device(at(from), end(from_pitch, from_height)) || !in_device(at(to), end(to_pitch, to_height)))
    return kInvalidValue;
  std::vector<unsigned long long> kept(copy, copy + width + 3);
  const char* const fault = std::getenv("EMULATED_GPU_PLANT");
  if (fault != nullptr && std::strcmp(fault, "plane distance") == 0) kept[to_height] = kept[from_height];
  return give(stream, [=] {
    for (unsigned long long plane = 0; plane < planes; ++plane)
      for (unsigned long long row = 0; row < rows; ++row)
        std::memcpy(reinterpret_cast<void*>(kept[to] + (plane * kept[to_height] + row) * kept[to_pitch]),
                    reinterpret_cast<void*>(kept[from] + (plane * kept[from_height] + row) * kept[from_pitch]),
                    kept[width]);
  });
}
int cuMemcpyHtoDAsync_v2(unsigned long long address, const void* host, std::size_t bytes, void* stream) {
  ++copies_in;
  if (!in_device(address, bytes)) return kInvalidValue;
  if (is_pinned(host)) return give(stream, [=] { std::memcpy(reinterpret_cast<void*>(address), host, bytes); });
  // Memory that is not pinned is read before the call returns.
  const auto copy =
      std::make_shared<std::vector<char>>(static_cast<const char*>(host), static_cast<const char*>(host) + bytes);
  return give(stream, [=] { std::memcpy(reinterpret_cast<void*>(address), copy->data(), bytes); });
}
int cuMemcpyDtoHAsync_v2(void* host, unsigned long long address, std::size_t bytes, void* stream) {
  ++copies_out;
  if (!in_device(address, bytes)) return kInvalidValue;
  const int status = give(stream, [=] { std::memcpy(host, reinterpret_cast<const void*>(address), bytes); });
  if (status != kSuccess || is_pinned(host)) return status;
  if (breaks_capture()) return kUnsupported;
  drain(*static_cast<Stream*>(stream));
  return emulated_gpu_fault();
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** parameters, void**) {
  if (shared > emulated_gpu_most_shared(function)) return kInvalidValue;
  // The values of the arguments are those at the call.
  auto values = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (const std::size_t size : emulated_gpu_parameters(function)) {
    const auto* const from = static_cast<const std::byte*>(parameters[values->size()]);
    values->emplace_back(from, from + size);
  }
  return give(stream, [=] {
    std::vector<void*> pointers;
    for (std::vector<std::byte>& value : *values) pointers.push_back(value.data());
    emulated_gpu_launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, pointers.data());
  });
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, std::size_t) {
  if (threads < 1 || threads > 1024) return kInvalidValue;
  *blocks = 2048 / threads;
  return kSuccess;
}
}
