# dovetail_precompile(<target> <owner> [<header>...]): <target> is compiled with the precompiled header of <owner>, which is the target itself
# where the header is made: of the headers below, that most sources include anyhow, and those named. It takes about a third off a build from
# nothing. Only with DOVETAIL_PCH, as ./dev builds a fresh clone: elsewhere every source is seen to name all that it includes.
#
# A precompiled header holds for one set of code generation flags, hence -fPIC for executables too.
function(dovetail_precompile target owner)
  if(NOT DOVETAIL_PCH)
    return()
  endif()
  # ccache needs GCC to report which precompiled header it took, and clang to leave the time out of it.
  target_compile_options(${target} PRIVATE -fPIC
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  if(NOT target STREQUAL owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    return()
  endif()
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
    <unordered_map> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp> ${ARGN})
endfunction()

# dovetail_compile_jointly(<target> <owner>): with the precompiled header of <owner>, and with DOVETAIL_UNITY sixteen sources at a time. Sources with compile
# options or their own definitions stay alone. No two files of a target may give one name two meanings in unnamed namespaces.
function(dovetail_compile_jointly target owner)
  dovetail_precompile(${target} ${owner})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DOVETAIL_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()
