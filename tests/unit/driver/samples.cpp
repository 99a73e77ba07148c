#include "driver/samples.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

bundle::Bundle program(std::vector<Shape> shapes) {
  bundle::Bundle bundle;
  bundle.name = "p";
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    bundle.inputs.push_back(static_cast<bundle::TensorIndex>(i));
    bundle.tensors.push_back({std::string(1, static_cast<char>('a' + i)), DType::int8, shapes[i], {}});
  }
  return bundle;
}

NdArray rows(std::int64_t count, std::int64_t width = 2) {
  NdArray array(DType::int8, {count, width});
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, i);
  return array;
}

}  // namespace

TEST_CASE("many samples run batch by batch, and their results are stacked") {
  const auto samples = Samples::make(program({{2, 2}, {3}}), {{"a", rows(5)}, {"b", NdArray(DType::int8, {3})}});
  REQUIRE(samples.ok());
  CHECK(samples->runs() == 3);
  CHECK(samples->rows() == 5);
  CHECK(samples->inputs(1).at("a") == NdArray::from<std::int8_t>({2, 2}, {4, 5, 6, 7}));
  CHECK(samples->inputs(2).at("a") == NdArray::from<std::int8_t>({2, 2}, {8, 9, 8, 9}));  // the last row again
  CHECK(samples->inputs(2).at("b").shape() == Shape{3});
  // By rows, without those that fill the last batch; and one result for each run where there is no batch.
  const auto run = [](std::int8_t x) {
    return NdArray::from<std::int8_t>({2, 1}, {x, static_cast<std::int8_t>(x + 1)});
  };
  CHECK(samples->stacked({run(0), run(2), run(4)}) == NdArray::from<std::int8_t>({5, 1}, {0, 1, 2, 3, 4}));
  const auto scalar = [](std::int8_t x) { return NdArray::scalar(x); };
  CHECK(samples->stacked({scalar(7), scalar(8), scalar(9)}) == NdArray::from<std::int8_t>({3}, {7, 8, 9}));
}

TEST_CASE("one batch is one run, with the program's inputs") {
  const auto samples = Samples::make(program({{2, 2}}), {{"a", rows(2)}});
  REQUIRE(samples.ok());
  CHECK(samples->runs() == 1);
  CHECK(samples->rows() == 2);
  CHECK(samples->stacked({rows(2)}) == rows(2));
  const auto one = Samples::make(program({{2, 2}}), {{"a", rows(1)}});
  CHECK(one->inputs(0).at("a").shape() == Shape{2, 2});
  CHECK(one->stacked({rows(2)}) == rows(1));  // without the row that fills the batch
}

TEST_CASE("a batch of no rows is one run") {
  const auto samples = Samples::make(program({{0, 2}, {3}}), {{"a", rows(0)}, {"b", NdArray(DType::int8, {3})}});
  REQUIRE(samples.ok());
  CHECK(samples->runs() == 1);
  CHECK(samples->rows() == 0);
  CHECK(samples->inputs(0).at("a").shape() == Shape{0, 2});
  CHECK(samples->stacked({rows(0)}) == rows(0));
}

TEST_CASE("samples with wrong shapes are refused") {
  const auto why = [](const Result<Samples>& samples) { return samples.ok() ? "" : to_string(samples.errors()); };
  CHECK_THAT(why(Samples::make(program({{1, 2}, {1, 2}}), {{"a", rows(5)}, {"b", rows(4)}})),
             ContainsSubstring("the input has 4 rows for a batch of 1, but a has 5 rows for a batch of 1"));
  CHECK_THAT(why(Samples::make(program({{1, 2}}), {{"a", rows(5, 3)}})),
             ContainsSubstring("the model expects int8[1, 2]"));
  CHECK_THAT(why(Samples::make(program({{0, 2}}), {{"a", rows(5)}})),
             ContainsSubstring("the model expects int8[0, 2]"));
  CHECK_THAT(why(Samples::make(program({{1, 2}}), {})), ContainsSubstring("the input is missing"));
}
