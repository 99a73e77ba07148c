// Classes of x86-64 processors that generated code is made for: "baseline" (x86-64-v2), "avx2" (v3), "avx512" (v4),
// "avx512-vnni".
#pragma once

#include <string>
#include <string_view>

namespace dovetail {

// This machine runs code made for the named class; false for unknown names.
bool runs_here(std::string_view processor);

// As the system calls it: "AMD EPYC 9R14". "unknown processor" where it does not say.
std::string processor_model();

}  // namespace dovetail
