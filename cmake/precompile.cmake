# dovetail_precompile(<target> <owner> [<header>...]): compiles <target> with the precompiled header of <owner>. If <owner> is <target>, makes
# that header from the headers below, which most sources include anyway, and the given ones. This saves about a third of a full build. It is
# used only with DOVETAIL_PCH, which ./dev sets for a fresh clone: without it, each source must include everything that it uses.
#
# A precompiled header is valid for one set of code generation flags, hence -fPIC for executables too.
function(dovetail_precompile target owner)
  if(NOT DOVETAIL_PCH)
    return()
  endif()
  # ccache needs GCC to report which precompiled header it used, and clang to omit the time from it.
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

# dovetail_compile_jointly(<target> <owner>): compiles <target> with the precompiled header of <owner>, and with DOVETAIL_UNITY sixteen sources at a time. Sources
# with their own compile options or definitions are compiled alone. Two files of a target must not use the same name in unnamed namespaces for different things.
function(dovetail_compile_jointly target owner)
  dovetail_precompile(${target} ${owner})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DOVETAIL_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()
