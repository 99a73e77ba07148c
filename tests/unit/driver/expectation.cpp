#include "driver/expectation.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<KeptTensor> run() {
  return {{"a:0", "step0", NdArray::from<std::int8_t>({3}, {-128, 0, 5})},
          {"b", "step1", NdArray::from<float>({2}, {1.0F, 2.0F})},
          {"c", "step2", NdArray::from<float>({2}, {3.0F, 4.0F})}};
}

}  // namespace

TEST_CASE("tensors are compared with the user's, and the first beyond the tolerance is named") {
  const std::map<std::string, NdArray> expected{{"a_0", NdArray::from<std::uint8_t>({3}, {0, 128, 133})},
                                                {"b", NdArray::from<float>({2}, {1.0F, 2.125F})},
                                                {"c", NdArray::from<float>({2}, {9.0F, 4.0F})},
                                                {"gone", NdArray::from<float>({1}, {0.0F})}};
  const auto strict = compare(expected, run(), {1e-4, 0});
  REQUIRE(strict.ok());
  REQUIRE(strict->tensors.size() == 3);
  CHECK(strict->tensors[0].why.empty());  // uint8 minus 128 equals the int8 of the run
  REQUIRE(strict->first() != nullptr);
  CHECK(strict->first()->name == "b");
  CHECK(strict->first()->step == "step1");
  CHECK(strict->first()->beyond == 1);
  CHECK(strict->first()->largest == Approx(0.125));
  CHECK_THAT(strict->first()->why, ContainsSubstring("1 of 2 elements; first at [1]: 2, expected 2.125"));
  CHECK(strict->missing == std::vector<std::string>{"gone"});

  CHECK(compare(expected, run(), {0.1, 0})->first()->name == "c");
  CHECK(compare(expected, run(), {1.0, 0})->first() == nullptr);
}

TEST_CASE("integers have their own tolerance, and other types are not compared") {
  const std::map<std::string, NdArray> near{{"a_0", NdArray::from<std::int8_t>({3}, {-127, 0, 5})}};
  CHECK(compare(near, run(), {1.0, 0})->first() != nullptr);
  CHECK(compare(near, run(), {0, 1})->first() == nullptr);
  const std::map<std::string, NdArray> other{{"a_0", NdArray::from<float>({3}, {-128, 0, 5})}};
  CHECK(compare(other, run(), {})->first()->why == "the tensor is int8[3], expected float32[3]");
  CHECK_THAT(to_string(compare({{"nothing", NdArray()}}, run(), {}).errors()),
             ContainsSubstring("the run has no tensor of these names. Hint: --dump-tensors"));
}
