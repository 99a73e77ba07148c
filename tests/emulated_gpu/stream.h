// What the pieces of the emulated GPU know of each other: the driver (driver.cpp, stream.cpp) and the libraries that
// compute on its memory (cublas.cpp, cudnn.cpp), which find it as the kit does, by DOVETAIL_LIBCUDA.
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

// CUresult of what went wrong on the device; each later call gives it.
inline constexpr int kFaultOfAddress = 700;

}  // namespace emulated_gpu

extern "C" {
// Done when the host waits, or captured. A CUresult.
int emulated_gpu_enqueue(void* stream, const std::function<void()>* work);
// From that address to the end of its piece of the device's memory; 0 where there is none.
std::size_t emulated_gpu_room(unsigned long long address);
void emulated_gpu_fail(int status);
// What waits while a stream captures breaks the capture, and so does memory that comes or goes.
bool emulated_gpu_breaks_capture();
void emulated_gpu_wait();  // for all streams
// Copies to the device and from it since the last time that somebody asked.
void emulated_gpu_copies(unsigned long long* in, unsigned long long* out);
// Of the functions of the driver's own object:
int emulated_gpu_fault();
std::vector<std::size_t> emulated_gpu_parameters(void* function);
int emulated_gpu_launch(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, void** parameters);
unsigned emulated_gpu_most_shared(void* function);  // bytes that a launch may give
}
