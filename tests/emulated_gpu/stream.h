// Interface between the parts of the emulated GPU: the driver (driver.cpp, stream.cpp) and the libraries that compute
// on its memory (cublas.cpp, cudnn.cpp), which find it in the same way as the kit, by DOVETAIL_LIBCUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

namespace emulated_gpu {

inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// CUresult of a failure on the device; each later call returns it.
inline constexpr int kFaultOfAddress = 700;

}  // namespace emulated_gpu

extern "C" {
// Runs the work when the host waits, or captures it. Returns a CUresult.
int emulated_gpu_enqueue(void* stream, const std::function<void()>* work);
// Bytes from that address to the end of its piece of the device's memory; 0 where there is none.
std::size_t emulated_gpu_room(unsigned long long address);
void emulated_gpu_fail(int status);
// A call that waits while a stream captures breaks the capture, and so does allocating or freeing memory.
bool emulated_gpu_breaks_capture();
void emulated_gpu_wait();  // for all streams
// Numbers of copies to the device and from it since the previous call.
void emulated_gpu_copies(unsigned long long* in, unsigned long long* out);
// For the functions of the driver's own object:
int emulated_gpu_fault();
std::vector<std::size_t> emulated_gpu_parameters(void* function);
int emulated_gpu_launch(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, void** parameters);
unsigned emulated_gpu_most_shared(void* function);  // most bytes that a launch may ask for
}
