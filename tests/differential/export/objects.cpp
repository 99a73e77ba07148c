// Loop programs as objects, linked by the C compiler of this machine, compared with the interpreter; and for the
// processors of emulated boards, where the compilers and QEMU are installed.
#include <fmt/format.h>

#include "base/json.h"
#include "base/processor.h"
#include "compiler/target/cpu/cpu.h"
#include "tests/catch.h"
#include "tests/differential/export/operations.h"
#include "tests/exported_program.h"
#include "tests/process.h"
#include "tests/skip.h"

using namespace dovetail;

namespace {

// The rows of tests/boards/boards.py.
Json boards() {
  const test::Finished listed = test::run_process(
      {test::find_program("python3"), "-B", std::string(DOVETAIL_SOURCE_DIR) + "/tests/boards/boards.py"});
  return parse_json(listed.out, "boards.py").value();
}

}  // namespace

TEST_CASE("objects: every operation and conversion computes the same as the interpreter") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  for (const cpu::Cpu& cpu : cpu::cpus()) {
    if (!runs_here(cpu.name)) continue;
    for (const DTypeInfo& type : kDTypes) {
      INFO(cpu.name << ", " << type.name);
      test::Operations operations(test::Functions::exact);
      operations.add_all(type.dtype);
      if (type.dtype == DType::int32) operations.add_requantize();
      CHECK(operations.count() > 20);
      CHECK(operations.run_objects({cpu.name, {compiler}, {}}) == "");
    }
  }
}

TEST_CASE("objects: every operation computes the same on emulated boards") {
  const Json all = boards();
  std::string missing;
  for (const Json& board : all) {
    if (!board["missing"].empty()) {
      missing = fmt::format("{} is not installed", board["missing"][0].get<std::string>());
      continue;
    }
    for (const DTypeInfo& type : kDTypes) {
      INFO(board["name"] << ", " << type.name);
      test::Operations operations(test::Functions::exact);
      operations.add_all(type.dtype);
      if (type.dtype == DType::int32) operations.add_requantize();
      CHECK(operations.run_objects({board["processor"], board["compiler"], board["emulator"]}) == "");
    }
  }
  if (missing != "") test::skip("some boards: " + missing);
}
