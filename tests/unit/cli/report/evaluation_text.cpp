#include "cli/report/evaluation_text.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;

TEST_CASE("accuracy and agreement as text") {
  CHECK(accuracy_text({3, 1, 2}) == "top-1         1 of 3, 33.33 %\ntop-5         2 of 3, 66.67 %\n");
  CHECK(accuracy_text({3, 1, {}}) == "top-1         1 of 3, 33.33 %\n");
  CHECK(agreement_text(std::vector<driver::SampleAgreement>{{"y", 2, 1, 2, 5, 1}}) ==
        "agreement     y: 1 of 2, 50.00 % agree (same top-1 class); the first that differs: sample 1\n"
        "difference    y: at most 2, where the largest is 5\n");
}
