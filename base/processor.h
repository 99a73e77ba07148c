// Classes of processors that the kernels of bundles are made for. Of x86-64: "baseline" (x86-64-v2), "avx2" (v3),
// "avx2-vnni" (with AVX-VNNI), "avx512" (v4), "avx512-vnni", "avx512-amx" (with VNNI and AMX for bytes). Of others:
// "aarch64", "aarch64-i8mm" (with products of signed and unsigned bytes), "riscv64" (RV64GC), "riscv64-v" (with
// vectors).
//
// The environment's DOVETAIL_PROCESSOR names a class of this machine to which the process is limited, as if the machine
// had the instructions of that class and no others: compiler, simulators and runtime query the processor only here. The
// variable is read again at each query.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail {

inline constexpr const char* kProcessorVariable = "DOVETAIL_PROCESSOR";

// By architecture, from least to most capable. Each has the instructions of the preceding ones of its architecture,
// except AVX-VNNI, which belongs to "avx2-vnni" only.
std::span<const std::string_view> processor_classes();

// Whether this machine, limited by DOVETAIL_PROCESSOR, runs code made for the named class; false for unknown names, and
// for all names if the variable's value is an error. The first query about "avx512-amx" requests the tile registers
// from the system, which grants them to the whole process permanently.
bool runs_here(std::string_view processor);

// The most capable class of this machine, ignoring DOVETAIL_PROCESSOR; empty: it belongs to none.
std::string_view machine_class();

// The class that DOVETAIL_PROCESSOR names; nullopt: not set. Error: there is no such class, or the machine does not
// belong to it.
Result<std::optional<std::string_view>> processor_cap();

// Why runs_here(processor) is false, for a diagnostic: "this machine is of class avx2".
std::string why_not_here(std::string_view processor);

// The system's name of the processor: "AMD EPYC 9R14". On Arm, where the system gives numbers, the names of its cores:
// "Cortex-A53 and Cortex-A73", "Arm core 0x41 0xd99". "unknown processor" if the system reports none.
std::string processor_model(const std::filesystem::path& cpuinfo = "/proc/cpuinfo");

// How the first processor is clocked, as far as the kernel says, which in many virtual machines it does not: "base
// clock 2600 MHz, governor performance", "at most 1500 MHz"; may be empty. `folder`: the kernel's cpufreq folder.
std::string processor_clock(const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cpufreq");

}  // namespace dovetail
