// Classes of x86-64 processors that generated code is made for: "baseline" (x86-64-v2), "avx2" (v3), "avx2-vnni" (with
// AVX-VNNI), "avx512" (v4), "avx512-vnni", "avx512-amx" (with VNNI and AMX for bytes).
//
// The environment's DOVETAIL_PROCESSOR names a class of this machine that the process is to keep to, as if the machine
// had the instructions of that class and no others: compiler, simulators and runtime ask here alone what there is. The
// variable is read anew at each question.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail {

inline constexpr const char* kProcessorVariable = "DOVETAIL_PROCESSOR";

// From least to most capable. Each has the instructions of those before it, but AVX-VNNI: it belongs to "avx2-vnni"
// alone.
std::span<const std::string_view> processor_classes();

// This machine, with the instructions that DOVETAIL_PROCESSOR leaves it, runs code made for the named class; false for
// unknown names, and for all where the variable's value is an error. The first question about "avx512-amx" asks the
// system for the tile registers, which it grants to the process as a whole and for good.
bool runs_here(std::string_view processor);

// The most capable class of this machine, DOVETAIL_PROCESSOR aside; empty: it is of none.
std::string_view machine_class();

// What DOVETAIL_PROCESSOR names; nullopt: it is not set. Error: there is no such class, or the machine does not belong
// to it.
Result<std::optional<std::string_view>> processor_cap();

// Why runs_here(processor) is false, for a diagnostic: "this machine is of class avx2".
std::string why_not_here(std::string_view processor);

// As the system calls it: "AMD EPYC 9R14". "unknown processor" where it does not say.
std::string processor_model();

}  // namespace dovetail
