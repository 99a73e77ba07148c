// Every operation and conversion of loop programs as C, on the values at which arithmetic fails first, for every type.
#include "tests/differential/export/operations.h"

#include "tests/catch.h"
#include "tests/exported_program.h"
#include "tests/skip.h"

using namespace dovetail;
using namespace dovetail::loops;
using test::Operations;

TEST_CASE("every operation and conversion computes the same as C and on the interpreter") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  for (const DTypeInfo& type : kDTypes) {
    INFO(type.name);
    Operations operations;
    operations.add_all(type.dtype);
    CHECK(operations.count() > 20);
    CHECK(operations.run(compiler, {"-O2"}) == "");
    CHECK(operations.run(compiler, {"-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"}) == "");
  }
}

TEST_CASE("Clang compiles every operation and conversion to the same bits") {
  const std::string compiler = test::find_program("clang");
  if (compiler.empty()) return test::skip("there is no clang");
  for (const DTypeInfo& type : kDTypes) {
    INFO(type.name);
    Operations operations;
    operations.add_all(type.dtype);
    CHECK(operations.run(compiler, {"-O2"}) == "");
  }
}

TEST_CASE("requantize computes the same as C and on the interpreter for scales of all exponents") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  Operations operations;
  operations.add_requantize();
  CHECK(operations.run(compiler, {"-O2"}) == "");
  CHECK(operations.run(compiler, {"-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"}) == "");
}
