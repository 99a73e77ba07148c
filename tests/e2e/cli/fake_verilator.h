// Replacements for Verilator and g++ that take a moment: what they build from any design is a copy of one file. They
// log their calls, so that tests see who builds what, and when.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"

namespace dovetail::test {

class FakeVerilator {
 public:
  // First on the PATH for the lifetime of this object. `seconds`: the duration of a verilation.
  FakeVerilator(const std::string& version, const std::string& seconds, const std::filesystem::path& model)
      : path_("PATH", folder_.path().string() + ":" + std::getenv("PATH")) {
    write_script("verilator", fmt::format(R"(case $1 in
  --version) echo 'Verilator {} 2030-01-01 rev fake'; exit ;;
  --getenv) echo /nowhere; exit ;;
esac
echo >> '{}'
sleep {}
while [ $# -gt 0 ]; do
  [ "$1" = --Mdir ] && mkdir -p "$2" && echo > "$2/model.cpp"
  shift
done)",
                                          version, calls_.string(), seconds));
    write_script("g++", fmt::format(R"(while [ $# -gt 0 ]; do
  [ "$1" = -o ] && out=$2
  shift
done
cp '{}' "$out")",
                                    model.string()));
  }

  std::size_t verilations() const {
    std::ifstream file(calls_);
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

 private:
  void write_script(const char* name, const std::string& text) const {
    REQUIRE(write_text_file(folder_ / name, "#!/bin/sh\n" + text + "\n").ok());
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }

  TemporaryFolder folder_;
  std::filesystem::path calls_ = folder_ / "calls";
  Environment path_;
};

}  // namespace dovetail::test
