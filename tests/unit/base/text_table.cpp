#include "base/text_table.h"

#include "tests/catch.h"

using namespace dovetail;

TEST_CASE("a table aligns its columns, by code points, without trailing spaces") {
  TextTable table({"name", ">count", "note"});
  CHECK(table.empty());
  table.add({"a", "7", ""});
  table.add({"1×16", "1,234", "x"});
  CHECK(table.to_string(1) ==
        " name  count  note\n"
        " ----  -----  ----\n"
        " a         7\n"
        " 1×16  1,234  x\n");
}

TEST_CASE("thousands are separated") {
  CHECK(with_separators(0) == "0");
  CHECK(with_separators(999) == "999");
  CHECK(with_separators(1000) == "1,000");
  CHECK(with_separators(18446744073709551615u) == "18,446,744,073,709,551,615");
}
