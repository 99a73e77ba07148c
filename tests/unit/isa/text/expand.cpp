// `.repeat` and macros.
#include "tests/unit/isa/text/assembly.h"

using namespace dovetail;
using namespace dovetail::isa;
using namespace dovetail::isa::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE(".repeat writes its lines again, with the number of the repetition") {
  CHECK(program_of(".repeat 3 i\nalu.add uop=0:1 imm=\\i*10\n.endr\nfinish") ==
        "alu.add uop=0:1 iter=1x1 imm=0\nalu.add uop=0:1 iter=1x1 imm=10\nalu.add uop=0:1 iter=1x1 imm=20\nfinish\n");
  CHECK(program_of(".equ n 2\n.repeat n+1-3\nfinish\n.endr") == "");
  CHECK(program_of(".repeat 2 i\n.repeat 2 j\nalu.add uop=0:1 imm=\\i*2+\\j\n.endr\n.endr") ==
        "alu.add uop=0:1 iter=1x1 imm=0\nalu.add uop=0:1 iter=1x1 imm=1\nalu.add uop=0:1 iter=1x1 imm=2\n"
        "alu.add uop=0:1 iter=1x1 imm=3\n");
  CHECK(assembled(".repeat 4 i\n.uop \\i, 0, 0\n.endr").uops.size() == 4);
}

TEST_CASE("an inner name hides the outer one only where the repetitions differ") {
  // The outer repetition replaces \i in the whole body, so an inner `.repeat N i` has nothing left to replace.
  CHECK(program_of(".repeat 2 i\n.repeat 2 k\nalu.add uop=0:1 imm=\\i\n.endr\n.endr") ==
        "alu.add uop=0:1 iter=1x1 imm=0\nalu.add uop=0:1 iter=1x1 imm=0\nalu.add uop=0:1 iter=1x1 imm=1\n"
        "alu.add uop=0:1 iter=1x1 imm=1\n");
}

TEST_CASE("macros have arguments by position and by name, and defaults") {
  const std::string macro = ".macro add n imm=1 flags=\"\"\nalu.add uop=0:\\n imm=\\imm*2 \\flags\n.endm\n";
  CHECK(program_of(macro + "add 2") == "alu.add uop=0:2 iter=1x1 imm=2\n");
  CHECK(program_of(macro + "add 2 1+2") == "alu.add uop=0:2 iter=1x1 imm=6\n");
  CHECK(program_of(macro + "add imm=-3 n=4") == "alu.add uop=0:4 iter=1x1 imm=-6\n");
  CHECK(program_of(macro + "add 2 flags=\"push_next pop_prev\"") ==
        "alu.add uop=0:2 iter=1x1 imm=2 pop_prev push_next\n");
}

TEST_CASE("a macro uses another, names its labels, and reads files") {
  const Assembly assembly = assembled(R"(.macro inner n
l\@: alu.add uop=0:1 imm=\n
.endm
.macro outer n
inner \n
inner \n+1
.endm
start: outer 5
)");
  REQUIRE(assembly.program.size() == 2);
  CHECK(format_instruction(assembly.program[1]) == "alu.add uop=0:1 iter=1x1 imm=6");
  CHECK(assembly.lines[1] == SourceLine{2, 8});
  CHECK(assembly.symbols.size() == 3);
  CHECK(assembled(".macro d f\n.data \\f \"\\f-1.npy\"\n.endm\nd x", {{"x-1.npy", NdArray(DType::int8, {4})}})
            .symbols.at(0)
            .name == "x");
}

TEST_CASE("errors name the line of the body and every enclosing use") {
  CHECK(errors_of(".macro m n\nalu.add uop=0:\\n imm=1\nnonsense\n.endm\nfinish\n.repeat 1\nm q\n.endr") ==
        Texts{"k.s:2, in macro `m` at k.s:7, in round 0 of .repeat at k.s:6: `q` is not defined. define it: .equ NAME "
              "VALUE, .data, .space, or a label before .uop lines",
              "k.s:3:1, in macro `m` at k.s:7, in round 0 of .repeat at k.s:6: there is no instruction, directive or "
              "macro `nonsense`. use one of " +
                  errors_of("nonsense").at(0).substr(errors_of("nonsense").at(0).find("gemm"))});
}

TEST_CASE("errors in macros and .repeat are named") {
  const auto error = [](std::string_view text) {
    const Texts errors = errors_of(text);
    REQUIRE(errors.size() == 1);
    return errors[0];
  };
  CHECK_THAT(error(".repeat 3\nfinish"), ContainsSubstring("k.s:1:1: `.repeat` has no `.endr`"));
  CHECK_THAT(error(".macro m\nfinish"), ContainsSubstring("k.s:1:1: `.macro` has no `.endm`"));
  CHECK_THAT(error("finish\n.endr"), ContainsSubstring("k.s:2:1: `.endr` has no beginning"));
  CHECK_THAT(error("finish\n.endm"), ContainsSubstring("`.endm` has no beginning"));
  CHECK_THAT(error(".repeat\n.endr"), ContainsSubstring(".repeat needs a count"));
  CHECK_THAT(error(".repeat -1\n.endr"), ContainsSubstring("the count is -1"));
  CHECK_THAT(error(".repeat n\n.endr"), ContainsSubstring("`n` is not defined before this line"));
  CHECK_THAT(error(".repeat 1 2\n.endr"), ContainsSubstring("`2` is not a name"));
  CHECK_THAT(error(".macro\n.endm"), ContainsSubstring("a macro without a name"));
  CHECK_THAT(error(".macro gemm\n.endm"), ContainsSubstring("`gemm` is an instruction"));
  CHECK_THAT(error(".macro m\n.endm\n.macro m\n.endm"), ContainsSubstring("is already defined in line 1"));
  CHECK_THAT(error(".macro m a a\n.endm"), ContainsSubstring("the parameter `a` occurs twice"));
  CHECK_THAT(error(".macro m a-b\n.endm"), ContainsSubstring("`a-b` is not a parameter name"));
  CHECK_THAT(error(".macro m a\n.endm\nm"), ContainsSubstring("k.s:3:1: the macro `m` of line 1 needs `a`"));
  CHECK_THAT(error(".macro m a\n.endm\nm 1 2"), ContainsSubstring("`2` is unexpected"));
  CHECK_THAT(error(".macro m a b=1\n.endm\nm a=1 a=2"), ContainsSubstring("`a` occurs twice"));
  CHECK_THAT(error(".repeat 1\n.macro m\n.endm\n.endr"), ContainsSubstring("a macro in a macro or a .repeat"));
  CHECK_THAT(error(".macro m\n.repeat 2\n.endm\n.endm"), ContainsSubstring("expected `.endr`, found `.endm`"));
}

TEST_CASE("endless expansion is stopped") {
  CHECK_THAT(errors_of(".macro m\nm\n.endm\nm").at(0), ContainsSubstring("nest deeper than 64"));
  CHECK_THAT(errors_of(".macro a\nb\nb\n.endm\n.macro b\na\na\n.endm\na").at(0),
             ContainsSubstring("nest deeper than 64"));
  CHECK_THAT(errors_of(".macro m a\nm \\a\\a\n.endm\nm x").at(0), ContainsSubstring("the line has 65538 characters"));
  CHECK_THAT(errors_of(".repeat 4194304\n.repeat 4194304\n.endr\n.endr").at(0),
             ContainsSubstring("make more than 4194304 lines"));
  CHECK_THAT(errors_of(".repeat 4194305\n.endr").at(0), ContainsSubstring("but must be from 0 to 4194304"));
  // A very large number of messages is cut off.
  CHECK(errors_of(".repeat 1000000\nnonsense\n.endr").size() == 101);
}
