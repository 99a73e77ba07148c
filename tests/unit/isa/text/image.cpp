// The memory image of an assembly file: addresses, sizes, names; and the operands that use them.
#include "tests/unit/isa/text/assembly.h"

using namespace dovetail;
using namespace dovetail::isa;
using namespace dovetail::isa::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const Symbol& symbol(const Assembly& assembly, std::string_view name) {
  for (const Symbol& entry : assembly.symbols)
    if (entry.name == name) return entry;
  FAIL("no symbol " << name);
  throw 0;
}

}  // namespace

TEST_CASE("items are stored one after the other, aligned for every memory, and names have their sizes") {
  const DataFiles files{{"x.npy", NdArray::from<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, -6})}};
  const Assembly assembly = assembled(R"(.config 1x16x16
kernel: .uop 1, 2, 3
        .uop 0, 0, 0
.data x "x.npy"
.space y int8[4,block_out]
.data bias int32 1 -2 0x7fffffff align=4
.data ones int8[8] 1 2
.data scale float32 0.5
        load.uop size=1,kernel.count/uop.bytes dram=kernel
        load.acc dram=y size=1,y.dim0
        load.inp dram=x+inp.bytes size=x.dim0,1 stride=(x.bytes+x.count)
)",
                                      files);
  REQUIRE(assembly.image.size() == 6);
  CHECK(symbol(assembly, "kernel").value == kImageBase);
  CHECK(symbol(assembly, "kernel").bytes == 8);
  CHECK(symbol(assembly, "x").value == 0x1100);  // the next multiple of a weight's 256 bytes
  CHECK(symbol(assembly, "x").shape == Shape{2, 3});
  CHECK(symbol(assembly, "y").value == 0x1200);
  CHECK(symbol(assembly, "y").bytes == 64);
  CHECK(symbol(assembly, "bias").value == 0x1240);
  CHECK(assembly.image[1].bytes ==
        std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}, std::byte{0xfa}});
  CHECK(assembly.image[2].bytes.empty());
  CHECK(assembly.image[3].bytes[4] == std::byte{0xfe});
  CHECK(assembly.image[3].bytes[11] == std::byte{0x7f});
  for (std::size_t i = 0; i < 8; ++i) CHECK(assembly.image[4].bytes[i] == static_cast<std::byte>(1 + i % 2));
  CHECK(assembly.image[5].bytes[3] == std::byte{0x3f});
  CHECK(format_instruction(assembly.program[0]) == "load.uop sram=0 dram=0x400 size=1x2 stride=2");
  CHECK(format_instruction(assembly.program[1]) == "load.acc sram=0 dram=0x48 size=1x4 stride=4");
  CHECK(format_instruction(assembly.program[2]) == "load.inp sram=0 dram=0x111 size=2x1 stride=12");
  CHECK(assembly.lines[2] == SourceLine{11, 0});
}

TEST_CASE("a name may follow its use") {
  CHECK(program_of("load.inp size=x.dim0,1 dram=x\nfinish\n.space x int8[4,16]") ==
        "load.inp sram=0 dram=0x100 size=4x1 stride=1\nfinish\n");
  CHECK(
      errors_of("load.inp size=1x1 dram=first gone\n.space other 64") ==
      Texts{"k.s:1:24: `first` is not defined. define it: .equ NAME VALUE, .data, .space, or a label before .uop lines",
            "k.s:1:30: load.inp has no operand `gone`. use one of sram, dram, size, stride, pad, offset, pop_prev, "
            "pop_next, push_prev, push_next"});
  // Errors come in the order of the lines, whenever they are found.
  CHECK(errors_of("load.inp size=1x1 dram=x+1\nnonsense\n.space x 64")
            .at(0)
            .starts_with("k.s:1:24: `x+1` is byte address"));
}

TEST_CASE("a wrong line gives one error, even if others use its name") {
  const auto only = [](const std::string& line) {
    const Texts errors = errors_of(line +
                                   "\n.equ n x.bytes\n.equ m n+1\n.space z x.dim0\n.repeat m\n.endr\n"
                                   "load.inp sram=m size=x.dim0,1 dram=x+z.bytes push_next");
    REQUIRE(errors.size() == 1);
    return errors.front();
  };
  CHECK_THAT(only(".data x int8[3] 1 2"), ContainsSubstring("k.s:1:17: 2 values do not fill 3 evenly"));
  CHECK_THAT(only(".data x \"none.npy\""), ContainsSubstring("k.s:1:9: "));
  CHECK_THAT(only(".space x"), ContainsSubstring("`x` has no size"));
  CHECK_THAT(only(".space x 4 align=3"), ContainsSubstring("3 is not a power of two"));
  CHECK_THAT(only(".space x nowhere"), ContainsSubstring("`nowhere` is not defined"));
  CHECK_THAT(errors_of(".equ k\nload.inp sram=k dram=0 size=1x1").at(0), ContainsSubstring(".equ needs a name"));
  CHECK(errors_of(".equ k\nload.inp sram=k dram=0 size=1x1").size() == 1);
  // A correct line, and a repeated definition, do not affect later lines.
  CHECK_THAT(errors_of(".space x 4\n.equ y x.dim1").at(0), ContainsSubstring("`x` has .bytes"));
  CHECK(errors_of(".equ y\n.equ y 4\n.space z y+w").size() == 2);
}

TEST_CASE(".org and .align set the address") {
  const Assembly assembly =
      assembled(".space a 3\n.align 8\n.space b 1 align=1\n.org 0x2000\nhere: .uop 0,0,0\n.space c 1");
  CHECK(symbol(assembly, "a").value == 0x1000);
  CHECK(symbol(assembly, "b").value == 0x1008);
  CHECK(symbol(assembly, "here").value == 0x2000);
  CHECK(symbol(assembly, "c").value == 0x2100);
  CHECK(errors_of(".space a 3\n.org 0x1002") ==
        Texts{"k.s:2:6: .org 0x1002 is below 0x1003, the end of the preceding items. order the items by address"});
  CHECK(errors_of(".align 3") == Texts{"k.s:1:8: 3 is not a power of two. write 16, 64 or 4096"});
  CHECK(assembled(".org 0\n.space a 3").image[0].address == 0);
}

TEST_CASE("labels mark an instruction or an address, and know their size") {
  const Assembly assembly = assembled("a:\nb: .uop 0,0,0\n.uop 1,1,1\nc:\n.uop 2,2,2\nd: finish\ne: .space f 16\ng:");
  CHECK(symbol(assembly, "a").bytes == 8);
  CHECK(symbol(assembly, "b").value == 0x1000);
  CHECK(symbol(assembly, "c").value == 0x1008);
  CHECK(symbol(assembly, "c").bytes == 4);
  CHECK(symbol(assembly, "d").kind == SymbolKind::instruction);
  CHECK(symbol(assembly, "e").value == symbol(assembly, "f").value);
  CHECK(symbol(assembly, "e").bytes == 16);
  CHECK(symbol(assembly, "g").value == 1);
  CHECK_THAT(errors_of("d: finish\n.equ x d").at(0), ContainsSubstring("is the label of an instruction"));
}

TEST_CASE("an address is not accepted as a count") {
  CHECK_THAT(errors_of(".space x 64\nload.inp sram=x size=1x1").at(0),
             ContainsSubstring("k.s:2:15: `x` is a byte address, and sram counts elements"));
  CHECK_THAT(errors_of(".space x 64\nload.wgt dram=x+16 size=1x1").at(0),
             ContainsSubstring("`x+16` is byte address 0x1010, not a multiple of the 256 bytes of an element"));
  CHECK(program_of(".space x 64\n.space y 64\nload.inp sram=(y-x)/inp.bytes dram=x/4 size=1x1") ==
        "load.inp sram=16 dram=0x400 size=1x1 stride=1\n");
  CHECK_THAT(errors_of(".space x 64\nload.inp dram=x+x size=1x1").at(0), ContainsSubstring("adds two addresses"));
  CHECK_THAT(errors_of("load.inp dram=0-1 size=1x1").at(0), ContainsSubstring("dram = -1 < 0"));
}

TEST_CASE("launches are marked") {
  const Assembly assembly = assembled("finish\n.launch\nfinish\nfinish\n.launch\nfinish");
  REQUIRE(assembly.launches.size() == 3);
  CHECK(assembly.launches[1].begin == 1);
  CHECK(assembly.launches[1].count == 2);
  CHECK(assembled("finish").launches.empty());
  CHECK(errors_of(".launch 0:4") ==
        Texts{"k.s:1:9: .launch accepts no operands. a launch continues to the next .launch or the end"});
}

TEST_CASE("errors in the image are named with their line and a remedy") {
  const DataFiles files{{"wide.npy", NdArray::from<std::int64_t>({2}, {1, 2})},
                        {"none.npy", NdArray(DType::int8, {0})}};
  const auto error = [&](std::string_view text) {
    const Texts errors = errors_of(text, files);
    REQUIRE(errors.size() == 1);
    return errors[0];
  };
  CHECK_THAT(error(".data x \"wide.npy\""),
             ContainsSubstring("k.s:1:9: `wide.npy` has type int64") && ContainsSubstring("astype"));
  CHECK_THAT(error(".data x \"none.npy\""), ContainsSubstring("is empty"));
  CHECK_THAT(error(".data x \"gone.npy\""), ContainsSubstring("gone.npy: No such file"));
  CHECK_THAT(error(".data x \"gone.npy"), ContainsSubstring("a quotation mark is not closed"));
  CHECK_THAT(error(".data x \"\""), ContainsSubstring("is not a file name"));
  CHECK_THAT(error(".data x \"none.npy\" 3"), ContainsSubstring("a file and values are both given"));
  CHECK_THAT(error(".data x"), ContainsSubstring("`x` has no content"));
  CHECK_THAT(error(".data"), ContainsSubstring(".data has no name"));
  CHECK_THAT(error(".data x y.npy"), ContainsSubstring("neither a file nor a type"));
  CHECK_THAT(error(".data x int8"), ContainsSubstring("`x` has no values"));
  CHECK_THAT(error(".data x int64 1"), ContainsSubstring("neither a file nor a type"));
  CHECK_THAT(error(".data x int8 128"), ContainsSubstring("int8 is 128, but must be from -128 to 127"));
  CHECK_THAT(error(".data x uint8 -1"), ContainsSubstring("uint8 is -1, but must be from 0 to 255"));
  CHECK_THAT(error(".data x uint32 4294967296"), ContainsSubstring("must be from 0 to 4294967295"));
  CHECK_THAT(error(".data x float32 1.5x"), ContainsSubstring("`1.5x` is not a binary32"));
  CHECK_THAT(error(".data x int8[3] 1 2"), ContainsSubstring("2 values do not fill 3 evenly"));
  CHECK_THAT(error(".data x int8[2] 1 2 3"), ContainsSubstring("3 values do not fill 2 evenly"));
  CHECK_THAT(error(".space x"), ContainsSubstring("`x` has no size"));
  CHECK_THAT(error(".space x int8"), ContainsSubstring("the number of int8 elements is missing"));
  CHECK_THAT(error(".space x int8[0]"), ContainsSubstring("an extent is 0"));
  CHECK_THAT(error(".space x int8[4,]"), ContainsSubstring("ends where a number"));
  CHECK_THAT(error(".space x int8[4"), ContainsSubstring("not closed"));
  CHECK_THAT(error(".space x 0"), ContainsSubstring("a size in bytes is 0"));
  CHECK_THAT(error(".space x 1 2"), ContainsSubstring("`2` is unexpected"));
  CHECK_THAT(error(".space x \"none.npy\""), ContainsSubstring(".space accepts no file"));
  CHECK_THAT(error(".space x 4 align=3"), ContainsSubstring("3 is not a power of two"));
  CHECK_THAT(error(".space x n"), ContainsSubstring("`n` is not defined before this line"));
  CHECK_THAT(error(".space 2x 4"), ContainsSubstring("`2x` is not a name"));
  CHECK_THAT(error(".space x 4\n.data x int8 1"), ContainsSubstring("k.s:2:7: `x` is already defined in line 1"));
  CHECK_THAT(error("x: finish\n.equ x 1"), ContainsSubstring("`x` is already defined in line 1"));
  CHECK_THAT(error(".equ x"), ContainsSubstring(".equ needs a name and a value"));
  CHECK_THAT(error(".equ x 1 +2"), ContainsSubstring(".equ needs a name and a value"));
  CHECK_THAT(error(".space x 4\n.equ y x.dim1"), ContainsSubstring("`x` has .bytes, .end, .count and .dim0 to .dim0"));
}

TEST_CASE("sizes that overflow are refused without allocating") {
  CHECK_THAT(errors_of(".space x int32[4294967296,4294967296]").at(0), ContainsSubstring("exceeds 4294967296 bytes"));
  CHECK_THAT(errors_of(".space x int8[65536,65536,65536,65536]").at(0), ContainsSubstring("exceeds 4294967296 bytes"));
  CHECK_THAT(errors_of(".space x 4294967297").at(0), ContainsSubstring("must be from 1 to 4294967296"));
  CHECK_THAT(errors_of(".space x 4294967296").at(0), ContainsSubstring("end beyond the 32 address bits"));
  CHECK_THAT(errors_of(".config 1x16x16-wide\n.space x 4294967296\n.space y 1").at(0),
             ContainsSubstring("more than 4294967296"));
  CHECK_THAT(errors_of(".org 0x7fffffffffffffff\n.space x 1").at(0),
             ContainsSubstring("end beyond the 32 address bits"));
  CHECK_THAT(errors_of(".org 0xffffffff\n.uop 0,0,0").at(0), ContainsSubstring("end beyond"));
  CHECK(assembled(".config 1x16x16-wide\n.space x 0xf0000000").image[0].bytes.empty());
}
