// The devices of the kit, listed.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "runtime/device.h"
#include "runtime/executor.h"

namespace dovetail::runtime {

// Machine code on a pool of threads.
std::shared_ptr<Device> make_cpu_device(int threads, Work* work = nullptr);
// Instruction streams on a simulator.
std::shared_ptr<Device> make_accel_device(MakeSimulator make_simulator);
// Operations of oneDNN, which is looked for when a program with such steps is loaded.
std::shared_ptr<Device> make_onednn_device(int threads, Work* work = nullptr);
// Kernels on an NVIDIA GPU. The driver is looked for when a program with such steps is loaded.
std::shared_ptr<Device> make_cuda_device(Work* work = nullptr);
// Loop programs on the interpreter.
std::shared_ptr<Device> make_host_device(Work* work = nullptr);

// What chooses among programs and repeats them, which run on `devices`: the kit's and the caller's, of which there are
// `given`, this one among them. They outlive it.
std::shared_ptr<Device> make_flow_device(const std::vector<std::shared_ptr<Device>>& devices, std::size_t given,
                                         Work* work = nullptr);

struct DeviceOptions {
  MakeSimulator make_simulator = {};  // of the accelerator; without one nothing of it can be loaded
  int threads = 0;                    // of CPU and oneDNN; 0: one per processor that this process may use
  Work* work = nullptr;               // ExecutorOptions::work
};
// All but flow's, which needs to know the others.
std::vector<std::shared_ptr<Device>> built_in_devices(const DeviceOptions& options);

// The code of all steps of these devices and of flow, also in programs of steps and for other shapes, without running
// or loading any. Whoever only looks at a bundle needs no other check behind read_bundle.
Result<void> check_code(const bundle::Bundle& bundle, const std::vector<std::shared_ptr<Device>>& devices);

}  // namespace dovetail::runtime
