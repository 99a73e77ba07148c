#include "driver/evaluation.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("top-1 and top-5 accuracy, the first among equal scores") {
  // Labels at ranks 1, 5 and 6 of seven.
  const auto scores = NdArray::from<float>({3, 7}, {9, 9, 1, 0, 0, 0, 0,  //
                                                    5, 4, 3, 2, 1, 1, 0,  //
                                                    1, 2, 3, 4, 5, 6, 0});
  const auto labels = NdArray::from<std::int64_t>({3}, {0, 4, 0});
  const auto accuracy = accuracy_of(scores, labels);
  REQUIRE(accuracy.ok());
  CHECK(accuracy->top1 == 1);
  CHECK(accuracy->top5 == 2);
  CHECK_FALSE(accuracy_of(NdArray::from<float>({1, 2}, {1, 2}), NdArray::from<std::int32_t>({1}, {1}))->top5);

  const auto why = [&](const NdArray& wrong) { return to_string(accuracy_of(scores, wrong).errors()); };
  CHECK_THAT(why(NdArray::from<std::int64_t>({2}, {0, 1})), ContainsSubstring("there are 2 labels"));
  CHECK_THAT(why(NdArray::from<std::int64_t>({3}, {0, 7, 1})),
             ContainsSubstring("label 7 of sample 1 is not from 0 to 6"));
  CHECK_THAT(why(NdArray::from<float>({3}, {0, 1, 2})), ContainsSubstring("they are not integers"));
}

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
