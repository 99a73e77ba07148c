// Metrics against values that were computed by hand.
#include "driver/metrics/metric.h"

#include "base/file.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

using Outputs = std::map<std::string, NdArray>;

std::vector<Figure> figures_of(std::string_view metric, const Outputs& outputs, const NdArray& labels) {
  const auto parsed = parse_metric(metric);
  if (!parsed) FAIL(to_string(parsed.errors()));
  auto figures = measure(*parsed, {outputs, labels, {}});
  if (!figures) FAIL(to_string(figures.errors()));
  return *std::move(figures);
}

std::string errors_of(std::string_view metric, const Outputs& outputs, const NdArray& labels,
                      std::optional<std::string> output = {}) {
  const auto parsed = parse_metric(metric);
  if (!parsed) return to_string(parsed.errors());
  const auto figures = measure(*parsed, {outputs, labels, std::move(output)});
  return figures.ok() ? "" : to_string(figures.errors());
}

NdArray floats(Shape shape, const std::vector<float>& values) { return NdArray::from<float>(std::move(shape), values); }
NdArray ints(Shape shape, const std::vector<std::int64_t>& values) {
  return NdArray::from<std::int64_t>(std::move(shape), values);
}

}  // namespace

TEST_CASE("metric accuracy: top-1 and top-5, the first among equal scores") {
  // Labels at ranks 1, 5 and 6 of seven.
  const Outputs scores{{"y", floats({3, 7}, {9, 9, 1, 0, 0, 0, 0,  //
                                             5, 4, 3, 2, 1, 1, 0,  //
                                             1, 2, 3, 4, 5, 6, 0})}};
  const auto figures = figures_of("accuracy", scores, ints({3}, {0, 4, 0}));
  REQUIRE(figures.size() == 2);
  CHECK(figures[0].text == "1 of 3, 33.33 %");
  CHECK(figures[1].part == 2);
  CHECK(figures_of("accuracy", {{"y", floats({1, 2}, {1, 2})}}, ints({1}, {1})).size() == 1);

  CHECK_THAT(errors_of("accuracy", scores, ints({2}, {0, 1})), ContainsSubstring("there are 2 labels"));
  // No sample with NaN is right, whatever its label.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int label : {0, 1})
    CHECK(figures_of("accuracy", {{"y", floats({3, 2}, {nan, nan, nan, 1, 1, nan})}}, ints({3}, {label, label, label}))
              .at(0)
              .value == 0);
  CHECK_THAT(errors_of("accuracy", scores, ints({3}, {0, 7, 1})),
             ContainsSubstring("label 7 of sample 1 is outside 0 to 6"));
  CHECK_THAT(errors_of("accuracy", scores, floats({3}, {0, 1, 2})), ContainsSubstring("they are not integers"));
  const Outputs two{{"a", floats({1, 2}, {1, 2})}, {"b", floats({1, 2}, {2, 1})}};
  CHECK_THAT(errors_of("accuracy", two, ints({1}, {1})), ContainsSubstring("the model has 2 outputs: a, b"));
  CHECK(errors_of("accuracy", two, ints({1}, {1}), "b").empty());
  CHECK_THAT(errors_of("accuracy", two, ints({1}, {1}), "c"), ContainsSubstring("c"));
}

TEST_CASE("metric iou: classes of scores, of probabilities, and given classes") {
  // Pixels 0 0 1 1 with labels 0 1 1 2: overlaps 1/2, 1/3, 0/1.
  const Outputs scores{{"y", floats({1, 3, 2, 2}, {5, 5, 0, 0, 1, 1, 9, 9, 0, 0, 3, 3})}};
  const NdArray labels = ints({1, 2, 2}, {0, 1, 1, 2});
  auto figures = figures_of("iou", scores, labels);
  CHECK(figures[0].value == Approx((0.5 + 1.0 / 3) / 3));
  CHECK(figures[0].text == "0.277778 of 3 classes");
  CHECK(figures[1].text == "2 of 4, 50.00 %");
  CHECK(figures_of("iou", {{"y", ints({1, 2, 2}, {0, 0, 1, 1})}}, labels)[0].value == figures[0].value);
  // Without the pixel of class 2: 1/2 and 1/2.
  figures = figures_of("iou:ignore=2", scores, labels);
  CHECK(figures[0].value == Approx(0.5));
  CHECK(figures[1].text == "2 of 3, 66.67 %");
  // A pixel with NaN has no class: 1/2 for class 0, 1/2 for class 1, 0 for class 2.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Outputs with_nan{{"y", floats({1, 3, 2, 2}, {5, 5, 0, nan, 1, 1, 9, 9, 0, 0, 3, 3})}};
  figures = figures_of("iou", with_nan, labels);
  CHECK(figures[0].value == Approx((0.5 + 0.5) / 3));
  figures = figures_of("iou", with_nan, ints({1, 2, 2}, {0, 0, 1, 1}));
  CHECK(figures[0].value == Approx((1 + 0.5) / 2));
  CHECK(figures[1].text == "3 of 4, 75.00 %");
  for (const int label : {0, 1})
    CHECK(figures_of("iou", {{"y", floats({1, 1}, {nan})}}, ints({1, 1}, {label})).at(1).value == 0);
  CHECK_THAT(errors_of("iou", {{"y", ints({1, 1}, {-1})}}, ints({1, 1}, {0})), ContainsSubstring("has the class -1"));
  const Outputs probabilities{{"y", floats({2, 1, 2}, {0.2F, 0.7F, 0.4F, 0.9F})}};
  CHECK(figures_of("iou", probabilities, ints({2, 2}, {0, 1, 1, 1}))[1].part == 3);
  CHECK(figures_of("iou:threshold=0.3", probabilities, ints({2, 2}, {0, 1, 1, 1}))[1].part == 4);
  CHECK_THAT(errors_of("iou", scores, ints({1, 3}, {0, 1, 1})), ContainsSubstring("they are int64[1, 3]"));
  CHECK_THAT(errors_of("iou", scores, ints({1, 2, 2}, {0, -1, 1, 1})), ContainsSubstring("a pixel has the class -1"));
}

TEST_CASE("metric error: regression") {
  const auto figures = figures_of("error", {{"y", floats({4, 1}, {1, 2, 3, 6})}}, floats({4}, {1, 2, 4, 4}));
  REQUIRE(figures.size() == 4);
  CHECK(figures[0].value == Approx(0.75));
  CHECK(figures[1].value == Approx(std::sqrt(5.0 / 4)));
  CHECK(figures[2].value == 2);
  CHECK(figures[3].value == Approx(1 - 5 / 6.75));
  CHECK(figures_of("error", {{"y", floats({2}, {1, 2})}}, floats({2}, {3, 3})).size() == 3);  // no variance
  CHECK(std::isinf(figures_of("error", {{"y", floats({1}, {NAN})}}, floats({1}, {3}))[0].value));
  CHECK_THAT(errors_of("error", {{"y", floats({2}, {1, 2})}}, floats({3}, {1, 2, 3})), ContainsSubstring("float32[3]"));
}

TEST_CASE("metric ctc: repetitions joined, blanks removed, edits counted") {
  // Steps a a - a b give "aab" (a = 1, b = 2), and b - - b a "bba".
  const Outputs steps{{"y", ints({2, 5}, {1, 1, 0, 1, 2, 2, 0, 0, 2, 1})}};
  auto figures = figures_of("ctc", steps, ints({2, 4}, {1, 1, 2, -1, 2, 1, 1, 2}));
  CHECK(figures[0].text == "1 of 2, 50.00 %");
  CHECK(figures[1].text == "2 of 7, 28.57 %");  // bba to baab: one replaced, one inserted
  // The same as scores, with steps before the batch of one: [samples, steps, 1, classes].
  std::vector<float> scores(2 * 5 * 3);
  const std::vector<std::int64_t> best{1, 1, 0, 1, 2, 2, 0, 0, 2, 1};
  for (std::size_t i = 0; i < best.size(); ++i) scores[i * 3 + static_cast<std::size_t>(best[i])] = 1;
  CHECK(figures_of("ctc", {{"y", floats({2, 5, 1, 3}, scores)}}, ints({2, 4}, {1, 1, 2, -1, 2, 1, 1, 2}))[1].part == 2);
  // Steps a NaN a: a symbol that no label has is between them, whatever the label.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Outputs with_nan{{"y", floats({1, 3, 3}, {0, 1, 0, nan, nan, nan, 0, 1, 0})}};
  CHECK(figures_of("ctc", with_nan, ints({1, 2}, {1, 1}))[1].part == 1);
  CHECK(figures_of("ctc", with_nan, ints({1, 3}, {1, 2, 1}))[1].part == 1);
  figures = figures_of("ctc:blank=2", steps, ints({2, 3}, {1, 0, 1, 0, 1, -1}));
  CHECK(figures[0].part == 2);
  CHECK(figures_of("ctc", {{"y", floats({2, 1, 3}, {0, 1, 0, 0, 0, 1})}}, ints({2, 1}, {1, 2}))[0].part ==
        2);  // a step
  CHECK_THAT(errors_of("ctc:blank=3", {{"y", floats({2, 5, 3}, scores)}}, ints({2, 1}, {1, 1})),
             ContainsSubstring("the blank is 3, and there are 3 classes"));
  CHECK_THAT(errors_of("ctc", {{"y", floats({2, 5}, std::vector<float>(10))}}, ints({2, 1}, {1, 1})),
             ContainsSubstring("the output is float32[2, 5]"));
}

TEST_CASE("metric map: average precision of boxes") {
  // Sample 0: a box of class 0 found exactly, and one found with an overlap of 0.6. Sample 1: one found, one missed,
  // and a detection of nothing with the highest score.
  const NdArray labels = floats({4, 6}, {0, 0, 0,  0,  10, 10,  //
                                         0, 0, 20, 0,  30, 10,  //
                                         1, 0, 0,  0,  10, 10,  //
                                         1, 0, 50, 50, 60, 60});
  const Outputs joined{{"y", floats({2, 2, 6}, {0,  0,  10, 10, 0.9F,  0,  //
                                                20, 0,  26, 10, 0.8F,  0,  //
                                                0,  0,  10, 10, 0.7F,  0,  //
                                                80, 80, 90, 90, 0.95F, 0})}};
  // At 0.5: by score wrong, right, right, right; precisions 3/4 up to a recall of 3/4, which are 76 of 101 places. At
  // 0.65 and above: wrong, right, wrong, right: 1/2 up to a recall of 1/2, 51 places.
  const double at_half = 0.75 * 76 / 101, above = 0.5 * 51 / 101;
  auto figures = figures_of("map", joined, labels);
  CHECK(figures[1].value == Approx(at_half));
  CHECK(figures[0].value == Approx((3 * at_half + 7 * above) / 10));
  // The same boxes as centers and sizes, with scores of one class, and a second box that suppression removes.
  const Outputs scored{{"b", floats({2, 3, 4}, {5, 5, 10, 10, 23, 5,  6,  10, 5, 5, 10, 9,  //
                                                5, 5, 10, 10, 85, 85, 10, 10, 0, 0, 0,  0})},
                       {"s", floats({2, 3, 1}, {0.9F, 0.8F, 0.85F, 0.7F, 0.95F, 0})}};
  figures = figures_of("map:boxes=b,scores=s,form=cxcywh,nms=0.5", scored, labels);
  CHECK(figures[1].value == Approx(at_half));
  CHECK(figures_of("map:boxes=b,scores=s,form=cxcywh", scored, labels)[1].value < at_half);
  CHECK_THAT(errors_of("map:boxes=b", scored, labels), ContainsSubstring("one of boxes and scores"));
  CHECK_THAT(errors_of("map:boxes=b,scores=s,form=corners", scored, labels), ContainsSubstring("use xyxy"));
  CHECK_THAT(errors_of("map", {{"y", floats({2, 4}, std::vector<float>(8))}}, labels),
             ContainsSubstring("[samples, boxes, 6]"));
  CHECK_THAT(errors_of("map", {{"y", floats({1, 1, 6}, std::vector<float>(6))}}, labels),
             ContainsSubstring("box 2 is of sample 1, and there are 1 samples"));
}

TEST_CASE("metric program: what a program prints") {
  const test::TemporaryFolder folder;
  const Outputs outputs{{"y/0", ints({2}, {3, 4})}};
  const auto program = [&](const std::string& name, const std::string& text) {
    REQUIRE(write_text_file(folder / name, "#!/bin/sh\n" + text).ok());
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    return "program:file=" + (folder / name).string();
  };
  const auto figures =
      figures_of(program("good", "test -f \"$1/labels.npy\" && test -f \"$1/outputs/y_0.npy\" && echo '{\"f1\": 0.5}'"),
                 outputs, ints({2}, {3, 4}));
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].key == "f1");
  CHECK(figures[0].value == 0.5);
  CHECK_THAT(errors_of(program("bad", "echo no luck >&2; exit 3"), outputs, ints({2}, {3, 4})),
             ContainsSubstring("the program ended with exit code 3: no luck"));
  CHECK_THAT(errors_of(program("text", "echo '{\"f1\": \"high\"}'"), outputs, ints({2}, {3, 4})),
             ContainsSubstring("f1 is not a number"));
  CHECK_THAT(errors_of("program:file=" + (folder / "none").string(), outputs, ints({2}, {3, 4})),
             ContainsSubstring("the file does not exist"));
}

TEST_CASE("metrics are named with their options") {
  CHECK_THAT(errors_of("fid", {}, ints({0}, {})), ContainsSubstring("the metrics are accuracy, iou, error, ctc, map"));
  CHECK_THAT(errors_of("iou:blank=1", {}, ints({0}, {})), ContainsSubstring("its options are ignore, threshold"));
  CHECK_THAT(errors_of("error:x=1", {}, ints({0}, {})), ContainsSubstring("it has no options"));
  CHECK_THAT(errors_of("iou:threshold=nan", {{"y", floats({1, 1}, {1})}}, ints({1, 1}, {1})),
             ContainsSubstring("threshold is not a number"));
  CHECK_THAT(errors_of("iou:threshold=high", {{"y", floats({1, 1}, {1})}}, ints({1, 1}, {1})),
             ContainsSubstring("threshold is \"high\", but must be a number"));
}
