// Facts about this build, which CMake fills in (cli/shell/build_facts.cpp.in).
#pragma once

#include <string_view>

namespace dovetail::cli {

struct BuildFacts {
  std::string_view version, compiler, build_type;
  std::string_view fmt, json, zlib, openssl, sqlite, cli11, llvm;  // versions of libraries
  std::string_view packages;                                       // the content of packages.txt
};
const BuildFacts& build_facts();

}  // namespace dovetail::cli
