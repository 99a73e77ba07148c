// The list of the kit's devices.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "bundle/bundle.h"
#include "runtime/device.h"
#include "runtime/executor.h"

namespace dovetail::runtime {

// Machine code on a thread pool.
std::shared_ptr<Device> make_cpu_device(int threads, ThreadPool::Placement placement, Work* work = nullptr);
// Instruction streams on a simulator.
std::shared_ptr<Device> make_accel_device(MakeSimulator make_simulator);
// Operations of oneDNN; the library is loaded with the first program that has such steps.
std::shared_ptr<Device> make_onednn_device(int threads, Work* work = nullptr);
// Kernels on an NVIDIA GPU. The driver is loaded with the first program that has such steps.
std::shared_ptr<Device> make_cuda_device(Work* work = nullptr);
// Loop programs on the interpreter.
std::shared_ptr<Device> make_host_device(Work* work = nullptr);

// Control flow: selects among programs and repeats them. They run on `devices`: the `given` ones of the caller, then
// the kit's, including this one. The devices outlive it.
std::shared_ptr<Device> make_flow_device(const std::vector<std::shared_ptr<Device>>& devices, std::size_t given,
                                         Work* work = nullptr);

struct DeviceOptions {
  MakeSimulator make_simulator = {};  // of the accelerator; without it no accelerator program can be loaded
  int threads = 0;                    // for CPU and oneDNN; 0: one per processor that this process may use
  ThreadPool::Placement placement = ThreadPool::Placement::pinned;
  Work* work = nullptr;  // ExecutorOptions::work
};
// All devices except flow's, which needs the others.
std::vector<std::shared_ptr<Device>> built_in_devices(const DeviceOptions& options);

// Checks the code of all steps of these devices and of flow, including programs of steps and for other shapes, without
// running or loading it. To inspect a bundle, read_bundle and this check suffice.
Result<void> check_code(const bundle::Bundle& bundle, const std::vector<std::shared_ptr<Device>>& devices);

}  // namespace dovetail::runtime
