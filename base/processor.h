// Classes of x86-64 processors that generated code is made for: "baseline" (x86-64-v2), "avx2" (v3), "avx2-vnni" (with
// AVX-VNNI), "avx512" (v4), "avx512-vnni", "avx512-amx" (with VNNI and AMX for bytes).
#pragma once

#include <string>
#include <string_view>

namespace dovetail {

// This machine runs code made for the named class; false for unknown names. The first question about "avx512-amx" asks
// the system for the tile registers, which it grants to the process as a whole and for good.
bool runs_here(std::string_view processor);

// As the system calls it: "AMD EPYC 9R14". "unknown processor" where it does not say.
std::string processor_model();

}  // namespace dovetail
