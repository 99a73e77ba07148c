#include "compiler/target/cpu/intrinsics.h"

#include "base/check.h"
#include "loops/parse.h"

namespace dovetail::cpu {

namespace {

loops::Intrinsic row(const std::string& name, const char* text) {
  auto program = loops::parse_program(text, name);
  DOVETAIL_CHECK(program.ok(), name + " is a loop program: " + (program.ok() ? "" : to_string(program.errors())));
  loops::Intrinsic intrinsic;
  intrinsic.name = name;
  intrinsic.semantics = *std::move(program);
  intrinsic.scopes.assign(intrinsic.semantics.parameters.size(), "");
  return intrinsic;
}

}  // namespace

const loops::IntrinsicTable& intrinsics(const Cpu& cpu) {
  static const loops::IntrinsicTable none;
  static const loops::IntrinsicTable vnni{row("x86.vpdpbusd", R"(program vpdpbusd {
    output D: int32[16]
    input X: uint8[4]
    input W: int8[16, 4]
    for o in 16 {
      for i in 4 {
        block vpdpbusd {
          spatial vo in 16 = o
          reduce vi in 4 = i
          reads D[vo], X[vi], W[vo, vi]
          writes D[vo]
          D[vo] = D[vo] + int32(X[vi]) * int32(W[vo, vi])
        }
      }
    }
  })")};
  return cpu.vnni ? vnni : none;
}

}  // namespace dovetail::cpu
