#include "driver/evaluation.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;

TEST_CASE("agreement of two models") {
  const std::map<std::string, NdArray> a{{"y", NdArray::from<float>({2, 2}, {1, 2, 3, 4})}};
  const std::map<std::string, NdArray> b{{"z", NdArray::from<float>({2, 2}, {1, 2, 5, 4})}};
  const auto agreement = sample_agreement_of(a, b);
  REQUIRE(agreement.ok());
  CHECK(agreement->front().same == 1);
  CHECK(agreement->front().first == 1);
  CHECK(agreement->front().largest == 2);
  CHECK(agreement->front().largest_other == 5);
  CHECK_FALSE(sample_agreement_of(a, {{"z", NdArray::from<float>({1, 2}, {1, 2})}}).ok());
}
